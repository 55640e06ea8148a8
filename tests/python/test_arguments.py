"""What an argument list may hold and leave out, as tvm has it; and Steps that tvm takes: fuse of nothing, cache_write late."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import autotune, te

TARGETS = ["llvm", "interp", "c"]


def chain(n=12):
    A = te.placeholder((n, 8), name="A")
    B = te.compute((n, 8), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((n, 8), lambda i, j: B[i, j] + 1, name="C")
    return A, B, C


@pytest.mark.parametrize("target", TARGETS)
def test_an_inlined_tensor_is_written_too(target):
    A, B, C = chain()
    s = te.create_schedule(C)
    s[B].compute_inline()
    a, b, c = np.arange(96, dtype="float32").reshape(12, 8), np.zeros((12, 8), "float32"), np.zeros((12, 8), "float32")
    tw.build(s, [A, B, C], target)(a, b, c)
    np.testing.assert_array_equal(b, a * 2)
    np.testing.assert_array_equal(c, a * 2 + 1)


@pytest.mark.parametrize("target", TARGETS)
def test_what_nothing_reads_is_left_alone(target):
    A, B, C = chain()
    unread = te.placeholder((te.var("m"),), "int8", name="unread")
    a, c = np.arange(96, dtype="float32").reshape(12, 8), np.zeros((12, 8), "float32")
    f = tw.build(te.create_schedule(C), [A, unread, C], target)
    f(a, np.arange(3, dtype="int8"), c)
    np.testing.assert_array_equal(c, a * 2 + 1)
    with pytest.raises(tw.DTypeError):
        f(a, np.arange(3, dtype="int16"), c)
    with pytest.raises(tw.ArgumentError, match="unread .argument 2. is there twice"):
        tw.lower(te.create_schedule(C), [A, unread, unread, C])


@pytest.mark.parametrize("target", TARGETS)
def test_an_output_that_is_left_out_is_scratch(target):
    A, B, C = chain()
    D = te.compute((12,), lambda i: C[i, 0] - 5, name="D")
    s = te.create_schedule([C, D])
    a, d = np.arange(96, dtype="float32").reshape(12, 8), np.zeros(12, "float32")
    tw.build(s, [A, D], target)(a, d)
    np.testing.assert_array_equal(d, a[:, 0] * 2 - 4)


def test_a_tensor_of_another_schedule_is_refused_with_the_reason():
    A, B, C = chain()
    other = te.compute((12, 8), lambda i, j: A[i, j] - 1, name="other")
    with pytest.raises(tw.ArgumentError, match="other .argument 2. is not") as e:
        tw.lower(te.create_schedule(C), [A, C, other])
    assert "tvm takes it, and leaves the array as it was" in str(e.value)


def test_tasks_take_what_build_takes():
    A, B, C = chain()
    unread = te.placeholder((3,), name="unread")
    task = autotune.Task([A, unread, C])
    assert len(task.space) > 0
    a, c = np.arange(96, dtype="float32").reshape(12, 8), np.zeros((12, 8), "float32")
    tw.build([A, unread, C])(a, np.zeros(3, "float32"), c)
    np.testing.assert_array_equal(c, a * 2 + 1)
    other = te.compute((12, 8), lambda i, j: A[i, j] - 1, name="other")
    assert len(autotune.Task([A, C, other]).space) > 0


def test_fuse_of_one_axis_and_of_none():
    A, B, C = chain()
    s = te.create_schedule(C)
    assert s[C].fuse(C.op.axis[0]).name == "i"
    total = te.compute((), lambda: A[0, 0] + 1, name="total")
    s = te.create_schedule(total)
    once = s[total].fuse(*total.op.axis)
    assert (once.name, once.extent) == ("once", 1) and s[total].fuse().name == "once_1"
    s[total].parallel(once)
    assert "once = s[total].fuse()" in s.to_python()
    out = np.zeros((), "float32")
    tw.build(s, [A, total])(np.ones((12, 8), "float32"), out)
    assert out == 2


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("change", ["split", "reorder", "fuse", "tile"])
@pytest.mark.parametrize("n", [12, 13])
def test_cache_write_of_changed_loops(change, n, target):
    A, W = te.placeholder((n, 9), name="A"), te.placeholder((9, 7), name="W")
    k = te.reduce_axis((0, 9), name="k")
    C = te.compute((n, 7), lambda i, j: te.sum(A[i, k] * W[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    i, j = C.op.axis
    if change == "split":
        s[C].split(i, 4), s[C].split(k, 2)
    elif change == "reorder":
        s[C].reorder(k, j, i)
    elif change == "fuse":
        s[C].split(s[C].fuse(i, j), 5)
    else:
        s[C].tile(i, j, 4, 3)
    loops = [axis.extent for axis in s[C].leaf_iter_vars if not axis.reduction]
    CC = s.cache_write(C, "local")
    assert list(CC.shape) == loops and [axis.name for axis in s[C].leaf_iter_vars] == ["i", "j"]
    s[CC].vectorize(s[CC].op.axis[-1])
    s[C].parallel(C.op.axis[0])
    a, w, c = np.arange(n * 9, dtype="float32").reshape(n, 9), np.arange(63, dtype="float32").reshape(9, 7), np.zeros((n, 7), "float32")
    tw.build(s, [A, W, C], target)(a, w, c)
    np.testing.assert_array_equal(c, a @ w)
    assert len(tw.Schedule.from_steps(C, s.steps).steps) == len(s.steps)


def test_cache_write_inside_of_a_tile():
    A, W = te.placeholder((16, 9), name="A"), te.placeholder((9, 8), name="W")
    k = te.reduce_axis((0, 9), name="k")
    C = te.compute((16, 8), lambda i, j: te.sum(A[i, k] * W[k, j], axis=k, init=A[i, j]), name="C")
    s = te.create_schedule(C)
    s[C].tile(*C.op.axis, 5, 3)
    CC = s.cache_write(C, "local")
    io, jo, _, _ = s[C].tile(*C.op.axis, 5, 3)
    s[CC].compute_at(s[C], jo)
    assert "alloc C.local: float32[1, 1, 5, 3]" in str(tw.lower(s, [A, W, C]))
    a, w, c = np.arange(144, dtype="float32").reshape(16, 9), np.arange(72, dtype="float32").reshape(9, 8), np.zeros((16, 8), "float32")
    tw.build(s, [A, W, C])(a, w, c)
    np.testing.assert_array_equal(c, a @ w + a[:, :8])


def test_cache_write_after_a_fuse_of_nothing():
    A = te.placeholder((6,), name="A")
    C = te.compute((6,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C)
    s[C].fuse()
    s.cache_write(C, "local")
    a, c = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    tw.build(s, [A, C])(a, c)
    np.testing.assert_array_equal(c, a + 1)
    total = te.compute((), lambda: A[1] + 1, name="total")
    s = te.create_schedule(total)
    s[total].fuse()
    assert list(s.cache_write(total, "local").shape) == [1]
    out = np.zeros((), "float32")
    tw.build(s, [A, total])(a, out)
    assert out == 2
