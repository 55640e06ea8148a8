"""opt_conv_tensorcore of TVM's scripts with our names, line by line, and as docs/cuda.md says it shorter: fragments are no stages, the product of
a warp derives them."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from fake_device import needs_fake, run


def convolution(batch, size, channels, filters, kernel=3, pad=1, tile=16):
    """[batch, height, width, channels], in tiles of 16 images by 16 channels."""
    images, inputs, outputs = batch // tile, channels // tile, filters // tile
    A = te.placeholder((images, size, size, inputs, tile, tile), "float16", name="A")
    W = te.placeholder((kernel, kernel, inputs, outputs, tile, tile), "float16", name="W")

    def inside(h, w):
        return te.all(h >= pad, h - pad < size, w >= pad, w - pad < size)

    padded = te.compute(
        (images, size + 2 * pad, size + 2 * pad, inputs, tile, tile),
        lambda n, h, w, i, nn, ii: te.if_then_else(inside(h, w), A[n, h - pad, w - pad, i, nn, ii], te.const(0, "float16")), name="padded")
    ic, ii = te.reduce_axis((0, inputs), name="ic"), te.reduce_axis((0, tile), name="ii")
    kh, kw = te.reduce_axis((0, kernel), name="kh"), te.reduce_axis((0, kernel), name="kw")
    C = te.compute(
        (images, size, size, outputs, tile, tile),
        lambda n, h, w, o, nn, oo: te.sum(padded[n, h + kh, w + kw, ic, nn, ii].astype("float32") * W[kh, kw, ic, o, ii, oo].astype("float32"), axis=[ic, kh, kw, ii]),
        name="C")
    return A, W, padded, C


def spread(s, stage, **axes):
    for index, axis in axes.items():
        s[stage].bind(axis, te.thread_axis(index.replace("_", ".")))


def schedule_convolution(A, W, padded, C, row_warps=4, column_warps=2, row_tiles=2, column_tiles=4, chunk=2):
    s = te.create_schedule(C)
    s[padded].compute_inline()
    AS, WS = s.cache_read(padded, "shared", [C]), s.cache_read(W, "shared", [C])

    n, h, w, o, nn, oo = C.op.axis
    ic, kh, kw, ii = C.op.reduce_axis
    block_k = s[C].fuse(h, w)
    n, n_tile = s[C].split(n, factor=row_tiles)
    block_i, n = s[C].split(n, factor=row_warps)
    o, o_tile = s[C].split(o, factor=column_tiles)
    block_j, o = s[C].split(o, factor=column_warps)
    half, oo = s[C].split(oo, factor=8)
    ko, ki = s[C].split(ic, factor=chunk)
    s[C].reorder(block_k, block_i, block_j, n, o, ko, kh, ki, kw, n_tile, o_tile, half, nn, oo, ii)
    spread(s, C, blockIdx_z=block_k, blockIdx_x=block_i, blockIdx_y=block_j, threadIdx_y=n, threadIdx_z=o)
    s[AS].compute_at(s[C], kh)
    s[WS].compute_at(s[C], kh)

    n, h, w, i, row, column = AS.op.axis
    ty, n = s[AS].split(n, nparts=row_warps)
    tz, n = s[AS].split(n, nparts=column_warps)
    _, tx = s[AS].split(s[AS].fuse(row, column), factor=32)
    spread(s, AS, threadIdx_y=ty, threadIdx_z=tz, threadIdx_x=tx)

    _, _, _, o, row, column = WS.op.axis
    ty, o = s[WS].split(o, nparts=row_warps)
    tz, o = s[WS].split(o, nparts=column_warps)
    tx, together = s[WS].split(s[WS].fuse(row, column), nparts=32)
    spread(s, WS, threadIdx_y=ty, threadIdx_z=tz, threadIdx_x=tx)
    s[WS].vectorize(together)

    s[C].tensorize(nn, "mma.m16n8k16.f16")
    return s


def schedule_line_by_line(Apad, W, Conv, block_row_warps=4, block_col_warps=2, warp_row_tiles=2, warp_col_tiles=4, chunk=2, warp_size=32):
    """As the script has it. Intrinsics go by name; the reset of its intrin_wmma_gemm is that of any reduction."""
    s = te.create_schedule(Conv.op)
    s[Apad].compute_inline()
    ic, kh, kw, ii = Conv.op.reduce_axis

    AS = s.cache_read(Apad, "shared", [Conv])
    WS = s.cache_read(W, "shared", [Conv])
    AF = s.cache_read(AS, "wmma.matrix_a", [Conv])
    WF = s.cache_read(WS, "wmma.matrix_b", [Conv])
    ConvF = s.cache_write(Conv, "wmma.accumulator")

    block_x, block_y, block_z = (te.thread_axis(f"blockIdx.{axis}") for axis in "xyz")
    thread_x, thread_y, thread_z = (te.thread_axis(f"threadIdx.{axis}") for axis in "xyz")

    nc, hc, wc, oc, nnc, ooc = Conv.op.axis
    block_k = s[Conv].fuse(hc, wc)
    s[Conv].bind(block_k, block_z)
    nc, nci = s[Conv].split(nc, factor=warp_row_tiles)
    block_i, nc = s[Conv].split(nc, factor=block_row_warps)
    oc, oci = s[Conv].split(oc, factor=warp_col_tiles)
    block_j, oc = s[Conv].split(oc, factor=block_col_warps)
    s[Conv].reorder(block_k, block_i, block_j, nc, oc, nci, oci, nnc, ooc)
    s[Conv].bind(block_i, block_x)
    s[Conv].bind(block_j, block_y)
    s[Conv].bind(nc, thread_y)
    s[Conv].bind(oc, thread_z)

    s[ConvF].compute_at(s[Conv], oc)
    n, h, w, o, nnf, oof = ConvF.op.axis
    ko, ki = s[ConvF].split(ic, factor=chunk)
    s[ConvF].reorder(ko, kh, ki, kw, n, o, nnf, oof, ii)

    s[AF].compute_at(s[ConvF], kw)
    s[WF].compute_at(s[ConvF], kw)

    s[AS].compute_at(s[ConvF], kh)
    n, h, w, i, nn, ii = AS.op.axis
    tx, xo = s[AS].split(n, nparts=block_row_warps)
    ty, yo = s[AS].split(xo, nparts=block_col_warps)
    t = s[AS].fuse(nn, ii)
    to, ti = s[AS].split(t, factor=warp_size)
    s[AS].bind(tx, thread_y)
    s[AS].bind(ty, thread_z)
    s[AS].bind(ti, thread_x)

    s[WS].compute_at(s[ConvF], kh)
    kh, kw, ic, o, ii, oo = WS.op.axis
    tx, xo = s[WS].split(o, nparts=block_row_warps)
    ty, yo = s[WS].split(xo, nparts=block_col_warps)
    t = s[WS].fuse(ii, oo)
    to, ti = s[WS].split(t, nparts=warp_size)
    s[WS].bind(tx, thread_y)
    s[WS].bind(ty, thread_z)
    s[WS].bind(to, thread_x)
    s[WS].vectorize(ti)

    s[AF].tensorize(AF.op.axis[-2], "wmma.load_matrix_a")
    s[WF].tensorize(WF.op.axis[-2], "wmma.load_matrix_b")
    s[Conv].tensorize(nnc, "wmma.store_matrix")
    s[ConvF].tensorize(nnf, "wmma.gemm")
    return s


def numbers(tensor, seed):
    return np.random.default_rng(seed).integers(-4, 5, tensor.shape).astype(tensor.dtype)


def convolved(a, w, pad=1):
    size = a.shape[1]
    a = np.pad(a.astype("float32"), ((0, 0), (pad, pad), (pad, pad), (0, 0), (0, 0), (0, 0)))
    return sum(
        np.einsum("nhwiab,iobc->nhwoac", a[:, y:y + size, x:x + size], w[y, x].astype("float32"))
        for y in range(w.shape[0]) for x in range(w.shape[1]))


# As the script has it each warp has 2 by 4 tiles; and fewer, which are soon interpreted.
@pytest.mark.parametrize(("sizes", "parts"), [((64, 2, 32, 64), (2, 2, 2, 2)), ((128, 1, 32, 128), (4, 2, 2, 4))])
def test_convolution(sizes, parts):
    A, W, padded, C = convolution(*sizes)
    s = schedule_convolution(A, W, padded, C, *parts)
    a, w, c = numbers(A, 0), numbers(W, 1), np.full(C.shape, 7, "float32")
    tw.build(s, [A, W, C], target="interp")(a, w, c)
    assert (c == convolved(a, w)).all()


@needs_fake
def test_convolution_by_the_driver():
    run("""
        from test_tensor_core_scripts import convolution, convolved, numbers, schedule_convolution
        A, W, padded, C = convolution(64, 2, 32, 64)
        f = tw.build(schedule_convolution(A, W, padded, C, 2, 2, 2, 2), [A, W, C], target="cuda -arch=sm_80", name="conv")
        assert "mma_m16n8k16_f16(" in f.source("cuda") and "ldmatrix_x4_trans(" in f.source("cuda")
        a, w = numbers(A, 0), numbers(W, 1)
        c = tw.device_array(np.zeros(C.shape, "float32"))
        f(tw.device_array(a), tw.device_array(w), c)
        assert (c.numpy() == convolved(a, w)).all()
    """)


def lowered(s, *tensors):
    return str(tw.lower(s, tensors, target="cuda -arch=sm_80"))


@pytest.mark.parametrize("parts", [(2, 2, 2, 2), (4, 2, 2, 4)])
def test_the_script_line_by_line_is_that_schedule(parts):
    """What test_convolution runs in the interpreter, the next test by a driver, and tests/cuda_host by the text of such products."""
    A, W, padded, C = convolution(64 if parts[0] == 2 else 128, 2, 32, 16 * parts[1] * parts[3])
    s = schedule_line_by_line(padded, W, C, *parts)
    text = lowered(s, A, W, C)
    assert text == lowered(schedule_convolution(A, W, padded, C, *parts), A, W, C) and "mma.m16n8k16.f16" in text and "ldmatrix" in text
    assert lowered(tw.Schedule.from_steps(C, s.steps), A, W, C) == text and "wmma" not in s.to_python()


@needs_fake
def test_the_script_by_the_driver():
    run("""
        from test_tensor_core_scripts import convolution, convolved, numbers, schedule_line_by_line
        A, W, padded, C = convolution(64, 2, 32, 64)
        s = schedule_line_by_line(padded, W, C, 2, 2, 2, 2)
        a, w, c = numbers(A, 0), numbers(W, 1), np.zeros(C.shape, "float32")
        tw.build(s, [A, W, C], target="interp")(a, w, c)
        assert (c == convolved(a, w)).all()
        f = tw.build(s, [A, W, C], target="cuda -arch=sm_80", name="conv")
        c = tw.device_array(np.zeros(C.shape, "float32"))
        f(tw.device_array(a), tw.device_array(w), c)
        assert (c.numpy() == convolved(a, w)).all()
    """)


def gemm(dtype="float16", out="float32"):
    A, B = te.placeholder((32, 32), dtype, name="A"), te.placeholder((32, 32), dtype, name="B")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((32, 32), lambda i, j: te.sum(A[i, k].astype(out) * B[k, j].astype(out), axis=k), name="C")
    s = te.create_schedule(C)
    return s, A, B, C, k


def test_a_product_without_shared_memory():
    s, A, B, C, k = gemm("bfloat16")
    CF = s.cache_write(C, "wmma.accumulator")
    AF, BF = s.cache_read(A, "wmma.matrix_a", [CF]), s.cache_read(B, "wmma.matrix_b", CF)
    io, jo, ii, ji = s[C].tile(*C.op.axis, 16, 16)
    s[C].bind(io, te.thread_axis("blockIdx.x"))
    s[C].bind(jo, te.thread_axis("threadIdx.y"))
    s[CF].compute_at(s[C], jo)
    i, j = CF.op.axis
    ko, ki = s[CF].split(CF.op.reduce_axis[0], factor=16)
    s[CF].reorder(ko, i, j, ki)
    s[CF].unroll(ko)
    for operand, intrin in ((AF, "wmma.load_matrix_a"), (BF, "wmma.load_matrix_b")):
        s[operand].compute_at(s[CF], ko)
        s[operand].tensorize(operand.op.axis[-2], intrin)
    s[C].tensorize(ii, "wmma.store_matrix")
    s[CF].tensorize(i, "wmma.gemm")
    import ml_dtypes
    a, b = (np.random.default_rng(seed).integers(-4, 5, (32, 32)).astype(ml_dtypes.bfloat16) for seed in (0, 1))
    c = np.zeros((32, 32), "float32")
    tw.build(s, [A, B, C], target="interp")(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))


def test_results_by_way_of_shared_memory():
    """As topi's products have it: the tile that the sums are stored to is copied by all threads."""
    A, B, k = te.placeholder((64, 64), "float16", name="A"), te.placeholder((64, 64), "float16", name="B"), te.reduce_axis((0, 64), name="k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C")
    s = te.create_schedule(C)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    AF, BF = s.cache_read(AS, "wmma.matrix_a", [C]), s.cache_read(BS, "wmma.matrix_b", [C])
    CF = s.cache_write(C, "wmma.accumulator")
    with pytest.raises(tw.ScheduleError, match="readers must be C, which stores its sums, not A"):
        s.cache_read(CF, "shared", [A])
    CS = s.cache_read(CF, "shared", [C])
    bi, bj, i, j = s[C].tile(*C.op.axis, 32, 32)
    rest, lanes = s[C].split(s[C].fuse(i, j), factor=4)
    rest, tx = s[C].split(rest, factor=32)
    rest, ty = s[C].split(rest, factor=2)
    _, tz = s[C].split(rest, factor=2)
    for axis, index in ((bi, "blockIdx.y"), (bj, "blockIdx.x"), (tx, "threadIdx.x"), (ty, "threadIdx.y"), (tz, "threadIdx.z")):
        s[C].bind(axis, te.thread_axis(index))
    s[C].vectorize(lanes)
    s[CS].compute_at(s[C], bj)
    s[CS].storage_align(CS.op.axis[0], 32, 8)
    i, ii = s[CS].split(CS.op.axis[0], factor=16)
    j, ji = s[CS].split(CS.op.axis[1], factor=16)
    s[CS].reorder(i, j, ii, ji)
    s[CS].bind(i, te.thread_axis("threadIdx.y"))
    s[CS].bind(j, te.thread_axis("threadIdx.z"))
    s[CF].compute_at(s[CS], j)
    row, column = CF.op.axis
    ko, ki = s[CF].split(CF.op.reduce_axis[0], factor=16)
    ko, km = s[CF].split(ko, factor=2)
    s[CF].reorder(ko, km, row, column, ki)
    for stage, loop in ((AS, ko), (BS, ko), (AF, km), (BF, km)):
        s[stage].compute_at(s[CF], loop)
    s[AF].tensorize(AF.op.axis[-2], "wmma.load_matrix_a")
    s[BF].tensorize(BF.op.axis[-2], "wmma.load_matrix_b")
    s[CF].tensorize(row, "wmma.gemm")
    s[CS].tensorize(ii, "wmma.store_matrix")
    a, b = (np.random.default_rng(seed).integers(-4, 5, (64, 64)).astype("float16") for seed in (0, 1))
    c = np.zeros((64, 64), "float32")
    tw.build(s, [A, B, C], target="interp")(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))
    assert "mma.m16n8k16.f16" in tw.build(s, [A, B, C], target="cuda -arch=sm_80").source("cuda").replace("_", ".")


def test_bad_lines_about_fragments():
    s, A, B, C, k = gemm()
    D = te.compute((32, 32), lambda i, j: A[i, j] + A[j, i], name="D")
    plain = te.create_schedule(D)
    AF, CF = s.cache_read(A, "wmma.matrix_a", [C]), s.cache_write(C, "wmma.accumulator")
    io, ii = s[C].split(C.op.axis[0], factor=16)
    ints, _, _, Ci, _ = gemm("int8", "int32")
    CI = ints.cache_write(Ci, "wmma.accumulator")
    refused = {
        "what wmma.matrix_a is part of must be a sum of products, and D is none": lambda: plain.cache_read(A, "wmma.matrix_a", [D]),
        "what wmma.accumulator is part of must be a sum of products, and D is none": lambda: plain.cache_write(D, "wmma.accumulator"),
        "wmma.store_matrix must be of a stage whose sums are in wmma.accumulator": lambda: plain[D].tensorize(D.op.axis[0], "wmma.store_matrix"),
        "readers must be stages that read C; C doesn't": lambda: s.cache_read(C, "wmma.matrix_b", [C]),
        "scope must be local, warp, shared or global, not wmma.matrix_c": lambda: s.cache_read(A, "wmma.matrix_c", [C]),
        "keeps its fragments in registers by itself": lambda: s[C].set_scope("wmma.accumulator"),
        "the sums of C must be in wmma.accumulator once": lambda: s.cache_write(C, "wmma.accumulator"),
        "A.wmma.matrix_a must be left as it is": lambda: s[AF].split(AF.op.axis[0], factor=2),
        "intrin of A.wmma.matrix_a must be wmma.load_matrix_a, not wmma.gemm": lambda: s[AF].tensorize(AF.op.axis[0], "wmma.gemm"),
        "compute_at comes first": lambda: s[CF].split(CF.op.axis[0], factor=2),
        "the sums of C must be computed inside of a loop of it, not of A": lambda: s[CF].compute_at(s[A], 0),
        "intrin of C must be wmma.gemm, not fma": lambda: s[CF].tensorize(k, "fma"),
        "wmma.gemm must be of operands of float16 or bfloat16, and C is not": lambda: ints[CI].tensorize(Ci.op.axis[0], "wmma.gemm"),
        "wmma.gemm must stand for the innermost loops, 16 rows, 16 columns and 16 terms, and those of C are": lambda: s[CF].tensorize(k, "wmma.gemm"),
    }
    for rule, line in refused.items():
        with pytest.raises(tw.ScheduleError) as e:
            line()
        assert rule in str(e.value) and "test_tensor_core_scripts.py" in str(e.value), e.value
    with pytest.raises(tw.ScheduleError, match="scope must be a loop over the dimensions of C, not k"):
        s[CF].compute_at(s[C], k)
    parts, _, _, P, _ = gemm()
    PF = parts.cache_write(P, "wmma.accumulator")
    block, _, inner, _ = parts[P].tile(*P.op.axis, 16, 16)
    parts[P].split(inner, factor=4)
    with pytest.raises(tw.ScheduleError, match="inside of i.o a dimension of C must be one loop, and i.i.i is not the only one of i"):
        parts[PF].compute_at(parts[P], block)
    steps = len(s.steps)
    s[CF].compute_at(s[C], io)
    i, j = CF.op.axis
    assert len(s.steps) == steps and (i.name, repr(AF)) == ("i", "Fragment(A.wmma.matrix_a)")
    with pytest.raises(tw.ScheduleError, match="wmma.gemm must stand for the innermost loops"):
        s[CF].tensorize(i, "wmma.gemm")
