"""Loops that a schedule leaves plain get lanes when they are lowered."""
import numpy as np
import pytest

import tensorwright as tw
from programs import needs_llvm
from tensorwright import te

V4 = "llvm -mcpu=x86-64-v4"


def matmul(n, m, depth):
    a, b, k = te.placeholder((n, depth), name="A"), te.placeholder((depth, m), name="B"), te.reduce_axis((0, depth), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_schedule(c), [a, b, c]


@needs_llvm
def test_plain_shows_the_loops_as_they_stand():
    s, args = matmul(64, 64, 10)
    assert "C.acc[0, 0 : 16] = fma(" in str(tw.lower(s, args, V4)).replace("C.acc[0 : 16]", "C.acc[0, 0 : 16]")
    plain = str(tw.lower(s, args, V4, plain=True))
    assert " : 16]" not in plain and "for j in 0..64:" in plain


@needs_llvm
def test_a_vectorized_stage_is_as_it_was_scheduled():
    s, (a, b, c) = matmul(64, 64, 10)
    s[c].vectorize(s[c].op.axis[1])
    assert str(tw.lower(s, [a, b, c], V4)) == str(tw.lower(s, [a, b, c], V4, plain=True))


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 7), (33, 70, 9), (4, 131, 50)])
def test_sums_of_integers_are_those_of_numpy(shape):
    n, m, depth = shape
    a, b, k = te.placeholder((n, depth), "int32", name="A"), te.placeholder((depth, m), "int32", name="B"), te.reduce_axis((0, depth))
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    x, y = np.arange(n * depth, dtype="int32").reshape(n, depth), np.arange(depth * m, dtype="int32").reshape(depth, m) - 7
    out = np.zeros((n, m), "int32")
    tw.build(te.create_schedule(c), [a, b, c])(x, y, out)
    np.testing.assert_array_equal(out, x @ y)


def test_symbolic_extents():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2, name="B")
    f = tw.build(te.create_schedule(b), [a, b])
    for size in (0, 1, 15, 64, 65, 200):
        x, out = np.arange(size, dtype="float32"), np.zeros(size, "float32")
        f(x, out)
        np.testing.assert_array_equal(out, x * 2)


def test_explain_shows_lanes_of_plain_loops():
    s, _ = matmul(64, 64, 10)
    loops = {loop.name: loop for loop in s.explain().nests[0].loops}
    assert loops["j"].kind == "for" and loops["j"].lanes > 1 and loops["i"].lanes == 0


def test_explain_says_why_there_are_none():
    a, k = te.placeholder((64, 64), name="A"), te.reduce_axis((0, 64), name="k")
    rows = te.compute((64,), lambda i: te.sum(a[i, k], axis=k), name="rows")
    assert "apart in memory" in te.create_schedule(rows).explain().nests[0].plain
    k = te.reduce_axis((0, 64), name="k")
    total = te.compute((), lambda: te.sum(a[0, k], axis=k), name="total")
    assert "another one writes" in te.create_schedule(total).explain().nests[0].plain
