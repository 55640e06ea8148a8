"""The schedules of TVM's scripts for GPUs, with our names: virtual threads, shared tiles, sums and tuples across threads, scans."""

import numpy as np
import pytest

import tensorwright as tw
from cuda_scripts import random, run
from tensorwright import te

block_x, block_y, block_z = (te.thread_axis(f"blockIdx.{d}") for d in "xyz")
thread_x, thread_y = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")


def bind(s, stage, **axes):
    for name, axis in axes.items():
        s[stage].bind(axis, te.thread_axis(name.replace("_", ".")))


# --------------------------------------------------------------------------------------------------------------- gemm


def product(n, m, depth, dtype="float32", transposed=False):
    A = te.placeholder((n, depth), dtype, name="A")
    B = te.placeholder((m, depth) if transposed else (depth, m), dtype, name="B")
    k = te.reduce_axis((0, depth), name="k")
    term = (lambda i, j: A[i, k] * B[j, k]) if transposed else (lambda i, j: A[i, k] * B[k, j])
    return A, B, te.compute((n, m), lambda i, j: te.sum(term(i, j), axis=k), name="C")


def virtual_gemm(n, m, depth, block=16, threads=4, step=4, vthread=2, dtype="float32"):
    """The tiled product of the introduction to GPUs: each thread has vthread * vthread tiles, apart from each other."""
    A, B, C = product(n, m, depth, dtype)
    s = te.create_schedule(C)
    AA, BB = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    AL, BL = s.cache_read(AA, "local", [C]), s.cache_read(BB, "local", [C])
    CC = s.cache_write(C, "local")
    by, yi = s[C].split(C.op.axis[0], factor=block)
    bx, xi = s[C].split(C.op.axis[1], factor=block)
    vy, yi = s[C].split(yi, nparts=vthread)
    vx, xi = s[C].split(xi, nparts=vthread)
    ty, yi = s[C].split(yi, nparts=threads)
    tx, xi = s[C].split(xi, nparts=threads)
    s[C].reorder(by, bx, vy, vx, ty, tx, yi, xi)
    bind(s, C, blockIdx_y=by, blockIdx_x=bx, threadIdx_y=ty, threadIdx_x=tx)
    s[C].bind(vy, te.thread_axis((0, vthread), "vthread", name="vy"))
    s[C].bind(vx, te.thread_axis((0, vthread), "vthread", name="vx"))
    s[CC].compute_at(s[C], tx)
    ko, ki = s[CC].split(CC.op.reduce_axis[0], factor=step)
    s[CC].reorder(ko, ki, *CC.op.axis)
    for tile in (AA, BB):
        s[tile].compute_at(s[CC], ko)
        ty, yi = s[tile].split(tile.op.axis[0], nparts=threads)
        tx, xi = s[tile].split(tile.op.axis[1], nparts=threads)
        s[tile].reorder(ty, tx, yi, xi)
        bind(s, tile, threadIdx_y=ty, threadIdx_x=tx)
    for copy in (AL, BL):
        s[copy].compute_at(s[CC], ki)
    return s, [A, B, C]


@pytest.mark.parametrize("sizes", [(32, 32, 16), (37, 21, 13), (16, 50, 3)])
def test_gemm_with_virtual_threads(sizes):
    s, tensors = virtual_gemm(*sizes)
    a, b = random(sizes[0], sizes[2]), random(sizes[2], sizes[1])
    np.testing.assert_array_equal(run(s, tensors, a, b, shape=sizes[:2]), a @ b)


def test_virtual_threads_load_each_tile_once():
    s, tensors = virtual_gemm(32, 32, 16)
    program = str(tw.lower(s, tensors))
    assert program.count("sync") == 2 and "C.local: float32[2, 2, 2, 2] local" in program, program


@pytest.mark.parametrize("sizes", [(32, 32, 8), (19, 45, 6)])
def test_gemm_of_the_integration_tests(sizes):
    scale, threads = 2, 4
    A, B, C = product(*sizes, transposed=True)
    s = te.create_schedule(C)
    CC = s.cache_write(C, "local")
    AA, BB = s.cache_read(A, "shared", [CC]), s.cache_read(B, "shared", [CC])
    by, yi = s[C].split(C.op.axis[0], factor=scale * threads)
    bx, xi = s[C].split(C.op.axis[1], factor=scale * threads)
    s[C].reorder(by, bx, yi, xi)
    s[C].bind(by, block_y)
    s[C].bind(bx, block_x)
    ty, yi = s[C].split(yi, nparts=threads)
    tx, xi = s[C].split(xi, nparts=threads)
    s[C].reorder(ty, tx, yi, xi)
    s[C].bind(ty, thread_y)
    s[C].bind(tx, thread_x)
    (k,) = CC.op.reduce_axis
    s[CC].reorder(k, *CC.op.axis)
    s[CC].compute_at(s[C], tx)
    for tile in (AA, BB):
        s[tile].compute_at(s[CC], k)
        ty, xi = s[tile].split(s[tile].op.axis[0], nparts=threads)
        tx, xi = s[tile].split(xi, nparts=threads)
        s[tile].bind(ty, thread_y)
        s[tile].bind(tx, thread_x)
    a, b = random(sizes[0], sizes[2]), random(sizes[1], sizes[2])
    np.testing.assert_array_equal(run(s, [A, B, C], a, b, shape=sizes[:2]), a @ b.T)


def test_gemm_of_half_precision_and_dynamic_shared_memory():
    A, B, C = product(12, 20, 8, "float16")
    s = te.create_schedule(C)
    AA, CC = s.cache_read(A, "shared.dyn", [C]), s.cache_write(C, "local")
    by, bx, ty, tx = s[C].tile(*C.op.axis, 8, 8)
    bind(s, C, blockIdx_y=by, blockIdx_x=bx, threadIdx_y=ty, threadIdx_x=tx)
    s[CC].compute_at(s[C], tx)
    s[AA].compute_at(s[C], bx)
    assert "A.shared" in str(s)
    a, b = random(12, 8, dtype="float16"), random(8, 20, dtype="float16")
    np.testing.assert_array_equal(run(s, [A, B, C], a, b, shape=(12, 20), dtype="float16"), (a @ b).astype("float16"))


# ------------------------------------------------------------------------------------------------------- convolution


def convolution(size, channels, filters, batch, kernel=3, stride=1, pad=1):
    """opt_conv_cuda: [height, width, channels, batch], and a padded input that is inlined."""
    A = te.placeholder((size, size, channels, batch), name="A")
    W = te.placeholder((kernel, kernel, channels, filters), name="W")
    out = (size - kernel + 2 * pad) // stride + 1
    padded = te.compute(
        (size + 2 * pad, size + 2 * pad, channels, batch),
        lambda y, x, c, n: te.if_then_else(te.all(y >= pad, y - pad < size, x >= pad, x - pad < size), A[y - pad, x - pad, c, n], te.const(0.0, "float32")),
        name="Apad",
    )
    rc, ry, rx = te.reduce_axis((0, channels), name="rc"), te.reduce_axis((0, kernel), name="ry"), te.reduce_axis((0, kernel), name="rx")
    B = te.compute(
        (out, out, filters, batch),
        lambda y, x, f, n: te.sum(padded[y * stride + ry, x * stride + rx, rc, n] * W[ry, rx, rc, f], axis=[ry, rx, rc]),
        name="B",
    )
    return A, W, padded, B


def schedule_convolution(A, W, padded, B, tile=2, threads=2, vthread=2, step=2):
    block_factor = tile * threads * vthread
    s = te.create_schedule(B)
    s[padded].compute_inline()
    AA, WW = s.cache_read(padded, "shared", [B]), s.cache_read(W, "shared", [B])
    AL, WL = s.cache_read(AA, "local", [B]), s.cache_read(WW, "local", [B])
    BL = s.cache_write(B, "local")
    xz, yz = te.thread_axis((0, vthread), "vthread", name="vx"), te.thread_axis((0, vthread), "vthread", name="vy")
    tx, ty = te.thread_axis((0, threads), "threadIdx.x"), te.thread_axis((0, threads), "threadIdx.y")
    hi, wi, fi, ni = s[B].op.axis
    bz = s[B].fuse(hi, wi)
    by, fi = s[B].split(fi, factor=block_factor)
    bx, ni = s[B].split(ni, factor=block_factor)
    s[B].bind(bz, block_z)
    s[B].bind(by, block_y)
    s[B].bind(bx, block_x)
    tyz, fi = s[B].split(fi, nparts=vthread)
    txz, ni = s[B].split(ni, nparts=vthread)
    of_y, fi = s[B].split(fi, nparts=threads)
    of_x, ni = s[B].split(ni, nparts=threads)
    s[B].reorder(bz, by, bx, tyz, txz, of_y, of_x, fi, ni)
    s[B].bind(tyz, yz)
    s[B].bind(txz, xz)
    s[B].bind(of_y, ty)
    s[B].bind(of_x, tx)
    s[BL].compute_at(s[B], of_x)
    yi, xi, fi, ni = s[BL].op.axis
    ry, rx, rc = s[BL].op.reduce_axis
    rco, rci = s[BL].split(rc, factor=step)
    s[BL].reorder(rco, ry, rx, rci, fi, ni)
    s[AA].compute_at(s[BL], rx)
    s[WW].compute_at(s[BL], rx)
    s[AL].compute_at(s[BL], rci)
    s[WL].compute_at(s[BL], rci)
    for shared in (AA, WW):
        _, _, ci, last = s[shared].op.axis
        of_y, ci = s[shared].split(ci, nparts=threads)
        of_x, last = s[shared].split(last, nparts=threads)
        _, last = s[shared].split(last, factor=4)
        s[shared].reorder(of_y, of_x, *[leaf for leaf in s[shared].leaf_iter_vars if leaf not in (of_y, of_x, last)], last)
        s[shared].bind(of_y, ty)
        s[shared].bind(of_x, tx)
        s[shared].vectorize(last)
    return s


def convolved(a, w, stride=1, pad=1):
    a = np.pad(a, ((pad, pad), (pad, pad), (0, 0), (0, 0)))
    out = (a.shape[0] - w.shape[0]) // stride + 1
    parts = [[np.einsum("yxcn,yxcf->fn", a[y * stride : y * stride + 3, x * stride : x * stride + 3], w) for x in range(out)] for y in range(out)]
    return np.array(parts)


@pytest.mark.parametrize("sizes", [(4, 4, 8, 8), (5, 3, 9, 11)])
def test_convolution(sizes):
    size, channels, filters, batch = sizes
    A, W, padded, B = convolution(*sizes)
    s = schedule_convolution(A, W, padded, B)
    a, w = random(size, size, channels, batch), random(3, 3, channels, filters)
    np.testing.assert_array_equal(run(s, [A, W, B], a, w, shape=(size, size, filters, batch)), convolved(a, w))


# ------------------------------------------------------------------------------------------------------------- reduce


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


# -------------------------------------------------------------------------------------------------------- elementwise


def spread(s, C, threads=8):
    bx, tx = s[C].split(s[C].fuse(*s[C].op.axis), factor=threads)
    s[C].bind(bx, block_x)
    s[C].bind(tx, thread_x)
    return s


@pytest.mark.parametrize("n", [64, 77])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("function, expected", [(te.exp, np.exp), (lambda x: te.power(x, te.const(2.0, x.dtype)), np.square), (te.sqrt, np.sqrt)], ids=["exp", "pow", "sqrt"])
def test_functions(function, expected, dtype, n):
    A = te.placeholder((n,), dtype, name="A")
    C = te.compute((n,), lambda i: function(A[i]), name="C")
    a = np.linspace(0.1, 3, n).astype(dtype)
    got = run(spread(te.create_schedule(C), C), [A, C], a, shape=n, dtype=dtype)
    np.testing.assert_allclose(got, expected(a.astype("float64")), rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_popcount_and_remainder(dtype):
    A = te.placeholder((50,), dtype, name="A")
    C = te.compute((50,), lambda i: te.popcount(A[i]) + te.truncmod(A[i], te.const(7, dtype)), name="C")
    a = np.arange(50).astype(dtype)
    expected = np.array([bin(x).count("1") + x % 7 for x in range(50)], dtype)
    np.testing.assert_array_equal(run(spread(te.create_schedule(C), C), [A, C], a, shape=50, dtype=dtype), expected)


def test_two_outputs_by_way_of_registers():
    m, n = 6, 10
    A = te.placeholder((m, n), name="A")
    B, C = te.compute((m, n), lambda i, j: (A[i, j] + 1, A[i, j] * 3), name="BC")
    s = te.create_schedule(B)
    BL, _ = s.cache_write([B, C], "local")
    bx, tx = s[B].split(s[B].op.axis[0], factor=4)
    s[B].bind(bx, block_x)
    s[B].bind(tx, thread_x)
    s[BL].compute_at(s[B], tx)
    a, b, c = random(m, n), np.zeros((m, n), "float32"), np.zeros((m, n), "float32")
    tw.build(s, [A, B, C], target="interp")(a, b, c)
    np.testing.assert_array_equal(b, a + 1)
    np.testing.assert_array_equal(c, a * 3)


@pytest.mark.parametrize("n", [64, 70])
def test_vectors_of_half_precision(n):
    A, B = te.placeholder((n,), "float16", name="A"), te.placeholder((n,), "float16", name="B")
    C = te.compute((n,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C)
    rest, lanes = s[C].split(C.op.axis[0], factor=2)
    bx, tx = s[C].split(rest, factor=16)
    s[C].bind(bx, block_x)
    s[C].bind(tx, thread_x)
    s[C].vectorize(lanes)
    a, b = random(n, dtype="float16"), random(n, dtype="float16")
    np.testing.assert_array_equal(run(s, [A, B, C], a, b, shape=n, dtype="float16"), a + b)


# --------------------------------------------------------------------------------------------------------------- scan


def prefix_sums(m, n):
    X, state = te.placeholder((m, n), name="X"), te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    return X, init, update, te.scan(init, update, state, inputs=[X], name="S")


def in_registers(s, init, update, S, tx):
    s[init].compute_at(s[S], tx)
    s[update].compute_at(s[S], tx)


def side_by_side(s, init, update, S, tx):
    """Where a scan computes its updates by itself, all threads of a block do so together."""
    s[init].compute_inline()


def inlined(s, init, update, S, tx):
    s[init].compute_inline()
    s[update].compute_inline()


@pytest.mark.parametrize("places", [in_registers, side_by_side, inlined])
@pytest.mark.parametrize("m, n", [(6, 24), (5, 21)])
def test_scan(m, n, places):
    X, init, update, S = prefix_sums(m, n)
    s = te.create_schedule(S)
    bx, tx = s[S].split(S.op.spatial_axis_[0], factor=8)
    s[S].bind(bx, block_x)
    s[S].bind(tx, thread_x)
    places(s, init, update, S, tx)
    x = random(m, n)
    np.testing.assert_array_equal(run(s, [X, S], x, shape=(m, n)), x.cumsum(0))


def test_scan_whose_state_others_wrote():
    steps, batch, hidden = 4, 3, 10
    X, W = te.placeholder((steps, batch, hidden), name="X"), te.placeholder((hidden, hidden), name="W")
    state = te.placeholder((steps, batch, hidden), name="state")
    k = te.reduce_axis((0, hidden), name="k")
    init = te.compute((1, batch, hidden), lambda _, b, j: X[0, b, j], name="init")
    product = te.compute((steps, batch, hidden), lambda t, b, j: te.sum(state[t - 1, b, k] * W[k, j], axis=k), name="product")
    update = te.compute((steps, batch, hidden), lambda t, b, j: te.max(product[t, b, j] + X[t, b, j], 0.0), name="update")
    H = te.scan(init, update, state, name="H")
    s = te.create_schedule(H)
    b, j = H.op.spatial_axis_
    s[H].bind(b, block_x)
    s[H].bind(j, thread_x)
    s[init].compute_inline()
    s[update].compute_inline()
    x, w = random(steps, batch, hidden), random(hidden, hidden)
    s[product].compute_at(s[H], b)
    expected = [x[0]]
    for t in range(1, steps):
        expected.append(np.maximum(expected[-1] @ w + x[t], 0))
    np.testing.assert_array_equal(run(s, [X, W, H], x, w, shape=x.shape), np.array(expected))
    over = te.create_schedule(H)
    over[init].compute_inline()
    over[H].bind(j, block_x)
    with pytest.raises(tw.ScheduleError, match="must not be bound to blockIdx.x where its updates read other places"):
        over.check()


def test_blocks_are_bound_by_the_scan():
    """Which is a launch; TVM's scripts bind its updates' axes."""
    X, init, update, S = prefix_sums(6, 24)
    s = te.create_schedule(S)
    s[init].compute_inline()
    bx, tx = s[update].split(update.op.axis[1], factor=8)
    s[update].bind(bx, block_x)
    s[update].bind(tx, thread_x)
    with pytest.raises(tw.ScheduleError, match=r"the scan is the launch: s\[S\].bind\(S.op.spatial_axis_\[0\]"):
        s.check()


def test_env_threads():
    X, init, update, S = prefix_sums(5, 20)
    s = te.create_schedule(S)
    s[S].env_threads([block_x, thread_x])
    s[init].compute_inline()
    tx = s[update].split(update.op.axis[1], factor=8)[1]
    s[update].bind(tx, thread_x)
    x = random(5, 20)
    np.testing.assert_array_equal(run(s, [X, S], x, shape=(5, 20)), x.cumsum(0))


# --------------------------------------------------------------------------------------------------- rows by threads


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
