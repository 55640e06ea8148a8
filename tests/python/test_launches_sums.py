"""The schedules of TVM's scripts for sums and tuples across threads, with our names, and rows that threads share."""

import numpy as np
import pytest

import tensorwright as tw
from cuda_scripts import bind, random, run
from tensorwright import te

block_x, thread_x, thread_y = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")


@pytest.mark.parametrize("reducer, expected", [(te.sum, np.sum), (te.max, np.max), (te.min, np.min)])
def test_reduce_of_some_rows(reducer, expected):
    A = te.placeholder((10, 13), name="A")
    k = te.reduce_axis((0, 13), name="k")
    B = te.compute((10,), lambda i: reducer(A[i, k], axis=k, where=k > 1), name="B")
    s = te.create_schedule(B)
    xo, xi = s[B].split(B.op.axis[0], factor=4)
    s[B].bind(xo, block_x)
    s[B].bind(xi, thread_x)
    a = random(10, 13)
    np.testing.assert_array_equal(run(s, [A, B], a, shape=10), expected(a[:, 2:], axis=1))


@pytest.mark.parametrize("predicate", [lambda tx: thread_x.var.equal(0), lambda tx: tx.var.equal(0)], ids=["thread", "axis"])
@pytest.mark.parametrize("m, n", [(10, 50), (4, 64)])
def test_rfactor_with_threads(m, n, predicate):
    A = te.placeholder((m, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    B = te.compute((m,), lambda i: te.sum(A[i, k], axis=k, where=i > 1), name="B")
    s = te.create_schedule(B)
    _, kf = s[B].split(k, factor=8)
    BF = s.rfactor(B, kf)
    bx, ty = s[B].split(s[B].op.axis[0], factor=4)
    s[B].bind(bx, block_x)
    s[B].bind(ty, thread_y)
    tx = s[B].op.reduce_axis[0]
    s[B].bind(tx, thread_x)
    s[BF].compute_at(s[B], tx)
    s[B].set_store_predicate(predicate(tx))
    a = random(m, n)
    expected = a.sum(1)
    expected[:2] = 0
    np.testing.assert_array_equal(run(s, [A, B], a, shape=m), expected)


@pytest.mark.parametrize("n", [1025, 64])
def test_rfactor_before_elementwise_with_threads(n):
    m = 10
    A = te.placeholder((m, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    B = te.compute((m,), lambda i: te.sum(A[i, k], axis=k), name="B")
    BB = te.compute((m,), lambda i: B[i] + 1, name="BB")
    C = te.compute((m,), lambda i: BB[i] + 1, name="C")
    s = te.create_schedule(C)
    s[BB].compute_inline()
    bx, ty = s[C].split(s[C].op.axis[0], factor=4)
    _, kf = s[B].split(k, factor=16)
    BF = s.rfactor(B, kf)
    s[B].compute_at(s[C], ty)
    s[C].bind(bx, block_x)
    s[C].bind(ty, thread_y)
    tx = s[B].op.reduce_axis[0]
    s[B].bind(tx, thread_x)
    s[BF].compute_at(s[B], tx)
    s[B].set_store_predicate(thread_x.var.equal(0))
    s[C].set_store_predicate(thread_x.var.equal(0))
    a = random(m, n)
    np.testing.assert_array_equal(run(s, [A, C], a, shape=m), a.sum(1) + 2)


def test_predicates_that_choose_threads():
    A = te.placeholder((16, 8), name="A")
    C = te.compute((16, 8), lambda i, j: A[i, j] + 1, name="C")
    s = te.create_schedule(C)
    s[C].bind(C.op.axis[0], thread_x)
    for predicate in (thread_x.var.equal(0), thread_x.var.equal(3)):
        with pytest.raises(tw.ScheduleError, match=r"must not choose the threads that store, as threadIdx.x == \d does"):
            s[C].set_store_predicate(predicate)


@pytest.mark.parametrize("rows, columns", [(6, 41), (40, 130), (1, 32)])
def test_threads_beyond_the_rows(rows, columns):
    """As topi schedules reductions: the blocks have 32 x 32 threads, whatever there is to do."""
    threads_x, threads_y = te.thread_axis((0, 32), "threadIdx.x"), te.thread_axis((0, 32), "threadIdx.y")
    A = te.placeholder((rows, columns), name="A")
    k = te.reduce_axis((0, columns), name="k")
    B = te.compute((rows,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    _, ki = s[B].split(k, factor=32)
    BF = s.rfactor(B, ki)
    bx, ty = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(bx, block_x)
    s[B].bind(ty, threads_y)
    tx = s[B].op.reduce_axis[0]
    s[B].bind(tx, threads_x)
    s[BF].compute_at(s[B], tx)
    s[B].set_store_predicate(threads_x.equal(0))
    a = random(rows, columns)
    np.testing.assert_array_equal(run(s, [A, B], a, shape=rows), a.sum(1))


@pytest.mark.parametrize("columns", [130, 20])
def test_as_many_parts_as_threads_or_fewer(columns):
    A = te.placeholder((3, columns), name="A")
    C = te.compute((3, columns), lambda i, j: A[i, j] * 2, name="C")
    s = te.create_schedule(C)
    tx, _ = s[C].split(C.op.axis[1], nparts=64)
    s[C].bind(C.op.axis[0], block_x)
    s[C].bind(tx, te.thread_axis((0, 64), "threadIdx.x"))
    a = random(3, columns)
    np.testing.assert_array_equal(run(s, [A, C], a, shape=a.shape), a * 2)


def argmax():
    def combine(x, y):
        return te.if_then_else(x[1] >= y[1], x[0], y[0]), te.if_then_else(x[1] >= y[1], x[1], y[1])

    return te.comm_reducer(combine, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax")


@pytest.mark.parametrize("m, n", [(3, 21), (1, 64)])
def test_rfactor_of_argmax(m, n):
    index, A = te.placeholder((m, n), "int32", name="index"), te.placeholder((m, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    at, best = te.compute((m,), lambda i: argmax()((index[i, k], A[i, k]), axis=k), name="B")
    s = te.create_schedule(at)
    _, ki = s[at].split(k, factor=8)
    parts = s.rfactor(at, ki)
    bx, ty = s[at].split(s[at].op.axis[0], factor=2)
    s[at].bind(bx, block_x)
    s[at].bind(ty, thread_y)
    tx = s[at].op.reduce_axis[0]
    s[at].bind(tx, thread_x)
    s[parts[0]].compute_at(s[at], tx)
    s[at].set_store_predicate(thread_x.var.equal(0))
    a = np.random.default_rng(1).permutation(m * n).reshape(m, n).astype("float32")
    where, value = np.zeros(m, "int32"), np.zeros(m, "float32")
    tw.build(s, [index, A, at, best], target="interp")(np.tile(np.arange(n, dtype="int32"), (m, 1)), a, where, value)
    np.testing.assert_array_equal(where, a.argmax(1))
    np.testing.assert_array_equal(value, a.max(1))


@pytest.mark.parametrize("den, num", [(4, 32), (5, 31)])
def test_reduction_within_warps(den, num):
    A = te.placeholder((den, num), name="A")
    k = te.reduce_axis((0, num), name="k")
    B = te.compute((den,), lambda i: te.max(A[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    xo, xi = s[B].split(B.op.axis[0], factor=2)
    s[B].bind(xo, block_x)
    s[B].bind(xi, thread_y)
    s[B].bind(k, thread_x)
    a = random(den, num)
    np.testing.assert_array_equal(run(s, [A, B], a, shape=den), a.max(1))


def test_what_is_said_of_each_program_holds_for_reductions_within_warps(monkeypatch):
    """Where passes are verified: an exchange gives one element another value each time."""
    monkeypatch.setenv("TW_VERIFY", "1")
    A, k = te.placeholder((300,), "int32", name="A"), te.reduce_axis((0, 300), name="k")
    H = te.compute((10,), lambda b: te.sum(te.if_then_else(A[k] == b, 1, 0), axis=k), name="H")
    s = te.create_schedule(H)
    _, ki = s[H].split(k, factor=64)
    s[H].bind(H.op.axis[0], block_x)
    s[H].bind(ki, thread_x)
    a = np.abs(random(300, dtype="int32"))
    np.testing.assert_array_equal(run(s, [A, H], a, shape=10, dtype="int32"), np.bincount(a, minlength=10))


def test_sums_of_two_tensors_and_what_they_begin_with():
    A, bias = te.placeholder((6, 30), name="A"), te.placeholder((6,), name="bias")
    k = te.reduce_axis((0, 30), name="k")
    B = te.compute((6,), lambda i: te.sum(A[i, k], axis=k, init=bias[i]), name="B")
    s = te.create_schedule(B)
    _, ki = s[B].split(k, factor=8)
    s[B].bind(B.op.axis[0], block_x)
    s[B].bind(ki, thread_x)
    a, b = random(6, 30), random(6)
    np.testing.assert_array_equal(run(s, [A, bias, B], a, b, shape=6), a.sum(1) + b)



@pytest.mark.parametrize("rows, columns", [(4, 32), (3, 45)])
def test_softmax_and_layer_norm_by_threads(rows, columns):
    A = te.placeholder((rows, columns), name="A")
    axes = [te.reduce_axis((0, columns), name=f"k{n}") for n in range(3)]
    total = te.compute((rows,), lambda i: te.sum(A[i, axes[0]], axis=axes[0]), name="total")
    squares = te.compute((rows,), lambda i: te.sum(A[i, axes[1]] * A[i, axes[1]], axis=axes[1]), name="squares")
    mean = te.compute((rows,), lambda i: total[i] / columns, name="mean")
    C = te.compute((rows, columns), lambda i, j: (A[i, j] - mean[i]) / te.sqrt(squares[i] / columns - mean[i] * mean[i] + 1e-5), name="C")
    s = te.create_schedule(C)
    s[mean].compute_inline()
    _, tx = s[C].split(C.op.axis[1], factor=16)
    s[C].bind(C.op.axis[0], block_x)
    s[C].bind(tx, thread_x)
    for stage, axis in ((total, axes[0]), (squares, axes[1])):
        _, ki = s[stage].split(axis, factor=16)
        s[stage].bind(ki, thread_x)
        s[stage].compute_at(s[C], C.op.axis[0])
    a = random(rows, columns)
    expected = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(run(s, [A, C], a, shape=a.shape), expected, rtol=1e-4, atol=1e-5)


def test_virtual_threads_share_what_a_row_needs():
    A, W = te.placeholder((12, 16), name="A"), te.placeholder((16,), name="W")
    k = te.reduce_axis((0, 16), name="k")
    B = te.compute((12,), lambda i: te.sum(A[i, k] * W[k], axis=k), name="B")
    s = te.create_schedule(B)
    bx, vx = s[B].split(B.op.axis[0], factor=3)
    _, ki = s[B].split(k, factor=4)
    s[B].bind(bx, block_x)
    s[B].bind(vx, te.thread_axis("vthread.x"))
    s[B].bind(ki, thread_x)
    assert s[B].iter_var_attrs[vx].iter_type == "vthread" and 'bind(ii, "vthread")' in s.to_python()
    a, w = random(12, 16), random(16)
    np.testing.assert_array_equal(run(s, [A, W, B], a, w, shape=12), a @ w)
