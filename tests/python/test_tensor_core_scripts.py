"""opt_conv_tensorcore of TVM's scripts with our names, as docs/cuda.md maps them: fragments are no stages, the product of a warp derives them."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from test_cuda import needs_fake, run


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


def test_fragments_are_refused_with_the_way_out():
    A, W, padded, C = convolution(16, 1, 16, 16)
    s = te.create_schedule(C)
    with pytest.raises(tw.ScheduleError, match="keeps its fragments in registers by itself") as refused:
        s.cache_read(padded, "wmma.matrix_a", [C])
    assert "leave this line out" in str(refused.value)
    with pytest.raises(tw.ScheduleError, match="leave this line out"):
        s.cache_write(C, "wmma.accumulator")
