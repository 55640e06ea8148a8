"""Reduce axes whose ends depend on the element."""
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te


def run(C, args, arrays, shape, schedule=lambda s: None, dtype="int32"):
    s = te.create_schedule(C)
    schedule(s)
    results = []
    for target in ("interp", "llvm"):
        out = np.full(shape, 7, dtype)
        tw.build(s, [*args, C], target=target)(*arrays, out)
        results.append(out)
    assert (results[0] == results[1]).all()
    return results[0]


def triangle(n, m):
    A = te.placeholder((n, m), "int32", name="A")
    return A, te.compute((n,), lambda i: te.sum(A[i, (k := te.reduce_axis((0, i + 1), "k"))], axis=k), name="C")


def numbers(n, m):
    return np.arange(n * m, dtype="int32").reshape(n, m) % 17 - 5


def test_rows_of_a_triangle():
    a = numbers(9, 9)
    A, C = triangle(9, 9)
    assert (run(C, [A], [a], 9) == np.tril(a).sum(1)).all()
    n = te.var("n")
    A, C = triangle(n, n)
    assert (run(C, [A], [a], 9) == np.tril(a).sum(1)).all()


def test_under_schedules():
    a = numbers(9, 9)

    def blocks(s):
        C = s.outputs[0]
        s[C].split(C.op.axis[0], 4)
        s[C].split(C.op.reduce_axis[0], 4)

    def lanes(s):
        C = s.outputs[0]
        io, ii = s[C].split(C.op.axis[0], 4)
        s[C].reorder(io, C.op.reduce_axis[0], ii)
        s[C].vectorize(ii)

    def partial(s):
        C = s.outputs[0]
        ko, ki = s[C].split(C.op.reduce_axis[0], 4)
        s.rfactor(C, ki)

    def kept(s):
        C = s.outputs[0]
        s[C].compute_root()
        cache = s.cache_read(C.op.input_tensors[0], "global", [C])
        s[cache].compute_at(s[C], C.op.axis[0])

    for schedule in (blocks, lanes, partial, kept):
        A, C = triangle(9, 9)
        assert (run(C, [A], [a], 9, schedule) == np.tril(a).sum(1)).all(), schedule.__name__


def test_both_ends_and_other_axes():
    A = te.placeholder((10, 10), "int32", name="A")
    C = te.compute((8,), lambda i: te.max(A[i, (k := te.reduce_axis((i, i + 3), "k"))], axis=k), name="C")
    a = numbers(10, 10)
    assert (run(C, [A], [a], 8) == [a[i, i : i + 3].max() for i in range(8)]).all()

    def pairs(i):
        j = te.reduce_axis((0, i + 1), "j")
        k = te.reduce_axis((0, j + 1), "k")
        return te.sum(A[j, k], axis=[j, k])

    C = te.compute((10,), pairs, name="C")
    assert (run(C, [A], [a], 10) == [np.tril(a[: i + 1]).sum() for i in range(10)]).all()


def test_nothing_to_reduce_is_the_identity():
    A = te.placeholder((6,), "int32", name="A")
    C = te.compute((6,), lambda i: te.sum(A[(k := te.reduce_axis((0, 3 - i), "k"))], axis=k), name="C")
    a = numbers(1, 6)[0]
    assert (run(C, [A], [a], 6) == [a[: max(3 - i, 0)].sum() for i in range(6)]).all()


def test_ends_without_bounds_are_refused():
    A = te.placeholder((6,), "int32", name="A")
    other = te.reduce_axis((0, 4), "other")
    with pytest.raises(tw.ExprError, match=r"ends of reduce axis k must have bounds over the axes of compute C, not 0\.\.other"):
        te.compute((6,), lambda i: te.sum(A[(k := te.reduce_axis((0, other), "k"))], axis=k), name="C")
