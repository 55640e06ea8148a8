"""Schedules of TVM's GPU scripts, with our names, in the interpreter: blocks, threads, shared memory, sums across threads."""

import numpy as np
import pytest

import tensorwright as tw
from cuda_scripts import product as gemm
from cuda_scripts import random, run, tiled
from tensorwright import te

block_x, block_y = te.thread_axis("blockIdx.x"), te.thread_axis("blockIdx.y")
thread_x, thread_y = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")


# ----------------------------------------------------------------------------------------------------------- pointwise


@pytest.mark.parametrize("n", [1, 63, 64, 200])
def test_pointwise(n):
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute((n,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C)
    bx, tx = s[C].split(C.op.axis[0], factor=64)
    s[C].bind(bx, block_x)
    s[C].bind(tx, thread_x)
    a, b = random(n), random(n)
    np.testing.assert_array_equal(run(s, [A, B, C], a, b, shape=n), a + b)


def test_pointwise_of_any_size():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[i] * 2 + 1, name="C")
    s = te.create_schedule(C)
    bx, tx = s[C].split(C.op.axis[0], factor=32)
    s[C].bind(bx, block_x)
    s[C].bind(tx, thread_x)
    kernel = tw.build(s, [A, C], target="interp")
    for size in (0, 1, 32, 45):
        a, c = random(size), np.zeros(size, "float32")
        kernel(a, c)
        np.testing.assert_array_equal(c, a * 2 + 1)


@pytest.mark.parametrize("shape", [(16, 16), (13, 21)])
def test_pointwise_in_two_dimensions(shape):
    A = te.placeholder(shape, name="A")
    C = te.compute(shape, lambda i, j: A[i, j] * A[i, j], name="C")
    s = te.create_schedule(C)
    by, bx, ty, tx = s[C].tile(*C.op.axis, 4, 8)
    for axis, thread in ((by, block_y), (bx, block_x), (ty, thread_y), (tx, thread_x)):
        s[C].bind(axis, thread)
    a = random(*shape)
    np.testing.assert_array_equal(run(s, [A, C], a, shape=shape), a * a)


def test_fused_pointwise_with_several_elements_each():
    A = te.placeholder((10, 30), name="A")
    C = te.compute((10, 30), lambda i, j: te.max(A[i, j], 0.0), name="C")
    s = te.create_schedule(C)
    fused = s[C].fuse(*C.op.axis)
    bx, rest = s[C].split(fused, factor=64)
    tx, vector = s[C].split(rest, factor=4)
    s[C].bind(bx, "blockIdx.x")
    s[C].bind(tx, "threadIdx.x")
    s[C].vectorize(vector)
    a = random(10, 30)
    np.testing.assert_array_equal(run(s, [A, C], a, shape=(10, 30)), np.maximum(a, 0))


# -------------------------------------------------------------------------------------------------------------- gemm


@pytest.mark.parametrize("sizes", [(16, 16, 8), (24, 24, 16), (13, 19, 11), (9, 16, 3)])
def test_gemm(sizes):
    A, B, C = gemm(*sizes)
    s = tiled(A, B, C, block=8, threads=4, step=4)[0]
    a, b = random(sizes[0], sizes[2]), random(sizes[2], sizes[1])
    np.testing.assert_array_equal(run(s, [A, B, C], a, b, shape=sizes[:2]), a @ b)


@pytest.mark.parametrize("sizes", [(16, 16, 8), (11, 14, 9)])
def test_gemm_whose_tiles_are_bound_explicitly(sizes):
    A, B, C = gemm(*sizes)
    s, AA, BB, CC, ko, ki = tiled(A, B, C, block=8, threads=4, step=4)
    for tile in (AA, BB):
        ty, yi = s[tile].split(tile.op.axis[0], nparts=4)
        tx, xi = s[tile].split(tile.op.axis[1], nparts=4)
        s[tile].reorder(ty, tx, yi, xi)
        s[tile].bind(ty, thread_y)
        s[tile].bind(tx, thread_x)
    a, b = random(sizes[0], sizes[2]), random(sizes[2], sizes[1])
    np.testing.assert_array_equal(run(s, [A, B, C], a, b, shape=sizes[:2]), a @ b)


@pytest.mark.parametrize("sizes", [(16, 16, 8), (11, 14, 9)])
def test_gemm_with_registers_between(sizes):
    A, B, C = gemm(*sizes)
    s, AA, BB, CC, ko, ki = tiled(A, B, C, block=8, threads=4, step=4)
    AL, BL = s.cache_read(AA, "local", [CC]), s.cache_read(BB, "local", [CC])
    s[AL].compute_at(s[CC], ki)
    s[BL].compute_at(s[CC], ki)
    for axis in CC.op.axis:
        s[CC].unroll(axis)
    a, b = random(sizes[0], sizes[2]), random(sizes[2], sizes[1])
    np.testing.assert_array_equal(run(s, [A, B, C], a, b, shape=sizes[:2]), a @ b)


def test_gemm_of_integers():
    A, B, C = gemm(9, 10, 12, "int32")
    s = tiled(A, B, C, block=8, threads=2, step=8)[0]
    a, b = random(9, 12, dtype="int32"), random(12, 10, dtype="int32")
    np.testing.assert_array_equal(run(s, [A, B, C], a, b, shape=(9, 10), dtype="int32"), a @ b)


# --------------------------------------------------------------------------------------------------------------- sums


def row_sums(n, m):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    return A, te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")


@pytest.mark.parametrize("threads", [1, 2, 7, 16, 48, 64, 128])
@pytest.mark.parametrize("m", [16, 45, 300])
def test_row_sums_across_threads(threads, m):
    A, B = row_sums(5, m)
    s = te.create_schedule(B)
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=threads)
    s[B].bind(B.op.axis[0], block_x)
    s[B].bind(ki, thread_x)
    a = random(5, m)
    np.testing.assert_array_equal(run(s, [A, B], a, shape=5), a.sum(1))


@pytest.mark.parametrize("along", [thread_x, thread_y])
def test_several_rows_of_a_block(along):
    A, B = row_sums(7, 40)
    s = te.create_schedule(B)
    bx, rows = s[B].split(B.op.axis[0], factor=4)
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=12)
    s[B].bind(bx, block_x)
    s[B].bind(rows, thread_y if along is thread_x else thread_x)
    s[B].bind(ki, along)
    a = random(7, 40)
    np.testing.assert_array_equal(run(s, [A, B], a, shape=7), a.sum(1))


def test_rows_one_after_the_other_use_the_same_memory():
    A, B = row_sums(12, 9)
    s = te.create_schedule(B)
    bx, row = s[B].split(B.op.axis[0], factor=4)
    s[B].bind(bx, block_x)
    s[B].bind(B.op.reduce_axis[0], thread_x)
    a = random(12, 9)
    np.testing.assert_array_equal(run(s, [A, B], a, shape=12), a.sum(1))


def test_a_reduction_of_two_indices():
    A, B = row_sums(3, 60)
    s = te.create_schedule(B)
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=20)
    ky, kx = s[B].split(ki, factor=5)
    s[B].bind(B.op.axis[0], block_x)
    s[B].bind(ky, thread_y)
    s[B].bind(kx, thread_x)
    a = random(3, 60)
    np.testing.assert_array_equal(run(s, [A, B], a, shape=3), a.sum(1))


def test_rfactor_as_in_tvm():
    A, B = row_sums(10, 50)
    s = te.create_schedule(B)
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, ki)
    xo, xi = s[B].split(s[B].op.axis[0], factor=4)
    s[B].bind(xo, block_x)
    s[B].bind(xi, thread_y)
    s[B].bind(s[B].op.reduce_axis[0], thread_x)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    a = random(10, 50)
    np.testing.assert_array_equal(run(s, [A, B], a, shape=10), a.sum(1))


def test_rfactor_over_blocks_is_two_launches():
    A = te.placeholder((1000,), name="A")
    k = te.reduce_axis((0, 1000), name="k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B)
    ko, ki = s[B].split(k, factor=100)
    BF = s.rfactor(B, ko)
    s[BF].bind(s[BF].op.axis[0], block_x)
    inner = s[BF].op.reduce_axis[0]
    rest, threads = s[BF].split(inner, factor=16)
    s[BF].bind(threads, thread_x)
    s[B].bind(s[B].op.reduce_axis[0], thread_x)
    a = random(1000)
    np.testing.assert_array_equal(run(s, [A, B], a, shape=1), a.sum(keepdims=True))


def test_argmax_across_threads():
    def combine(x, y):
        return te.if_then_else(x[1] >= y[1], x[0], y[0]), te.if_then_else(x[1] >= y[1], x[1], y[1])

    argmax = te.comm_reducer(combine, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax")
    A = te.placeholder((4, 21), name="A")
    k = te.reduce_axis((0, 21), name="k")
    at, value = te.compute((4,), lambda i: argmax((k.astype("int32"), A[i, k]), axis=k), name="T")
    s = te.create_schedule(at)
    ko, ki = s[at].split(k, factor=8)
    s[at].bind(s[at].op.axis[0], block_x)
    s[at].bind(ki, thread_x)
    a = np.random.default_rng(1).permutation(84).reshape(4, 21).astype("float32")
    index, best = np.zeros(4, "int32"), np.zeros(4, "float32")
    tw.build(s, [A, at, value], target="interp")(a, index, best)
    np.testing.assert_array_equal(index, a.argmax(1))
    np.testing.assert_array_equal(best, a.max(1))


# ------------------------------------------------------------------------------------------------- tiles, several launches


@pytest.mark.parametrize("size", [16, 21])
def test_convolution_with_a_shared_tile(size):
    A = te.placeholder((size + 2, size + 2), name="A")
    W = te.placeholder((3, 3), name="W")
    r, q = te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 3), name="q")
    C = te.compute((size, size), lambda y, x: te.sum(A[y + r, x + q] * W[r, q], axis=[r, q]), name="C")
    s = te.create_schedule(C)
    AA, WW, CC = s.cache_read(A, "shared", [C]), s.cache_read(W, "shared", [C]), s.cache_write(C, "local")
    by, bx, ty, tx = s[C].tile(*C.op.axis, 4, 8)
    for axis, thread in ((by, block_y), (bx, block_x), (ty, thread_y), (tx, thread_x)):
        s[C].bind(axis, thread)
    s[CC].compute_at(s[C], tx)
    s[AA].compute_at(s[C], bx)
    s[WW].compute_at(s[C], bx)
    a, w = random(size + 2, size + 2), random(3, 3)
    expected = sum(a[i : i + size, j : j + size] * w[i, j] for i in range(3) for j in range(3))
    np.testing.assert_array_equal(run(s, [A, W, C], a, w, shape=(size, size)), expected)


def test_a_computed_stencil_with_padding():
    n = 30
    A = te.placeholder((n,), name="A")
    P = te.compute((n + 2,), lambda i: te.if_then_else(te.all(i >= 1, i < n + 1), A[i - 1], 0.0), name="P")
    C = te.compute((n,), lambda i: P[i] + P[i + 1] + P[i + 2], name="C")
    s = te.create_schedule(C)
    bx, tx = s[C].split(C.op.axis[0], factor=8)
    s[C].bind(bx, block_x)
    s[C].bind(tx, thread_x)
    s[P].compute_at(s[C], bx)
    a = random(n)
    padded = np.pad(a, 1)
    np.testing.assert_array_equal(run(s, [A, C], a, shape=n), padded[:-2] + padded[1:-1] + padded[2:])


@pytest.mark.parametrize("inside", [False, True])
def test_softmax_of_rows(inside):
    n, m = 6, 25
    A = te.placeholder((n, m), name="A")
    k, k2 = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, m), name="k2")
    M = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="M")
    E = te.compute((n, m), lambda i, j: te.exp(A[i, j] - M[i]), name="E")
    S = te.compute((n,), lambda i: te.sum(E[i, k2], axis=k2), name="S")
    C = te.compute((n, m), lambda i, j: E[i, j] / S[i], name="C")
    s = te.create_schedule(C)
    _, tx = s[C].split(C.op.axis[1], factor=8)
    s[C].bind(C.op.axis[0], block_x)
    s[C].bind(tx, thread_x)
    s[E].compute_inline()
    for stage, axis in ((M, k), (S, k2)):
        _, ki = s[stage].split(axis, factor=8)
        s[stage].bind(ki, thread_x)
        if inside:
            s[stage].compute_at(s[C], C.op.axis[0])
        else:
            s[stage].bind(stage.op.axis[0], block_x)
    a = random(n, m)
    e = np.exp(a - a.max(1, keepdims=True))
    np.testing.assert_allclose(run(s, [A, C], a, shape=(n, m)), e / e.sum(1, keepdims=True), rtol=1e-5)


def test_transpose_through_shared_memory():
    A = te.placeholder((20, 12), name="A")
    C = te.compute((12, 20), lambda i, j: A[j, i], name="C")
    s = te.create_schedule(C)
    AA = s.cache_read(A, "shared", [C])
    by, bx, ty, tx = s[C].tile(*C.op.axis, 8, 8)
    for axis, thread in ((by, block_y), (bx, block_x), (ty, thread_y), (tx, thread_x)):
        s[C].bind(axis, thread)
    s[AA].compute_at(s[C], bx)
    s[AA].storage_align(AA.op.axis[0], 8, 1)
    a = random(20, 12)
    np.testing.assert_array_equal(run(s, [A, C], a, shape=(12, 20)), a.T)


# ------------------------------------------------------------------------------------------------------------ the front


def test_bind_takes_what_thread_axis_makes_and_says_what_it_bound():
    A = te.placeholder((64,), name="A")
    C = te.compute((64,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C)
    bx, tx = s[C].split(C.op.axis[0], factor=16)
    with pytest.raises(tw.ScheduleError, match=r"as many iterations as thread_axis\(threadIdx.x: 0..32\), not 16"):
        s[C].bind(tx, te.thread_axis((0, 32), "threadIdx.x"))
    s[C].bind(tx, te.thread_axis((0, 16), "threadIdx.x", name="tx"))
    s[C].bind(bx, te.thread_axis(tag="blockIdx.x"))
    assert s[C].iter_var_attrs[tx].iter_type == "threadIdx.x"
    assert "threadIdx.x i.i in 0..16" in str(s)
    assert 's[C].bind(io, "blockIdx.x")' in s.to_python()
    names = {"te": te, "C": C}
    exec(s.to_python(), names)
    assert names["s"].steps == s.steps


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_targets_without_a_device_refuse(target):
    A = te.placeholder((8,), name="A")
    C = te.compute((8,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C)
    s[C].bind(C.op.axis[0], thread_x)
    try:
        tw.Target(target)
    except tw.TargetError:
        pytest.skip(f"no target {target} in this build")
    with pytest.raises(tw.ScheduleError, match="must have a device") as error:
        tw.build(s, [A, C], target=target)
    assert "parallel spreads" in str(error.value)


def test_a_stage_of_one_element_has_no_rows_to_swizzle():
    A = te.placeholder((8,), name="A")
    k = te.reduce_axis((0, 8), name="k")
    T = te.compute((), lambda: te.sum(A[k], axis=k), name="T")
    C = te.compute((8,), lambda i: A[i] * T[()], name="C")
    s = te.create_schedule(C)
    s[C].bind(C.op.axis[0], block_x)
    s[T].compute_at(s[C], C.op.axis[0])
    s[T].set_scope("shared")
    s[T].swizzle()
    a = random(8)
    np.testing.assert_array_equal(run(s, [A, C], a, shape=8), a * a.sum())
