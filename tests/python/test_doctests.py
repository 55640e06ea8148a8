"""Every docstring's example runs, in every module of the package."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

BINARY = ("_core", "libtensorwright")
MODULES = ["tensorwright", *(m.name for m in pkgutil.walk_packages(tw.__path__, "tensorwright.") if not m.name.endswith(BINARY))]


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM")
@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[i, j] * 2, name="B")
    i, j = B.op.axis
    names = {"te": te, "tw": tw, "np": np, "A": A, "B": B, "i": i, "j": j}
    if name.startswith("tensorwright.te"):
        names["A"] = te.placeholder((4, 8), name="A")
    result = doctest.testmod(importlib.import_module(name), extraglobs=names, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0


def test_what_users_call_has_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = sum(len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert examples > 80


@pytest.mark.parametrize("module", [tw, te, tw.autotune], ids=lambda m: m.__name__)
def test_public_names_are_documented(module):
    bare = [name for name in module.__all__ if callable(getattr(module, name)) and not (getattr(module, name).__doc__ or "").strip()]
    assert not bare
