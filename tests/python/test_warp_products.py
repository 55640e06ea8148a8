"""Products of a warp: schedules that tensorize by mma, in the interpreter and by the driver without a device, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from fake_device import needs_fake, run

PRODUCTS = {
    "mma.m16n8k16.bf16": ("bfloat16", "float32", 16, ml_dtypes.bfloat16),
    "mma.m16n8k16.f16": ("float16", "float32", 16, np.float16),
    "mma.m16n8k32.s8": ("int8", "int32", 32, np.int8),
    "mma.m16n8k8.tf32": ("float32", "float32", 8, np.float32),
}


def product(n, m, depth, dtype, out, transposed=True):
    A = te.placeholder((n, depth), dtype, name="A")
    B = te.placeholder((m, depth) if transposed else (depth, m), dtype, name="B")
    k = te.reduce_axis((0, depth), name="k")
    factor = te.tf32 if dtype == "float32" else lambda x: x.astype(out)
    C = te.compute((n, m), lambda i, j: te.sum(factor(A[i, k]) * factor(B[j, k] if transposed else B[k, j]), axis=k), name="C")
    return [A, B, C]


def in_warps(tensors, intrin, step, block=(32, 32), warp=(16, 16), stages=1, swizzle=False, by="auto"):
    """A tile of C for each block, a part of it for each of its warps, operands by way of shared memory."""
    A, B, C = tensors
    depth = PRODUCTS[intrin][2]
    s = te.create_schedule(C)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    io, jo, i, j = s[C].tile(*C.op.axis, *block)
    iw, i = s[C].split(i, factor=warp[0])
    jw, j = s[C].split(j, factor=warp[1])
    im, i = s[C].split(i, factor=16)
    jm, j = s[C].split(j, factor=8)
    ko, k = s[C].split(C.op.reduce_axis[0], factor=step)
    km, k = s[C].split(k, factor=depth)
    s[C].reorder(io, jo, iw, jw, ko, km, im, jm, i, j, k)
    for axis, index in ((io, "blockIdx.y"), (jo, "blockIdx.x"), (iw, "threadIdx.z"), (jw, "threadIdx.y")):
        s[C].bind(axis, te.thread_axis(index))
    s[AS].compute_at(s[C], ko)
    s[BS].compute_at(s[C], ko)
    s[C].tensorize(i, intrin)
    if stages > 1:
        s[C].pipeline(ko, stages, by)
    if swizzle:
        s[AS].swizzle()
        s[BS].swizzle()
    return s


def numbers(*shape, dtype):
    return np.random.default_rng(0).integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("intrin", PRODUCTS)
def test_small_integers_are_exact(intrin, transposed):
    dtype, out, _, numpy_type = PRODUCTS[intrin]
    tensors = product(32, 64, 64, dtype, out, transposed)
    s = in_warps(tensors, intrin, 32)
    a, b = numbers(32, 64, dtype=numpy_type), numbers(64, 64, dtype=numpy_type)
    c = np.full((32, 64), 7, out)
    tw.build(s, tensors, target="interp")(a, b, c)
    right = b.astype(out).T if transposed else b.astype(out)
    np.testing.assert_array_equal(c, a.astype(out) @ right)


def test_a_pipeline_of_swizzled_tiles():
    tensors = product(32, 32, 128, "bfloat16", "float32")
    s = in_warps(tensors, "mma.m16n8k16.bf16", 32, stages=3, swizzle=True)
    a, b = numbers(32, 128, dtype=ml_dtypes.bfloat16), numbers(32, 128, dtype=ml_dtypes.bfloat16)
    c = np.zeros((32, 32), "float32")
    tw.build(s, tensors, target="interp")(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32").T)
    text = str(tw.lower(s, tensors, target="cuda -arch=sm_90a"))
    assert "mma.m16n8k16.bf16" in text and "sync wait 1" in text


def test_sums_are_rounded_once():
    """float32 sums of float16 are near those of NumPy in double."""
    tensors = product(16, 8, 256, "float16", "float32")
    s = in_warps(tensors, "mma.m16n8k16.f16", 32, block=(16, 8), warp=(16, 8))
    random = np.random.default_rng(1)
    a, b = random.standard_normal((16, 256)).astype("float16"), random.standard_normal((8, 256)).astype("float16")
    c = np.zeros((16, 8), "float32")
    tw.build(s, tensors, target="interp")(a, b, c)
    np.testing.assert_allclose(c, a.astype("float64") @ b.astype("float64").T, rtol=0, atol=1e-5)


def test_what_a_reduction_begins_with_is_added_at_the_end():
    A, B = te.placeholder((16, 16), "float16", name="A"), te.placeholder((8, 16), "float16", name="B")
    D = te.placeholder((8,), name="D")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 8), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k, init=D[j]), name="C")
    s = te.create_schedule(C)
    io, ii = s[C].split(C.op.axis[0], factor=16)
    s[C].bind(io, te.thread_axis("blockIdx.x"))
    s[C].tensorize(ii, "mma.m16n8k16.f16")
    a, b, d = numbers(16, 16, dtype="float16"), numbers(8, 16, dtype="float16"), numbers(8, dtype="float32")
    c = np.zeros((16, 8), "float32")
    tw.build(s, [A, B, D, C], target="interp")(a, b, d, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32").T + d)


def test_results_in_shared_memory_for_another_stage():
    """Sums are stored by the lane map, and read by whoever needs them."""
    A, B, C = product(32, 16, 32, "bfloat16", "float32")
    D = te.compute((32, 16), lambda i, j: C[i, j] * 2 + 1, name="D")
    s = te.create_schedule(D)
    i, j = D.op.axis
    io, ii = s[D].split(i, factor=16)
    jo, ji = s[D].split(j, factor=8)
    s[D].reorder(io, jo, ii, ji)
    s[D].bind(io, te.thread_axis("blockIdx.x"))
    s[D].bind(ii, te.thread_axis("threadIdx.x"))
    s[C].compute_at(s[D], jo)
    s[C].set_scope("shared")
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=16)
    s[C].reorder(ko, *C.op.axis, ki)
    s[C].tensorize(C.op.axis[0], "mma.m16n8k16.bf16")
    a, b = numbers(32, 32, dtype=ml_dtypes.bfloat16), numbers(16, 32, dtype=ml_dtypes.bfloat16)
    d = np.zeros((32, 16), "float32")
    tw.build(s, [A, B, D], target="interp")(a, b, d)
    np.testing.assert_array_equal(d, a.astype("float32") @ b.astype("float32").T * 2 + 1)


def convolution(size, pad=1):
    """opt_conv_tensorcore of TVM's tutorials: images and channels in tiles of 16, a block for each point of an image."""
    A = te.placeholder((2, size, size, 1, 16, 16), "float16", name="A")
    W = te.placeholder((3, 3, 1, 4, 8, 16), "float16", name="W")
    ic, kh, kw, ii = (te.reduce_axis((0, extent), name=name) for name, extent in (("ic", 1), ("kh", 3), ("kw", 3), ("ii", 16)))

    def padded(n, h, w, i, nn, ii):
        return te.if_then_else(te.all(h >= pad, h - pad < size, w >= pad, w - pad < size), A[n, h - pad, w - pad, i, nn, ii], te.const(0, "float16"))

    def term(n, h, w, o, nn, oo):
        return P[n, h + kh, w + kw, ic, nn, ii].astype("float32") * W[kh, kw, ic, o, oo, ii].astype("float32")

    P = te.compute((2, size + 2 * pad, size + 2 * pad, 1, 16, 16), padded, name="Apad")
    C = te.compute((2, size, size, 4, 16, 8), lambda *at: te.sum(term(*at), axis=[ic, kh, kw, ii]), name="Conv")
    s = te.create_schedule(C)
    s[P].compute_inline()
    n, h, w, o, nn, oo = C.op.axis
    AS, WS = s.cache_read(P, "shared", [C]), s.cache_read(W, "shared", [C])
    hw = s[C].fuse(h, w)
    no, ni = s[C].split(n, factor=2)
    oc, oi = s[C].split(o, factor=4)
    s[C].reorder(no, oc, hw, ic, kh, kw, ni, oi, nn, oo, ii)
    for axis, index in ((hw, "blockIdx.z"), (no, "blockIdx.x"), (oc, "blockIdx.y"), (ni, "threadIdx.y"), (oi, "threadIdx.z")):
        s[C].bind(axis, te.thread_axis(index))
    s[AS].compute_at(s[C], kh)
    s[WS].compute_at(s[C], kw)
    s[C].tensorize(nn, "mma.m16n8k16.f16")
    return s, [A, W, C]


def images(size, pad=1):
    """Data and weights of `convolution`, and its result."""
    a, w = numbers(2, size, size, 1, 16, 16, dtype="float16"), numbers(3, 3, 1, 4, 8, 16, dtype="float16")
    padded = np.pad(a.astype("float32"), ((0, 0), (pad, pad), (pad, pad), (0, 0), (0, 0), (0, 0)))
    parts = (np.einsum("nhwiab,iocb->nhwoac", padded[:, y : y + size, x : x + size], w[y, x].astype("float32")) for y in range(3) for x in range(3))
    return a, w, sum(parts)


def test_a_convolution_as_in_tvms_tutorial():
    s, tensors = convolution(2)
    a, w, expected = images(2)
    c = np.zeros(expected.shape, "float32")
    tw.build(s, tensors, target="interp")(a, w, c)
    np.testing.assert_array_equal(c, expected)


@needs_fake
def test_a_convolution_by_the_driver():
    run("""
        from test_warp_products import convolution, images
        s, tensors = convolution(2)
        a, w, expected = images(2)
        c = tw.device_array(np.zeros(expected.shape, "float32"))
        f = tw.build(s, tensors, target="cuda -arch=sm_90a")
        assert "mma_m16n8k16_f16(" in f.source("cuda")
        f(tw.device_array(a), tw.device_array(w), c)
        assert (c.numpy() == expected).all()
    """)


def test_steps_come_back():
    tensors = product(32, 32, 64, "bfloat16", "float32")
    s = in_warps(tensors, "mma.m16n8k16.bf16", 32)
    assert '.tensorize(' in s.to_python() and '"mma.m16n8k16.bf16"' in s.to_python()
    assert str(tw.Schedule.from_steps(tensors[2], s.steps)) == str(s)
    assert "C" in str(s.explain())


def test_explain_counts_products_and_what_they_read():
    """64 x 64 x 128 of tiles of 16 x 8 x 16: 256 products, for which 16 warps read 128 fragments of A and 256 of B by ldmatrix, one or two
    at once, of 4 wavefronts where rows are swizzled."""
    tensors = product(64, 64, 128, "bfloat16", "float32")
    told = [str(in_warps(tensors, "mma.m16n8k16.bf16", 32, swizzle=swizzle).explain("cuda -arch=sm_90a")) for swizzle in (True, False)]
    for text in told:
        assert "524 thousand multiply-adds of tensor cores" in text
        assert "4 blocks of 128 threads" in text
    assert "256 requests, 4 wavefronts each, 4 without conflicts" in told[0]
    assert "256 requests, 16 wavefronts each, 4 without conflicts" in told[1]


def test_operands_come_by_ldmatrix_where_rows_lie_side_by_side():
    """Of rows of terms as they are, of columns transposed; bytes only as they are. Four matrices at once: of the left factor for a
    product, of the right one for two."""
    def loads(intrin, transposed, warp=(16, 16)):
        dtype, out, _, _ = PRODUCTS[intrin]
        tensors = product(32, 32, 64, dtype, out, transposed)
        text = str(tw.lower(in_warps(tensors, intrin, 32, warp=warp), tensors, target="cuda -arch=sm_90a"))
        return [name for name in ("x4", "x2", "x4.trans", "x2.trans") if f'"ldmatrix.{name}"' in text]

    assert loads("mma.m16n8k16.bf16", True) == ["x4"]
    assert loads("mma.m16n8k16.bf16", True, warp=(16, 8)) == ["x4", "x2"]
    assert loads("mma.m16n8k16.f16", False) == ["x4", "x4.trans"]
    assert loads("mma.m16n8k32.s8", True) == ["x4"]
    assert loads("mma.m16n8k32.s8", False) == ["x4"]
    assert loads("mma.m16n8k8.tf32", True) == ["x4"]
    assert loads("mma.m16n8k8.tf32", False) == ["x4"]


@needs_fake
def test_end_to_end_by_the_driver():
    run("""
        import ml_dtypes
        from test_warp_products import in_warps, numbers, product
        tensors = product(64, 64, 128, "bfloat16", "float32")
        f = tw.build(in_warps(tensors, "mma.m16n8k16.bf16", 32, stages=3, swizzle=True), tensors, target="cuda -arch=sm_90a", name="gemm")
        assert "mma_m16n8k16_bf16(" in f.source("cuda") and "cp_async_16(" in f.source("cuda")
        a, b = numbers(64, 128, dtype=ml_dtypes.bfloat16), numbers(64, 128, dtype=ml_dtypes.bfloat16)
        c = tw.device_array(np.zeros((64, 64), "float32"))
        f(tw.device_array(a), tw.device_array(b), c)
        assert (c.numpy() == a.astype("float32") @ b.astype("float32").T).all()
    """)
