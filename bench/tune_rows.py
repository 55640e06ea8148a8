"""The rows of bench/tune.py: what is computed, on which arrays, and how oneDNN computes the same.

Layouts are equal on both sides: weights of a matmul row-major, unless they are parameters, which both pack outside the clock; data of
convolutions NHWC, their weights parameters.
"""
import dataclasses
import math
from typing import Callable

import numpy as np

import tensorwright as tw
from tensorwright import te
from bench import peers

EPSILON = 1e-5


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    kind: str  # "contraction" is counted in GFLOP/s; "bandwidth" in GB/s of the arguments, each moved once
    tensors: Callable[[], list]  # the arguments in order, the output last
    peers: Callable[[int, list], list]  # (threads, arrays) -> contestants, oneDNN first
    flops: float = 0
    memory: Callable[[int, list], list] | None = None  # a read or a copy of the same bytes
    threads: int = 0  # where others than the bench was asked for
    tvm: tuple = ()  # arguments of bench/peers/tvm_tune.py

    def work(self, arrays) -> float:
        """In units of 1e9 a call."""
        return (self.flops or sum(a.nbytes for a in arrays)) / 1e9

    @property
    def unit(self) -> str:
        return "GFLOP/s" if self.flops else "GB/s"


def arrays_of(tensors, seed=0) -> list[np.ndarray]:
    """Random inputs, and memory for what is computed."""
    rng = np.random.default_rng(seed)
    return [np.empty(t.shape, numpy_type(t.dtype)) if t.op.input_tensors else random(rng, t) for t in tensors]


def numpy_type(dtype):
    if dtype != "bfloat16":
        return np.dtype(dtype)
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def random(rng, tensor):
    if tensor.dtype == "uint8":
        return rng.integers(0, 256, tensor.shape).astype(np.uint8)
    if tensor.dtype == "int8":
        return rng.integers(-64, 64, tensor.shape).astype(np.int8)  # of more bits oneDNN's sums saturate where there is no VNNI
    return rng.standard_normal(tensor.shape, dtype=np.float32).astype(numpy_type(tensor.dtype))


def matmul(m, n, k, types=("float32", "float32", "float32"), param=False):
    a, b = te.placeholder((m, k), types[0], name="A"), te.placeholder((k, n), types[1], name="B", param=param)
    r = te.reduce_axis((0, k), name="k")
    wide = (lambda x: x) if types[0] == types[2] else (lambda x: x.astype(types[2]))
    return [a, b, te.compute((m, n), lambda i, j: te.sum(wide(a[i, r]) * wide(b[r, j]), axis=r), name="C")]


def dense_gelu(m, n, k):
    a, b, c = matmul(m, n, k)
    bias = te.placeholder((n,), name="bias")
    x = te.compute((m, n), lambda i, j: c[i, j] + bias[j], name="X")
    d = te.compute((m, n), lambda i, j: 0.5 * x[i, j] * (1.0 + te.erf(x[i, j] * math.sqrt(0.5))), name="D")
    return [a, b, bias, d]


def batch_matmul(batch, m, n, k):
    a, b = te.placeholder((batch, m, k), name="A"), te.placeholder((batch, k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    return [a, b, te.compute((batch, m, n), lambda g, i, j: te.sum(a[g, i, r] * b[g, r, j], axis=r), name="C")]


def padded(x, padding):
    return tw.ops.pad(x, (0, padding, padding, 0), name="P") if padding else x


def conv2d(channels, filters, size, kernel, stride, padding, types=("float32", "float32", "float32")):
    x = te.placeholder((1, size, size, channels), types[0], name="X")
    w = te.placeholder((kernel, kernel, channels, filters), types[1], name="W", param=True)
    p, result = padded(x, padding), (size + 2 * padding - kernel) // stride + 1
    wide = (lambda x: x) if types[0] == types[2] else (lambda x: x.astype(types[2]))
    kh, kw, c = (te.reduce_axis((0, extent), name=name) for extent, name in ((kernel, "kh"), (kernel, "kw"), (channels, "c")))
    y = te.compute((1, result, result, filters), lambda n, h, v, f: te.sum(
        wide(p[n, h * stride + kh, v * stride + kw, c]) * wide(w[kh, kw, c, f]), axis=[kh, kw, c]), name="Y")
    return [x, w, y]


def depthwise(channels, size, stride=1):
    x = te.placeholder((1, size, size, channels), name="X")
    w = te.placeholder((3, 3, channels), name="W", param=True)
    p, result = padded(x, 1), (size - 1) // stride + 1
    kh, kw = te.reduce_axis((0, 3), name="kh"), te.reduce_axis((0, 3), name="kw")
    y = te.compute((1, result, result, channels), lambda n, h, v, c: te.sum(
        p[n, h * stride + kh, v * stride + kw, c] * w[kh, kw, c], axis=[kh, kw]), name="Y")
    return [x, w, y]


def softmax(rows, columns):
    a = te.placeholder((rows, columns), name="A")
    j, k = te.reduce_axis((0, columns), name="j"), te.reduce_axis((0, columns), name="k")
    largest = te.compute((rows,), lambda i: te.max(a[i, j], axis=j), name="largest")
    e = te.compute((rows, columns), lambda i, j: te.exp(a[i, j] - largest[i]), name="E")
    total = te.compute((rows,), lambda i: te.sum(e[i, k], axis=k), name="total")
    return [a, te.compute((rows, columns), lambda i, j: e[i, j] / total[i], name="B")]


def stock_softmax(rows, columns):
    """As above, but times the inverse of the sum, which a row's elements share."""
    a = te.placeholder((rows, columns), name="A")
    return [a, tw.ops.softmax(a)]


def layernorm(rows, columns):
    a = te.placeholder((rows, columns), name="A")
    scale, shift = te.placeholder((columns,), name="scale"), te.placeholder((columns,), name="shift")
    j, k = te.reduce_axis((0, columns), name="j"), te.reduce_axis((0, columns), name="k")
    total = te.compute((rows,), lambda i: te.sum(a[i, j], axis=j), name="total")
    mean = te.compute((rows,), lambda i: total[i] * (1 / columns), name="mean")
    squares = te.compute((rows,), lambda i: te.sum((a[i, k] - mean[i]) * (a[i, k] - mean[i]), axis=k), name="squares")
    factor = te.compute((rows,), lambda i: te.rsqrt(squares[i] * (1 / columns) + EPSILON), name="factor")
    b = te.compute((rows, columns), lambda i, j: (a[i, j] - mean[i]) * factor[i] * scale[j] + shift[j], name="B")
    return [a, scale, shift, b]


def gemm_row(m, n, k, kind="contraction", name=None, tvm=()):
    flops = 2 * m * n * k if kind == "contraction" else 0
    return Row(name or f"{m}x{n}x{k}", kind, lambda: matmul(m, n, k), lambda threads, x: peers.vendor(threads, "Matmul", *x), flops,
               None if flops else lambda threads, x: peers.read(threads, x[1]), tvm=tvm)


U8S8, S8, BF16 = ("uint8", "int8", "int32"), ("int8", "int8", "int32"), ("bfloat16", "bfloat16", "float32")


def narrow_row(name, shape, types):
    return Row(f"{name} {'x'.join(map(str, shape))} param", "contraction", lambda: matmul(*shape, types, param=True),
               lambda threads, x: peers.vendor(threads, "NarrowMatmul", *x), 2 * math.prod(shape))


def conv_row(channels, filters, size, kernel, stride, padding, name, tvm=()):
    return Row(name, "contraction", lambda: conv2d(channels, filters, size, kernel, stride, padding),
               lambda threads, x: peers.vendor(threads, "Conv2d", *x, stride, padding),
               conv_flops(channels, filters, size, kernel, stride, padding), tvm=tvm)


def conv_flops(channels, filters, size, kernel, stride, padding):
    result = (size + 2 * padding - kernel) // stride + 1
    return 2 * result * result * filters * channels * kernel * kernel


def moving_row(name, tensors, call):
    """A row whose time is the movement of its first argument and its output."""
    return Row(name, "bandwidth", tensors, call, memory=lambda threads, x: peers.copy(threads, x[0], x[-1]))


ROWS = [
    gemm_row(1024, 1024, 1024, name="1024^3", tvm=("matmul", 1024, 1024, 1024)),
    gemm_row(257, 513, 1025, tvm=("matmul", 257, 513, 1025)),
    gemm_row(31, 33, 1000),
    gemm_row(100000, 64, 64),
    gemm_row(1, 4096, 4096, kind="bandwidth"),
    gemm_row(128, 768, 768),
    Row("128x3072x768 + bias + GELU", "contraction", lambda: dense_gelu(128, 3072, 768),
        lambda threads, x: peers.vendor(threads, "Matmul", x[0], x[1], x[3], x[2], "gelu"), 2 * 128 * 3072 * 768),
    Row("12x(128x128x64)", "contraction", lambda: batch_matmul(12, 128, 128, 64),
        lambda threads, x: peers.vendor(threads, "BatchMatmul", *x), 2 * 12 * 128 * 128 * 64),
    conv_row(3, 64, 224, 7, 2, 3, "conv 7x7/2 3->64 224^2"),
    conv_row(64, 64, 56, 3, 1, 1, "conv 3x3 64 56^2", tvm=("conv2d", 64, 64, 56, 3, 1)),
    conv_row(256, 256, 14, 3, 1, 1, "conv 3x3 256 14^2"),
    conv_row(64, 256, 56, 1, 1, 0, "conv 1x1 64->256 56^2"),
    moving_row("depthwise 3x3 144 56^2", lambda: depthwise(144, 56), lambda threads, x: peers.vendor(threads, "Conv2d", *x, 1, 1)),
    moving_row("softmax 1000x1023", lambda: softmax(1000, 1023), lambda threads, x: peers.vendor(threads, "Softmax", *x)),
    moving_row("layernorm 512x768", lambda: layernorm(512, 768),
               lambda threads, x: peers.vendor(threads, "LayerNorm", *x[:3], EPSILON, x[3])),
    narrow_row("u8s8s32", (1024, 1024, 1024), U8S8),
    narrow_row("bf16", (512, 4096, 4096), BF16),
]


# Rows more, against whoever is fastest of oneDNN, OpenBLAS and PyTorch: a cube of each end, a token of a large model, late and
# strided layers, rows that stream from memory.


def matmuls(threads, x):
    return [*peers.vendor(threads, "Matmul", *x), *peers.blas(threads, *x), *peers.eager(threads, "matmul", *x)]


def token_row(name, n, k, types):
    """What is read has an array of its own, as each packed weight is: what another has just read is in a cache."""
    return Row(f"{name} 1x{n}x{k} param", "bandwidth", lambda: matmul(1, n, k, types, param=True),
               lambda threads, x: peers.vendor(threads, "NarrowMatmul", *x) + peers.eager(threads, "matmul", *x),
               memory=lambda threads, x: peers.read(threads, x[1].copy()))


def layer_row(name, tensors, *where, flops):
    return Row(name, "contraction", tensors,
               lambda threads, x: peers.vendor(threads, "Conv2d", *x, *where) + peers.eager(threads, "conv2d", *x, *where), flops)


MORE_ROWS = [
    Row("4096^3", "contraction", lambda: matmul(4096, 4096, 4096), matmuls, 2 * 4096**3),
    Row("64^3, one thread", "contraction", lambda: matmul(64, 64, 64), matmuls, 2 * 64**3, threads=1),
    narrow_row("bf16", (1024, 1024, 1024), BF16),
    token_row("bf16", 14336, 4096, BF16),
    token_row("s8", 4096, 4096, S8),
    layer_row("conv 3x3 512 7^2", lambda: conv2d(512, 512, 7, 3, 1, 1), 1, 1, flops=conv_flops(512, 512, 7, 3, 1, 1)),
    layer_row("conv 1x1/2 256->512 56^2", lambda: conv2d(256, 512, 56, 1, 2, 0), 2, 0, flops=conv_flops(256, 512, 56, 1, 2, 0)),
    Row("u8s8 conv 3x3 128 28^2", "contraction", lambda: conv2d(128, 128, 28, 3, 1, 1, U8S8),
        lambda threads, x: peers.vendor(threads, "Conv2d", *x, 1, 1), conv_flops(128, 128, 28, 3, 1, 1)),
    layer_row("depthwise 3x3/2 96 112^2", lambda: depthwise(96, 112, 2), 2, 1, flops=2 * 56 * 56 * 96 * 9),
    *(moving_row(name, tensors, lambda threads, x: peers.vendor(threads, "Softmax", *x) + peers.eager(threads, "softmax", *x))
      for name, tensors in [("softmax 4096x1024", lambda: stock_softmax(4096, 1024)),
                            ("softmax 4096x1024, divided", lambda: softmax(4096, 1024))]),
    moving_row("layernorm 4096x4096", lambda: layernorm(4096, 4096),
               lambda threads, x: peers.vendor(threads, "LayerNorm", *x[:3], EPSILON, x[3]) +
               peers.eager(threads, "layer_norm", *x[:3], EPSILON, x[3])),
]
