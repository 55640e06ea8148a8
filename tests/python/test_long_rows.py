"""Few rows times a matrix that no L2 holds: tasks go along its lines, a few of them at a time."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")


def product(m, n, k, dtype="float32", turned=False):
    a = te.placeholder((m, k), dtype, name="A")
    b = te.placeholder((n, k) if turned else (k, n), dtype, name="B")
    t = te.reduce_axis((0, k), name="t")
    return [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, t].astype("float32") * (b[j, t] if turned else b[t, j]).astype("float32"), axis=t), name="C")]


def blocks(tensors):
    space = tw.autotune.Task(tensors, target="llvm -mcpu=x86-64-v3").space
    return {tuple(space[i].knobs["C.block"]) for i in range(len(space))}


@pytest.mark.parametrize("m,n,k,dtype", [(2, 1025, 515, "float32"), (7, 2051, 1025, "float32"), (16, 4100, 67, "float32"), (33, 513, 1031, "float32"),
                                         (64, 512, 512, "float32"), (5, 4099, 257, "float16")])
def test_every_kind_of_block_means_the_product(m, n, k, dtype):
    tensors = product(m, n, k, dtype)
    rng = np.random.default_rng(m)
    arrays = [rng.integers(-8, 8, t.shape).astype(t.dtype) for t in tensors[:2]]
    expected = arrays[0].astype(np.float32) @ arrays[1].astype(np.float32)
    space = tw.autotune.Task(tensors).space
    seen = {}
    for i in range(len(space)):
        seen.setdefault((tuple(space[i].knobs["C.block"]), space[i].knobs["C.pack"]), i)
    assert {(8, 0), (16, 0), (0, 0)} <= {block for block, _ in seen}
    programs = [(tw.default_schedule(tensors[-1]), tensors), *(space[i].instantiate() for i in seen.values())]
    for s, args in programs:
        out = np.empty((m, n), np.float32)
        tw.build(s, args)(*arrays, out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("tensors", [product(65, 2048, 2048), product(16, 500, 4096), product(16, 512, 500), product(16, 2048, 2048, turned=True)],
                         ids=["many rows", "short lines", "in L2", "terms side by side"])
def test_others_take_long_blocks(tensors):
    assert not {(8, 0), (16, 0)} & blocks(tensors)


def test_a_default_schedule_goes_along_few_lines():
    text = tw.default_schedule(product(8, 4096, 4096)[-1], "llvm -mcpu=x86-64-v3").to_python()
    assert ".split(t, factor=8)" in text and "cache_read" not in text
