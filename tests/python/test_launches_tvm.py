"""The schedules of TVM's scripts for GPUs, with our names: virtual threads, shared tiles, convolutions, functions of elements."""

import numpy as np
import pytest

import tensorwright as tw
from cuda_scripts import bind, random, run
from tensorwright import te

block_x, block_y, block_z = (te.thread_axis(f"blockIdx.{d}") for d in "xyz")
thread_x, thread_y = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")


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
