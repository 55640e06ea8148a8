"""The rows of bench/patterns.py: programs as people write them in te, without a schedule, beside what they would write in PyTorch."""
import dataclasses
from typing import Callable

from tensorwright import te


@dataclasses.dataclass(frozen=True)
class Pattern:
    name: str
    tensors: Callable[[], list]  # the arguments in order, the output last
    torch: Callable  # the same of PyTorch's tensors
    ranges: dict  # of inputs that are not between -1 and 1 (int8: -128 and 127), by name


ROWS: list[Pattern] = []


def pattern(torch, name=None, **ranges):
    """Makes the decorated function, which returns the arguments of a kernel, a row beside `torch`."""
    def add(tensors):
        ROWS.append(Pattern(name or tensors.__name__.replace("_", " "), tensors, torch, ranges))
        return tensors
    return add


def functional():
    import torch

    return torch, torch.nn.functional


def tensor(*shape, dtype="float32", name="A"):
    return te.placeholder(shape, dtype, name=name)


def summed(n, name="k"):
    return te.reduce_axis((0, n), name=name)


def dense(x, w):
    """x @ w of what may be expressions: functions of two subscripts."""
    k = summed(w.shape[0])
    return te.compute((x.shape[0], w.shape[1]), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), name="C")


def zero_padded(x, before, after):
    """x of (n, h, w, c) with zeros around its rows and columns."""
    n, h, w, c = x.shape
    return te.compute((n, h + before + after, w + before + after, c), lambda b, i, j, f: te.if_then_else(
        te.all(i >= before, i < h + before, j >= before, j < w + before), x[b, i - before, j - before, f], 0.0), name="P")


# Arithmetic before a contraction.

@pattern(lambda x, s, w: (x * s) @ w)
def scaled_matmul():
    x, s, w = tensor(784, 96), tensor(96, name="s"), tensor(96, 160, name="W")
    return [x, s, w, dense(te.compute(x.shape, lambda i, k: x[i, k] * s[k], name="scaled"), w)]


@pattern(lambda x, w: functional()[1].relu(x) @ w)
def relu_matmul():
    x, w = tensor(256, 512), tensor(512, 384, name="W")
    return [x, w, dense(te.compute(x.shape, lambda i, k: te.max(x[i, k], 0.0), name="relu"), w)]


@pattern(lambda x, mean, w: (x - mean) @ w)
def centred_matmul():
    x, mean, w, k = tensor(300, 257), tensor(257, name="mean"), tensor(257, 129, name="W"), summed(257)
    return [x, mean, w, te.compute((300, 129), lambda i, j: te.sum((x[i, k] - mean[k]) * w[k, j], axis=k), name="C")]


@pattern(lambda x, g, w: (x * g.sigmoid()[:, None, None, :]) @ w)
def squeeze_and_excite_conv_1x1():
    x, g, w, c = tensor(1, 28, 28, 96), tensor(1, 96, name="g"), tensor(96, 160, name="W"), summed(96, "c")
    gate = te.compute(g.shape, lambda n, c: te.sigmoid(g[n, c]), name="gate")
    excited = te.compute(x.shape, lambda n, i, j, c: x[n, i, j, c] * gate[n, c], name="excited")
    return [x, g, w, te.compute((1, 28, 28, 160), lambda n, i, j, f: te.sum(excited[n, i, j, c] * w[c, f], axis=c), name="Y")]


@pattern(lambda x, q, scale: x @ (q.float() * scale))
def dequantized_matmul():
    x, q, scale = tensor(128, 768), tensor(768, 512, dtype="int8", name="Q"), tensor(512, name="scale")
    return [x, q, scale, dense(x, te.compute(q.shape, lambda k, j: q[k, j].astype("float32") * scale[j], name="W"))]


@pattern(lambda x, y, w: functional()[0].cat([x, y], 1) @ w)
def concatenated_matmul():
    x, y, w = tensor(256, 200, name="X"), tensor(256, 312, name="Y"), tensor(512, 256, name="W")
    both = te.compute((256, 512), lambda i, k: te.if_then_else(k < 200, x[i, k], y[i, k - 200]), name="both")
    return [x, y, w, dense(both, w)]


def convolution(x, w):
    torch, F = functional()
    return F.relu(F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1)).permute(0, 2, 3, 1)


@pattern(convolution, "padded conv 3x3 + ReLU")
def padded_convolution():
    x, w = tensor(1, 28, 28, 64), tensor(3, 3, 64, 64, name="W")
    p, r, s, c = zero_padded(x, 1, 1), summed(3, "r"), summed(3, "s"), summed(64, "c")
    y = te.compute((1, 28, 28, 64), lambda n, i, j, f: te.sum(p[n, i + r, j + s, c] * w[r, s, c, f], axis=[r, s, c]), name="Y")
    return [x, w, te.compute(y.shape, lambda n, i, j, f: te.max(y[n, i, j, f], 0.0), name="Z")]


# Sums of products.

@pattern(lambda a: a.T @ a)
def gram_matrix():
    a, k = tensor(512, 250), summed(512)
    return [a, te.compute((250, 250), lambda i, j: te.sum(a[k, i] * a[k, j], axis=k), name="G")]


@pattern(lambda a, b: a @ b)
def batched_matmul():
    a, b, k = tensor(16, 64, 65), tensor(16, 65, 66, name="B"), summed(65)
    return [a, b, te.compute((16, 64, 66), lambda n, i, j: te.sum(a[n, i, k] * b[n, k, j], axis=k), name="C")]


@pattern(lambda a, b: functional()[0].einsum("ijk,kl->ijl", a, b))
def einsum_ijk_kl():
    a, b, k = tensor(32, 48, 64), tensor(64, 96, name="B"), summed(64)
    return [a, b, te.compute((32, 48, 96), lambda i, j, m: te.sum(a[i, j, k] * b[k, m], axis=k), name="C")]


@pattern(lambda a, b: functional()[0].einsum("bqhd,bkhd->bhqk", a, b))
def einsum_bqhd_bkhd():
    a, b, d = tensor(2, 128, 8, 64), tensor(2, 128, 8, 64, name="B"), summed(64, "d")
    return [a, b, te.compute((2, 8, 128, 128), lambda n, h, q, k: te.sum(a[n, q, h, d] * b[n, k, h, d], axis=d), name="C")]


@pattern(lambda x, w, y: functional()[0].einsum("bi,ij,bj->b", x, w, y))
def bilinear_form():
    x, w, y, i, j = tensor(256, 128, name="X"), tensor(128, 128, name="W"), tensor(256, 128, name="Y"), summed(128, "i"), summed(128, "j")
    return [x, w, y, te.compute((256,), lambda b: te.sum(x[b, i] * w[i, j] * y[b, j], axis=[i, j]), name="Z")]


@pattern(lambda a, b: functional()[0].outer(a, b))
def outer_product():
    a, b = tensor(1000), tensor(1001, name="B")
    return [a, b, te.compute((1000, 1001), lambda i, j: a[i] * b[j], name="C")]


@pattern(lambda a, x: a @ x)
def matrix_times_vector():
    a, x, k = tensor(1500, 2000), tensor(2000, name="X"), summed(2000)
    return [a, x, te.compute((1500,), lambda i: te.sum(a[i, k] * x[k], axis=k), name="Y")]


@pattern(lambda x, a: x @ a)
def vector_times_matrix():
    x, a, k = tensor(1500, name="X"), tensor(1500, 2000), summed(1500)
    return [x, a, te.compute((2000,), lambda j: te.sum(x[k] * a[k, j], axis=k), name="Y")]


# Distances.

@pattern(lambda a, b: functional()[0].cdist(a, b) ** 2)
def squared_distances():
    a, b, k = tensor(256, 64), tensor(300, 64, name="B"), summed(64)
    return [a, b, te.compute((256, 300), lambda i, j: te.sum((a[i, k] - b[j, k]) * (a[i, k] - b[j, k]), axis=k), name="D")]


@pattern(lambda a, b: functional()[0].cdist(a, b, p=1))
def manhattan_distances():
    a, b, k = tensor(256, 64), tensor(300, 64, name="B"), summed(64)
    return [a, b, te.compute((256, 300), lambda i, j: te.sum(te.abs(a[i, k] - b[j, k]), axis=k), name="D")]


@pattern(lambda a, b: functional()[1].normalize(a) @ functional()[1].normalize(b).T)
def cosine_similarities():
    def unit(x, name):
        k = summed(x.shape[1])
        squares = te.compute((x.shape[0],), lambda i: te.sum(x[i, k] * x[i, k], axis=k), name=f"{name}_squares")
        return te.compute(x.shape, lambda i, k: x[i, k] / te.sqrt(squares[i]), name=f"{name}_unit")

    a, b, k = tensor(256, 128), tensor(300, 128, name="B"), summed(128)
    u, v = unit(a, "a"), unit(b, "b")
    return [a, b, te.compute((256, 300), lambda i, j: te.sum(u[i, k] * v[j, k], axis=k), name="C")]


# Stencils.

@pattern(lambda a: a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1])
def laplacian():
    a = tensor(1000, 1001)
    return [a, te.compute((998, 999), lambda i, j: a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2] - 4.0 * a[i + 1, j + 1],
                          name="L")]


@pattern(lambda a: functional()[1].avg_pool2d(a[None, None], 3, 1)[0, 0], "box blur 3x3")
def box_blur():
    a = tensor(1000, 1001)
    across = te.compute((1000, 999), lambda i, j: a[i, j] + a[i, j + 1] + a[i, j + 2], name="across")
    return [a, te.compute((998, 999), lambda i, j: (across[i, j] + across[i + 1, j] + across[i + 2, j]) * (1 / 9), name="B")]


@pattern(lambda a, w: functional()[1].conv1d(a[None, None], w[None, None])[0, 0], "FIR of 15 taps")
def fir():
    a, w, k = tensor(100_014), tensor(15, name="W"), summed(15)
    return [a, w, te.compute((100_000,), lambda i: te.sum(a[i + k] * w[k], axis=k), name="Y")]


def sobel_of(a):
    column, row = a[:-2] + 2 * a[1:-1] + a[2:], a[:, :-2] + 2 * a[:, 1:-1] + a[:, 2:]
    return ((column[:, 2:] - column[:, :-2]) ** 2 + (row[2:] - row[:-2]) ** 2).sqrt()


@pattern(sobel_of, "Sobel")
def sobel():
    a = tensor(1000, 1001)
    column = te.compute((998, 1001), lambda i, j: a[i, j] + 2.0 * a[i + 1, j] + a[i + 2, j], name="column")
    row = te.compute((1000, 999), lambda i, j: a[i, j] + 2.0 * a[i, j + 1] + a[i, j + 2], name="row")
    dx = te.compute((998, 999), lambda i, j: column[i, j + 2] - column[i, j], name="dx")
    dy = te.compute((998, 999), lambda i, j: row[i + 2, j] - row[i, j], name="dy")
    return [a, te.compute((998, 999), lambda i, j: te.sqrt(dx[i, j] * dx[i, j] + dy[i, j] * dy[i, j]), name="S")]


# Attention.

def softmax_of(x, name="softmax"):
    """Over the last axis."""
    *outer, n = x.shape
    j, k = summed(n, "j"), summed(n)
    largest = te.compute(outer, lambda *at: te.max(x[(*at, j)], axis=j), name=f"{name}_max")
    e = te.compute(x.shape, lambda *at: te.exp(x[at] - largest[at[:-1]]), name=f"{name}_exp")
    total = te.compute(outer, lambda *at: te.sum(e[(*at, k)], axis=k), name=f"{name}_sum")
    return te.compute(x.shape, lambda *at: e[at] / total[at[:-1]], name=name)


def attention_of(causal):
    heads, n, d = 8, 128, 64
    q, k, v = (tensor(heads, n, d, name=name) for name in "QKV")
    r, t = summed(d, "r"), summed(n, "t")
    scores = te.compute((heads, n, n), lambda h, i, j: te.sum(q[h, i, r] * k[h, j, r], axis=r), name="scores")
    scaled = te.compute(scores.shape, lambda h, i, j: te.if_then_else(j <= i, scores[h, i, j] * d ** -0.5, -1e30) if causal
                        else scores[h, i, j] * d ** -0.5, name="scaled")
    p = softmax_of(scaled)
    return [q, k, v, te.compute((heads, n, d), lambda h, i, c: te.sum(p[h, i, t] * v[h, t, c], axis=t), name="O")]


@pattern(lambda q, k, v: functional()[1].scaled_dot_product_attention(q[None], k[None], v[None])[0])
def attention():
    return attention_of(causal=False)


@pattern(lambda q, k, v: functional()[1].scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0])
def causal_attention():
    return attention_of(causal=True)


# Norms.

@pattern(lambda x: x.softmax(-1))
def softmax():
    x = tensor(1000, 1023, name="X")
    return [x, softmax_of(x)]


@pattern(lambda x: x.logsumexp(-1), "log-sum-exp")
def log_sum_exp():
    x, j, k = tensor(2000, 257, name="X"), summed(257, "j"), summed(257)
    largest = te.compute((2000,), lambda i: te.max(x[i, j], axis=j), name="largest")
    total = te.compute((2000,), lambda i: te.sum(te.exp(x[i, k] - largest[i]), axis=k), name="total")
    return [x, te.compute((2000,), lambda i: te.log(total[i]) + largest[i], name="L")]


@pattern(lambda x, g, b: functional()[1].layer_norm(x, (768,), g, b, 1e-5), "layer norm")
def layer_norm():
    x, g, b, j, k = tensor(512, 768, name="X"), tensor(768, name="g"), tensor(768, name="b"), summed(768, "j"), summed(768)
    mean = te.compute((512,), lambda i: te.sum(x[i, j], axis=j), name="total")
    centre = te.compute(x.shape, lambda i, j: x[i, j] - mean[i] / 768.0, name="centre")
    squares = te.compute((512,), lambda i: te.sum(centre[i, k] * centre[i, k], axis=k), name="squares")
    return [x, g, b, te.compute(x.shape, lambda i, j: centre[i, j] / te.sqrt(squares[i] / 768.0 + 1e-5) * g[j] + b[j], name="Y")]


@pattern(lambda x, g: functional()[1].rms_norm(x, (1024,), g, 1e-6), "RMS norm")
def rms_norm():
    x, g, k = tensor(512, 1024, name="X"), tensor(1024, name="g"), summed(1024)
    squares = te.compute((512,), lambda i: te.sum(x[i, k] * x[i, k], axis=k), name="squares")
    return [x, g, te.compute(x.shape, lambda i, j: x[i, j] * te.rsqrt(squares[i] / 1024.0 + 1e-6) * g[j], name="Y")]


@pattern(lambda x, mean, var, g, b: functional()[1].relu(functional()[1].batch_norm(x, mean, var, g, b, eps=1e-5)), "batch norm + ReLU", var=(0.5, 2.0))
def batch_norm():
    x = tensor(1, 64, 56, 56, name="X")
    mean, var, g, b = (tensor(64, name=name) for name in ("mean", "var", "g", "b"))
    y = te.compute(x.shape, lambda n, c, i, j: (x[n, c, i, j] - mean[c]) / te.sqrt(var[c] + 1e-5) * g[c] + b[c], name="Y")
    return [x, mean, var, g, b, te.compute(x.shape, lambda *at: te.max(y[at], 0.0), name="Z")]


@pattern(lambda x: functional()[1].instance_norm(x, eps=1e-5))
def instance_norm():
    x, (i, j, r, s) = tensor(2, 32, 56, 56, name="X"), (summed(56, name) for name in "ijrs")
    total = te.compute((2, 32), lambda n, c: te.sum(x[n, c, i, j], axis=[i, j]), name="total")
    centre = te.compute(x.shape, lambda n, c, i, j: x[n, c, i, j] - total[n, c] / 3136.0, name="centre")
    squares = te.compute((2, 32), lambda n, c: te.sum(centre[n, c, r, s] * centre[n, c, r, s], axis=[r, s]), name="squares")
    return [x, te.compute(x.shape, lambda n, c, i, j: centre[n, c, i, j] * te.rsqrt(squares[n, c] / 3136.0 + 1e-5), name="Y")]


# Pools.

@pattern(lambda x: functional()[1].max_pool2d(x, 3, 2), "max pool 3x3/2")
def max_pool():
    x, r, s = tensor(1, 64, 57, 57, name="X"), summed(3, "r"), summed(3, "s")
    return [x, te.compute((1, 64, 28, 28), lambda n, c, i, j: te.max(x[n, c, 2 * i + r, 2 * j + s], axis=[r, s]), name="Y")]


@pattern(lambda x: functional()[1].avg_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1), "average pool 2x2 NHWC")
def average_pool():
    x, r, s = tensor(1, 56, 56, 64, name="X"), summed(2, "r"), summed(2, "s")
    total = te.compute((1, 28, 28, 64), lambda n, i, j, c: te.sum(x[n, 2 * i + r, 2 * j + s, c], axis=[r, s]), name="total")
    return [x, te.compute(total.shape, lambda *at: total[at] * 0.25, name="Y")]


@pattern(lambda x: x.mean((2, 3)))
def global_average_pool():
    x, i, j = tensor(1, 256, 28, 28, name="X"), summed(28, "i"), summed(28, "j")
    total = te.compute((1, 256), lambda n, c: te.sum(x[n, c, i, j], axis=[i, j]), name="total")
    return [x, te.compute((1, 256), lambda n, c: total[n, c] / 784.0, name="Y")]


# Moves.

@pattern(lambda a: a.T.contiguous())
def transpose():
    a = tensor(1000, 1001)
    return [a, te.compute((1001, 1000), lambda i, j: a[j, i], name="T")]


@pattern(lambda x: x.permute(0, 2, 3, 1).contiguous(), "NCHW to NHWC")
def to_channels_last():
    x = tensor(1, 64, 56, 56, name="X")
    return [x, te.compute((1, 56, 56, 64), lambda n, i, j, c: x[n, c, i, j], name="Y")]


@pattern(lambda a: a.roll((3, 7), (0, 1)))
def roll():
    a = tensor(1000, 1001)
    return [a, te.compute(a.shape, lambda i, j: a[te.floormod(i - 3, 1000), te.floormod(j - 7, 1001)], name="R")]


@pattern(lambda x: functional()[1].interpolate(x, scale_factor=2), "nearest upsampling 2x")
def upsampling():
    x = tensor(1, 64, 28, 28, name="X")
    return [x, te.compute((1, 64, 56, 56), lambda n, c, i, j: x[n, c, te.floordiv(i, 2), te.floordiv(j, 2)], name="Y")]


@pattern(lambda x: functional()[1].pixel_shuffle(x, 2))
def pixel_shuffle():
    x = tensor(1, 64, 56, 56, name="X")
    return [x, te.compute((1, 16, 112, 112), lambda n, c, i, j: x[
        n, c * 4 + te.floormod(i, 2) * 2 + te.floormod(j, 2), te.floordiv(i, 2), te.floordiv(j, 2)], name="Y")]


# Running sums: time is a te.scan's first axis.

@pattern(lambda x: x.cumsum(0))
def running_sums_of_columns():
    x, state = tensor(256, 1024, name="X"), tensor(256, 1024, name="state")
    first = te.compute((1, 1024), lambda _, i: x[0, i], name="first")
    return [x, te.scan(first, te.compute(x.shape, lambda t, i: state[t - 1, i] + x[t, i], name="next"), state, name="sums")]


@pattern(lambda x: x.cumsum(1))
def running_sums_of_rows():
    x, state = tensor(256, 1024, name="X"), tensor(1024, 256, name="state")
    first = te.compute((1, 256), lambda _, i: x[i, 0], name="first")
    sums = te.scan(first, te.compute((1024, 256), lambda t, i: state[t - 1, i] + x[i, t], name="next"), state, name="sums")
    return [x, te.compute(x.shape, lambda i, t: sums[t, i], name="Y")]


# Indices.

@pattern(lambda table, at: table[at.long()], at=(0, 9999))
def embedding():
    table, at = tensor(10_000, 128, name="table"), tensor(4096, dtype="int32", name="at")
    return [table, at, te.compute((4096, 128), lambda i, j: table[at[i], j], name="E")]


@pattern(lambda x: x.argmax(1).int())
def largest_of_rows():
    x, k = tensor(1000, 1001, name="X"), summed(1001)
    argmax = te.comm_reducer(lambda a, b: (te.select(te.any(a[1] > b[1], te.all(a[1] == b[1], a[0] <= b[0])), a[0], b[0]), te.max(a[1], b[1])),
                             lambda i, v: (te.const(2**31 - 1, i), te.min_value(v)), name="argmax")
    at, _ = te.compute((1000,), lambda i: argmax((k.var, x[i, k]), axis=k), name="largest")
    return [x, te.compute((1000,), lambda i: at[i], name="at")]
