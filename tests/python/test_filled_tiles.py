"""Products of warps whose tiles reach past the end: operands in shared memory are filled with zeros there, and only what there is is stored."""

import ml_dtypes
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from fake_device import needs_fake, run
from test_warp_products import PRODUCTS, in_warps, numbers, product


def result_of(s, tensors, transposed, a, b):
    c = np.full((a.shape[0], b.shape[0] if transposed else b.shape[1]), 7, str(tensors[2].dtype))
    tw.build(s, tensors, target="interp")(a, b, c)
    return c


@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("intrin", PRODUCTS)
def test_no_size_is_a_multiple(intrin, transposed):
    dtype, out, _, numpy_type = PRODUCTS[intrin]
    n, m, depth = 33, 23, 41
    tensors = product(n, m, depth, dtype, out, transposed)
    s = in_warps(tensors, intrin, 32, stages=2 if transposed else 1, swizzle=transposed)
    a, b = numbers(n, depth, dtype=numpy_type), numbers(*((m, depth) if transposed else (depth, m)), dtype=numpy_type)
    right = b.astype(out).T if transposed else b.astype(out)
    np.testing.assert_array_equal(result_of(s, tensors, transposed, a, b), a.astype(out) @ right)


@pytest.mark.parametrize("n, m, depth", [(1, 1, 1), (16, 8, 33), (47, 8, 32), (16, 31, 16)])
def test_one_size_is_none(n, m, depth):
    tensors = product(n, m, depth, "float16", "float32")
    s = te.create_schedule(tensors[2])
    A, B, C = tensors
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    i, j = C.op.axis
    io, i = s[C].split(i, factor=16, tail="mask")
    jo, j = s[C].split(j, factor=8, tail="mask")
    ko, k = s[C].split(C.op.reduce_axis[0], factor=16, tail="mask")
    s[C].reorder(io, jo, ko, i, j, k)
    s[C].bind(io, te.thread_axis("blockIdx.x"))
    for operand in (AS, BS):
        s[operand].compute_at(s[C], ko)
    s[C].tensorize(i, "mma.m16n8k16.f16")
    a, b = numbers(n, depth, dtype="float16"), numbers(m, depth, dtype="float16")
    np.testing.assert_array_equal(result_of(s, tensors, True, a, b), a.astype("float32") @ b.astype("float32").T)


def test_what_is_no_number_stays_where_it_is():
    """No element past the end is anything but zero, so an infinity is multiplied by elements only."""
    tensors = product(17, 9, 17, "float16", "float32")
    s = in_warps(tensors, "mma.m16n8k16.f16", 32)
    a, b = np.ones((17, 17), "float16"), np.ones((9, 17), "float16")
    a[3, 16], b[8, 2] = np.inf, np.nan
    np.testing.assert_array_equal(result_of(s, tensors, True, a, b), a.astype("float32") @ b.astype("float32").T)


def some_terms(depth, terms, first=0, groups=False, inner=None, step=16, stages=1, by="auto"):
    """Sums over `terms` of rows of `depth`, from `first` on: of each four warps, or of each warp, whose terms are split by `inner` before."""
    A, B = te.placeholder((64, depth), "float16", name="A"), te.placeholder((64, depth), "float16", name="B")
    k = te.reduce_axis((0, terms), name="k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k + first].astype("float32") * B[j, k + first].astype("float32"), axis=k), name="C")
    s = te.create_schedule(C)
    operands = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    (i, j), parts = C.op.axis, []
    if inner is not None:
        part, k = s[C].split(k, factor=inner)
        parts.append(part)
    ko, k = s[C].split(k, factor=step)
    km, k = s[C].split(k, factor=16)
    io, i = s[C].split(i, factor=64 if groups else 16)
    jo, j = s[C].split(j, factor=64 if groups else 8)
    s[C].reorder(io, jo, *parts, ko, km, i, j, k)
    s[C].bind(io, te.thread_axis("blockIdx.y"))
    s[C].bind(jo, te.thread_axis("blockIdx.x"))
    s[C].tensorize(i, "wgmma.m64n64k16.f16" if groups else "mma.m16n8k16.f16")
    for operand in operands:
        s[operand].compute_at(s[C], ko)
        s[operand].swizzle()
    if stages > 1:
        s[C].pipeline(ko, stages, by)
    return s, [A, B, C]


@pytest.mark.parametrize("depth, terms, asked", [
    (128, 50, {}), (128, 50, {"first": 8}), (130, 50, {"first": 3, "stages": 3, "by": "ldg"}), (256, 100, {"groups": True, "step": 64, "stages": 3}),
    (96, 96, {"inner": 48, "step": 32}), (130, 130, {"inner": 48, "step": 32, "stages": 2}), (100, 90, {"inner": 24}),
])
def test_terms_that_end_before_their_tensors_do(depth, terms, asked):
    """What lies behind them is none of the sum's: of an infinity there nothing is seen."""
    s, tensors = some_terms(depth, terms, **asked)
    first = asked.get("first", 0)
    a, b = numbers(64, depth, dtype="float16"), numbers(64, depth, dtype="float16")
    a[:, :first], a[:, first + terms:] = np.inf, np.inf
    right = a[:, first:first + terms].astype("float32") @ b[:, first:first + terms].astype("float32").T
    np.testing.assert_array_equal(result_of(s, tensors, True, a, b), right)
    tw.lower(s, tensors, target="cuda -arch=sm_90a")


def test_boxes_have_no_terms_of_others():
    s, tensors = some_terms(256, 100, groups=True, step=64, stages=3, by="tma")
    with pytest.raises(tw.ScheduleError, match="past the end of ax1 there must be zeros, and A has elements there"):
        tw.lower(s, tensors)
    assert '"tma.load"' in str(tw.lower(*some_terms(256, 128, groups=True, step=64, stages=3, by="tma")))


def test_groups_lie_beside_each_other():
    """Behind the channels of one group there are those of the next."""
    A, W = te.placeholder((32, 60), "float16", name="A"), te.placeholder((3, 8, 20), "float16", name="W")
    k = te.reduce_axis((0, 20), name="k")
    C = te.compute((3, 32, 8), lambda g, i, j: te.sum(A[i, g * 20 + k].astype("float32") * W[g, j, k].astype("float32"), axis=k), name="C")
    s = te.create_schedule(C)
    operands = s.cache_read(A, "shared", [C]), s.cache_read(W, "shared", [C])
    g, i, j = C.op.axis
    ko, k = s[C].split(k, factor=16)
    io, i = s[C].split(i, factor=16)
    s[C].reorder(g, io, ko, i, j, k)
    s[C].bind(g, te.thread_axis("blockIdx.x"))
    s[C].bind(io, te.thread_axis("threadIdx.y"))
    s[C].tensorize(i, "mma.m16n8k16.f16")
    for operand in operands:
        s[operand].compute_at(s[C], ko)
    a, w, c = numbers(32, 60, dtype="float16"), numbers(3, 8, 20, dtype="float16"), np.zeros((3, 32, 8), "float32")
    a[:, 20:40] = np.inf
    tw.build(s, [A, W, C], target="interp")(a, w, c)
    for g in (0, 2):
        np.testing.assert_array_equal(c[g], a[:, g * 20:g * 20 + 20].astype("float32") @ w[g].astype("float32").T)


def test_sums_for_an_epilogue():
    A, B, C = product(33, 23, 20, "bfloat16", "float32")
    D = te.compute((33, 23), lambda i, j: C[i, j] * 2 + 1, name="D")
    s = te.create_schedule(D)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    io, jo, i, j = s[D].tile(*D.op.axis, 32, 16)
    s[D].bind(io, te.thread_axis("blockIdx.x"))
    s[D].bind(i, te.thread_axis("threadIdx.x"))
    s[C].set_scope("shared")
    s[C].compute_at(s[D], jo)
    i, j = C.op.axis
    im, i = s[C].split(i, factor=16)
    jm, j = s[C].split(j, factor=8)
    ko, k = s[C].split(C.op.reduce_axis[0], factor=16)
    s[C].reorder(ko, im, jm, i, j, k)
    for operand in (AS, BS):
        s[operand].compute_at(s[C], ko)
    s[C].tensorize(i, "mma.m16n8k16.bf16")
    a, b = numbers(33, 20, dtype=ml_dtypes.bfloat16), numbers(23, 20, dtype=ml_dtypes.bfloat16)
    d = np.zeros((33, 23), "float32")
    tw.build(s, [A, B, D], target="interp")(a, b, d)
    np.testing.assert_array_equal(d, a.astype("float32") @ b.astype("float32").T * 2 + 1)


def test_rows_that_allow_it_are_copied_16_bytes_at_once():
    tensors = product(33, 42, 40, "bfloat16", "float32")
    text = str(tw.lower(in_warps(tensors, "mma.m16n8k16.bf16", 32, stages=3, swizzle=True), tensors, target="cuda -arch=sm_90a"))
    assert "later by cp.async" in text and "+ 4 : 4]" not in text and ": 8]" in text
    tensors = product(33, 42, 161, "bfloat16", "float32")
    text = str(tw.lower(in_warps(tensors, "mma.m16n8k16.bf16", 32, stages=3, swizzle=True), tensors, target="cuda -arch=sm_90a"))
    assert "cp.async" not in text and "A.shared.next" in text


def in_four_warps(tensors, stages, by, operands=None, step=64):
    """64 rows and 16 columns for each block."""
    A, B, C = tensors
    s = te.create_schedule(C)
    operands = operands or (s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C]))
    io, jo, i, j = s[C].tile(*C.op.axis, 64, 16)
    ko, k = s[C].split(C.op.reduce_axis[0], factor=step)
    km, k = s[C].split(k, factor=16)
    s[C].reorder(io, jo, ko, km, i, j, k)
    s[C].bind(io, te.thread_axis("blockIdx.y"))
    s[C].bind(jo, te.thread_axis("blockIdx.x"))
    for operand in operands:
        s[operand].set_scope("shared")
        s[operand].compute_at(s[C], ko)
        s[operand].swizzle()
    s[C].tensorize(i, "wgmma.m64n16k16.bf16")
    if stages > 1:
        s[C].pipeline(ko, stages, by)
    return s


@pytest.mark.parametrize("depth, stages, by", [(72, 2, "tma"), (72, 2, "cp.async"), (73, 2, "ldg"), (73, 1, "")])
def test_four_warps(depth, stages, by):
    tensors = product(66, 17, depth, "bfloat16", "float32")
    s = in_four_warps(tensors, stages, by)
    assert ('"tma.load"' in str(tw.lower(s, tensors, target="cuda -arch=sm_90a"))) == (by == "tma")
    a, b = numbers(66, depth, dtype=ml_dtypes.bfloat16), numbers(17, depth, dtype=ml_dtypes.bfloat16)
    np.testing.assert_array_equal(result_of(s, tensors, True, a, b), a.astype("float32") @ b.astype("float32").T)


def test_boxes_end_where_their_tensor_does():
    """Of a part of a tensor there are elements past the end, not zeros."""
    A, B = te.placeholder((64, 80), "bfloat16", name="A"), te.placeholder((16, 80), "bfloat16", name="B")
    P, Q = te.compute((64, 72), lambda i, j: A[i, j], name="P"), te.compute((16, 72), lambda i, j: B[i, j], name="Q")
    k = te.reduce_axis((0, 72), name="k")
    C = te.compute((64, 16), lambda i, j: te.sum(P[i, k].astype("float32") * Q[j, k].astype("float32"), axis=k), name="C")
    with pytest.raises(tw.ScheduleError, match="past the end of . there must be zeros, and A has elements there"):
        tw.lower(in_four_warps([P, Q, C], 2, "tma", (P, Q)), [A, B, C], target="cuda -arch=sm_90a")
    s = in_four_warps([P, Q, C], 2, "auto", (P, Q))
    a, b = numbers(64, 80, dtype=ml_dtypes.bfloat16), numbers(16, 80, dtype=ml_dtypes.bfloat16)
    c = np.zeros((64, 16), "float32")
    tw.build(s, [A, B, C], target="interp")(a, b, c)
    np.testing.assert_array_equal(c, a[:, :72].astype("float32") @ b[:, :72].astype("float32").T)


def test_any_number_of_rows():
    n = te.var("n")
    A, B = te.placeholder((n, 24), "float16", name="A"), te.placeholder((16, 24), "float16", name="B")
    k = te.reduce_axis((0, 24), name="k")
    C = te.compute((n, 16), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
    s = in_warps([A, B, C], "mma.m16n8k16.f16", 32, block=(32, 16), warp=(16, 8), stages=2)
    f = tw.build(s, [A, B, C], target="interp")
    for rows in (1, 33):
        a, b = numbers(rows, 24, dtype="float16"), numbers(16, 24, dtype="float16")
        c = np.zeros((rows, 16), "float32")
        f(a, b, c)
        np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32").T)


def test_operands_that_others_read_too_are_not_filled():
    A, B, C = product(33, 23, 20, "bfloat16", "float32")
    s = in_warps([A, B, C], "mma.m16n8k16.bf16", 16)
    assert "whole tiles" not in str(tw.lower(s, [A, B, C], target="cuda -arch=sm_90a"))
    s = te.create_schedule(C)
    AS = s.cache_read(A, "shared", [C])
    io, jo, i, j = s[C].tile(*C.op.axis, 16, 8)
    ko, k = s[C].split(C.op.reduce_axis[0], factor=16)
    s[C].reorder(io, jo, ko, i, j, k)
    s[C].bind(io, te.thread_axis("blockIdx.x"))
    s[AS].compute_at(s[C], ko)
    s[C].tensorize(i, "mma.m16n8k16.bf16")
    with pytest.raises(tw.ScheduleError, match="must find whole tiles") as refused:
        tw.lower(s, [A, B, C], target="cuda -arch=sm_90a")
    assert 'cache_read both operands for C alone into "shared"' in str(refused.value)


@needs_fake
def test_padding_of_a_convolution_by_the_driver():
    run("""
        from test_warp_products import numbers
        X, W = te.placeholder((2, 10, 10, 16), "float16", name="X"), te.placeholder((3, 3, 16, 24), "float16", name="W")
        C = tw.ops.conv2d(X, W, padding=1, layout="NHWC", out_dtype="float32")
        f = tw.build([X, W, C], target="cuda -arch=sm_90")
        assert "mma_m16n8k16_f16(" in f.source("cuda") and "cp_async_16(&conv_pad[" in f.source("cuda")
        x, w = numbers(2, 10, 10, 16, dtype="float16"), numbers(3, 3, 16, 24, dtype="float16")
        c = tw.device_array(np.zeros((2, 10, 10, 24), "float32"))
        f(tw.device_array(x), tw.device_array(w), c)
        padded = np.pad(x.astype("float32"), ((0, 0), (1, 1), (1, 1), (0, 0)))
        parts = (padded[:, i:i + 10, j:j + 10] @ w[i, j].astype("float32") for i in range(3) for j in range(3))
        assert (c.numpy() == sum(parts)).all()
    """)


@needs_fake
def test_by_the_driver():
    run("""
        import ml_dtypes
        from test_warp_products import in_warps, numbers, product
        tensors = product(65, 63, 71, "bfloat16", "float32")
        for automatic in (False, True):
            s = None if automatic else in_warps(tensors, "mma.m16n8k16.bf16", 32, stages=3, swizzle=True)
            f = tw.build(tensors if automatic else s, *([] if automatic else [tensors]), target="cuda -arch=sm_90", name="gemm")
            assert "mma_m16n8k16_bf16(" in f.source("cuda")
            a, b = numbers(65, 71, dtype=ml_dtypes.bfloat16), numbers(63, 71, dtype=ml_dtypes.bfloat16)
            c = tw.device_array(np.zeros((65, 63), "float32"))
            f(tw.device_array(a), tw.device_array(b), c)
            assert (c.numpy() == a.astype("float32") @ b.astype("float32").T).all()
    """)
