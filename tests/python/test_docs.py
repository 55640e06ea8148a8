"""Examples in Python of docs/*.md run as they are printed: a page's one after the other, with what its prose says is there by then."""

import pathlib
import re

import numpy as np
import pytest
from programs import needs_llvm

import tensorwright as tw
from tensorwright import te

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"

PRODUCT = """
M = N = K = 512
A, B = te.placeholder((M, K), DTYPE, name="A"), te.placeholder((K, N), DTYPE, name="B")
k = te.reduce_axis((0, K), name="k")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C")
i, j = C.op.axis
s = te.create_schedule(C)
"""
OF_FLOATS, OF_HALVES = PRODUCT.replace("DTYPE", '"float32"'), PRODUCT.replace("DTYPE", '"bfloat16"')
COPIES = 'AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])\n'
ROW = """
A, k = te.placeholder((64, 4096), name="A"), te.reduce_axis((0, 4096), name="k")
S = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="S")
s = te.create_schedule(S)
"""
NEIGHBOURS = """
A = te.placeholder((1024,), name="A")
B = te.compute((1024,), lambda i: A[i // 32 * 32 + (i + 1) % 32], name="B")
s = te.create_schedule(B)
"""
ELSEWHERE = None  # it runs on boards or a cluster, is a file of the reader's, or leaves lines out

# What stands before each block of a page, of those that are no doctests.
BEFORE = {
    "boards": [ELSEWHERE, ELSEWHERE],
    "cuda": ["", OF_HALVES, OF_HALVES + COPIES, ELSEWHERE, NEIGHBOURS],
    "ops": [""],
    "packing": ['a, b, c = np.ones((512, 4096), "float32"), np.ones((4096, 1000), "float32"), np.zeros((512, 1000), "float32")'],
    "production": [ELSEWHERE, ELSEWHERE, ELSEWHERE],
    "schedule": [OF_FLOATS, 'a, c = np.ones(9999, "float32"), np.zeros(9999, "float32")', OF_FLOATS, OF_FLOATS, ROW, OF_FLOATS],
    "semantics": [""],
    "tuning": ["", "", "", ELSEWHERE],
}


def blocks(page):
    found = re.findall(r"^```python\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.M | re.S)
    return [code for code in found if not code.startswith(">>>")]


def test_each_page_is_here():
    pages = {path.stem for path in DOCS.glob("*.md") if not path.stem.endswith(".template") and blocks(path.stem)}
    assert pages == set(BEFORE)


@needs_llvm
@pytest.mark.parametrize("page", BEFORE)
def test_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"tw": tw, "te": te, "np": np}
    for before, code in zip(BEFORE[page], blocks(page), strict=True):
        if before is ELSEWHERE:
            continue
        exec(before, names)
        exec(compile(code, f"{page}.md", "exec"), names)
        if isinstance(s := names.get("s"), tw.Schedule):
            s.check()
