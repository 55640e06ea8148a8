"""The stubs of tensor expressions name what is there, with the parameters that are there."""

import ast
import inspect
import pathlib

import pytest

import tensorwright as tw
from tensorwright import _core, errors, te

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python/tensorwright"


def stub(name):
    return ast.parse((PACKAGE / f"{name}.pyi").read_text()).body


@pytest.mark.parametrize("definition", [d for d in stub("te") if isinstance(d, ast.FunctionDef)], ids=lambda d: d.name)
def test_functions_of_te(definition):
    parameters = inspect.signature(getattr(te, definition.name)).parameters
    a = definition.args
    named = [x.arg for x in a.posonlyargs + a.args + a.kwonlyargs] + [x.arg for x in (a.vararg,) if x]
    assert sorted(named) == sorted(parameters)


def test_te_is_whole():
    defined = {d.name for d in stub("te") if isinstance(d, ast.FunctionDef)}
    functions = {name for name in te.__all__ if inspect.isfunction(getattr(te, name)) and getattr(te, name).__module__ == te.__name__}
    assert functions <= defined


@pytest.mark.parametrize("name", ["errors", "_core"])
def test_classes(name):
    module = {"errors": errors, "_core": _core}[name]
    for definition in stub(name):
        if not isinstance(definition, ast.ClassDef) or definition.name.startswith("_"):
            continue
        cls = getattr(module, definition.name)
        for member in definition.body:
            if isinstance(member, ast.FunctionDef):
                assert hasattr(cls, member.name), f"{definition.name}.{member.name}"
    assert tw.Error is errors.Error


def test_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
