"""The schedules that functions for a device have without tuning: nothing that the estimate counts is left out where it could be had."""

import pathlib
import re
import sys

import pytest

import tensorwright as tw
from tensorwright import te

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from bench.device_defaults import PROGRAMS, row_of  # noqa: E402

ODD = {(127, 129, 4001), (7, 333, 77, 55), (31, 65, 27, 3), (3, 64, 224, 7, 2), (33, 100000), (1001, 1000), (77, 33333), (5, 100003), (7, 11, 13, 17)}


@pytest.mark.parametrize("make, sizes", [p for p in PROGRAMS if p[1] in ODD], ids=str)
def test_blocks_banks_and_vectors(make, sizes, capsys):
    short, bound = row_of(make.__name__, sizes, make(*sizes), "cuda -arch=sm_90a")
    assert not short or bound, short


def test_what_no_schedule_does_better(capsys):
    make, sizes = next(p for p in PROGRAMS if p[1] == (33, 65, 97))
    short, bound = row_of(make.__name__, sizes, make(*sizes), "cuda -arch=sm_90a")
    assert "blocks of 132" in short and "schedules lacks nothing" in bound


def batches(dtype):
    A, B = te.placeholder((70000, 16, 16), dtype, name="A"), te.placeholder((70000, 16, 16), dtype, name="B")
    k = te.reduce_axis((0, 16), name="k")
    return [A, B, te.compute(A.shape, lambda b, i, j: te.sum(A[b, i, k].astype("float32") * B[b, j, k].astype("float32"), axis=k), name="C")]


def rows(dtype):
    A, B = te.placeholder((2_000_000, 64), dtype, name="A"), te.placeholder((8, 64), dtype, name="B")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((2_000_000, 8), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
    return [A, B, te.compute(C.shape, lambda i, j: te.max(C[i, j], 0.0), name="D")]


def images(dtype):
    A, W = te.placeholder((70000, 8, 8, 16), dtype, name="A"), te.placeholder((3, 3, 16, 16), dtype, name="W")
    r, q, c = (te.reduce_axis((0, n), name=name) for n, name in ((3, "r"), (3, "q"), (16, "c")))
    term = lambda n, y, x, f: A[n, y + r, x + q, c].astype("float32") * W[r, q, c, f].astype("float32")  # noqa: E731
    return [A, W, te.compute((70000, 6, 6, 16), lambda *i: te.sum(term(*i), axis=[r, q, c]), name="C")]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("make", [batches, rows, images])
def test_no_more_blocks_along_an_index_than_a_device_has(make, dtype):
    f = tw.build(make(dtype), target="cuda -arch=sm_80")
    grids = re.findall(r"(\d+) x (\d+) x (\d+) blocks", f.source("launches"))
    assert grids and all(int(y) <= 65535 and int(z) <= 65535 for _, y, z in grids), grids
