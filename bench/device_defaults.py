"""The schedules that functions for a device have without tuning, over 140 te programs, by the estimate's own account: nothing is measured here.

A row each: what the launch that takes longest is bound by and its share of the whole; registers over the limit, requests to shared memory
that conflict (wavefronts over the least there can be), how many of the processors have blocks, waves, and whether memory is read in
vectors of 16 bytes, which rows of odd lengths cannot be. What falls short is named at the end, apart from programs of which no schedule of the whole
space lacks nothing, or each that does takes longer than the estimate may be wrong by.
"""
import argparse
import math
import re

import tensorwright as tw
from tensorwright import ops, te
from tensorwright.errors import Error

WORTH = 1.12  # times the estimate, which default schedules may take for blocks on all processors and reads without conflicts


def placeholder(*shape, dtype="float32", name="A"):
    return te.placeholder(shape, dtype, name=name)


def matmul(n, m, k, dtype="float32"):
    return [ops.matmul(placeholder(n, k, dtype=dtype), placeholder(k, m, dtype=dtype, name="B"))]


def linear(n, m, k):
    return [ops.dense(placeholder(n, k), placeholder(m, k, name="W"), transpose_w=True)]


def batched(b, n, m, k):
    return [ops.matmul(placeholder(b, n, k), placeholder(b, k, m, name="B"))]


def conv(channels, filters, size, kernel, stride=1):
    return [ops.conv2d(placeholder(1, channels, size, size), placeholder(filters, channels, kernel, kernel, name="W"), stride=stride, padding=kernel // 2, layout="NCHW")]


def pointwise(*shape):
    *shape, dtype = shape if isinstance(shape[-1], str) else (*shape, "float32")
    A, B = placeholder(*shape, dtype=dtype), placeholder(*shape, dtype=dtype, name="B")
    return [te.compute(shape, lambda *i: te.max(A(*i) * B(*i) + A(*i), te.const(0, dtype)), name="C")]


def transpose(n, m):
    A = placeholder(n, m)
    return [te.compute((m, n), lambda i, j: A[j, i], name="C")]


def row_sum(n, m):
    A, k = placeholder(n, m), te.reduce_axis((0, m), name="k")
    return [te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="C")]


def column_sum(n, m):
    A, k = placeholder(n, m), te.reduce_axis((0, n), name="k")
    return [te.compute((m,), lambda j: te.sum(A[k, j], axis=k), name="C")]


def softmax(n, m):
    return [ops.softmax(placeholder(n, m))]


def layer_norm(n, m):
    return [ops.layer_norm(placeholder(n, m), placeholder(m, name="gamma"), placeholder(m, name="beta"))]


def stencil(n, m):
    A = placeholder(n, m)
    return [te.compute((n - 2, m - 2), lambda i, j: (A[i, j + 1] + A[i + 1, j] + A[i + 1, j + 2] + A[i + 2, j + 1]) * 0.25, name="C")]


def largest(n, m):
    return [ops.argmax(placeholder(n, m), axis=1)]


def channel_sum(n, channels, size):
    A, k = placeholder(n, channels, size, size), [te.reduce_axis((0, extent), name=name) for extent, name in ((n, "n"), (size, "y"), (size, "x"))]
    return [te.compute((channels,), lambda c: te.sum(A[k[0], c, k[1], k[2]], axis=k), name="C")]


def global_pool(n, channels, size):
    A, k = placeholder(n, channels, size, size), [te.reduce_axis((0, size), name=name) for name in "yx"]
    return [te.compute((n, channels), lambda i, c: te.sum(A[i, c, k[0], k[1]], axis=k), name="C")]


def batch_norm(n, channels, size):
    A, scale, shift = placeholder(n, channels, size, size), placeholder(channels, name="scale"), placeholder(channels, name="shift")
    return [te.compute(A.shape, lambda i, c, y, x: A[i, c, y, x] * scale[c] + shift[c], name="C")]


def gather(n, m, rows):
    A, at = placeholder(n, m), te.placeholder((rows,), "int32", name="at")
    return [te.compute((rows, m), lambda i, j: A[at[i], j], name="C")]


def one_hot(n, m):
    at = te.placeholder((n,), "int32", name="at")
    return [te.compute((n, m), lambda i, j: te.if_then_else(at[i] == j, te.const(1, "float32"), te.const(0, "float32")), name="C")]


def swap_first_two(n, m, k):
    A = placeholder(n, m, k)
    return [te.compute((m, n, k), lambda i, j, x: A[j, i, x], name="C")]


def wide(value):
    return value.astype("float32")


def rms_norm(n, m, dtype="bfloat16"):
    A, gamma, k = placeholder(n, m, dtype=dtype), placeholder(m, dtype=dtype, name="gamma"), te.reduce_axis((0, m), name="k")
    squares = te.compute((n,), lambda i: te.sum(wide(A[i, k]) * wide(A[i, k]), axis=k), name="squares")
    return [te.compute((n, m), lambda i, j: (wide(A[i, j]) * te.rsqrt(squares[i] * (1 / m) + 1e-6) * wide(gamma[j])).astype(dtype), name="C")]


def softmax_of(n, m, dtype="bfloat16"):
    A, k, r = placeholder(n, m, dtype=dtype), te.reduce_axis((0, m), name="k"), te.reduce_axis((0, m), name="r")
    most = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="most")
    exps = te.compute((n, m), lambda i, j: te.exp(wide(A[i, j]) - wide(most[i])), name="exps")
    sums = te.compute((n,), lambda i: te.sum(exps[i, r], axis=r), name="sums")
    return [te.compute((n, m), lambda i, j: (exps[i, j] / sums[i]).astype(dtype), name="C")]


def variance(n, m):
    return [ops.var(placeholder(n, m), axis=1)]


def cross_entropy(n, m):
    A, label = placeholder(n, m), te.placeholder((n,), "int32", name="label")
    lse = ops.logsumexp(A, axis=1)
    return [te.compute((n,), lambda i: lse[i] - A[i, label[i]], name="C")]


def rotary(tokens, heads, size, dtype="bfloat16"):
    X, cosine, sine = placeholder(tokens, heads, size, dtype=dtype, name="X"), placeholder(tokens, size, name="cosine"), placeholder(tokens, size, name="sine")
    half = size // 2
    turned = lambda i, h, k: te.if_then_else(k < half, -wide(X[i, h, k + half]), wide(X[i, h, k - half]))  # noqa: E731
    return [te.compute(X.shape, lambda i, h, k: (wide(X[i, h, k]) * cosine[i, k] + turned(i, h, k) * sine[i, k]).astype(dtype), name="C")]


def concat(axis, *shapes):
    return [ops.concat([placeholder(*shape, name=name) for shape, name in zip(shapes, "AB")], axis=axis)]


def max_pool(layout, shape, kernel, stride, padding):
    return [ops.max_pool2d(placeholder(*shape), kernel, stride=stride, padding=padding, layout=layout)]


def avg_pool(layout, shape, kernel, stride):
    return [ops.avg_pool2d(placeholder(*shape), kernel, stride=stride, layout=layout)]


def depthwise(layout, channels, size, kernel, stride=1):
    X, W = ((1, channels, size, size), (channels, 1, kernel, kernel)) if layout == "NCHW" else ((1, size, size, channels), (kernel, kernel, channels, 1))
    return [ops.depthwise_conv2d(placeholder(*X), placeholder(*W, name="W"), stride=stride, padding=kernel // 2, layout=layout)]


def permute(shape, axes, dtype="float32"):
    return [ops.transpose(placeholder(*shape, dtype=dtype), axes)]


def embedding(n, m, rows, dtype="bfloat16"):
    return [ops.embedding(te.placeholder(rows, "int32", name="at"), placeholder(n, m, dtype=dtype, name="table"))]


def columns_of(n, m, columns):
    return [ops.take(placeholder(n, m), te.placeholder((columns,), "int32", name="at"), axis=1)]


def bias_gelu(n, m, dtype="bfloat16"):
    A, bias = placeholder(n, m, dtype=dtype), placeholder(m, dtype=dtype, name="bias")
    return [ops.gelu(te.compute((n, m), lambda i, j: A[i, j] + bias[j], name="sum"), approximate="tanh")]


def swiglu(n, m, dtype="bfloat16"):
    A = placeholder(n, 2 * m, dtype=dtype)
    return [te.compute((n, m), lambda i, j: (wide(A[i, j]) * te.sigmoid(wide(A[i, j])) * wide(A[i, j + m])).astype(dtype), name="C")]


def log_softmax(n, m):
    return [ops.log_softmax(placeholder(n, m))]


def running_sum(n, m, axis):
    return [ops.cumsum(placeholder(n, m), axis=axis)]


def masked_scores(heads, n, m, size):
    q, k, mask = placeholder(heads, n, size, name="q"), placeholder(heads, m, size, name="k"), placeholder(n, m, dtype="bool", name="mask")
    r = te.reduce_axis((0, size), name="r")
    scores = te.compute((heads, n, m), lambda h, i, j: te.sum(q[h, i, r] * k[h, j, r], axis=r), name="scores")
    seen = te.compute(scores.shape, lambda h, i, j: te.if_then_else(mask[i, j], scores[h, i, j] / math.sqrt(size), te.const(-1e9, "float32")), name="seen")
    return [ops.softmax(seen)]


def group_norm(n, channels, size, groups):
    return [ops.group_norm(placeholder(n, channels, size, size), groups, placeholder(channels, name="gamma"), placeholder(channels, name="beta"))]


def slice_of(n, m, at, width):
    return [ops.strided_slice(placeholder(n, m), (0, at), (n, at + width))]


def dequantized(n, m, group):
    A, scale = placeholder(n, m, dtype="int8"), placeholder(n, m // group, name="scale")
    return [te.compute((n, m), lambda i, j: (A[i, j].astype("float32") * scale[i, j // group]).astype("float16"), name="C")]


PROGRAMS = [
    *[(matmul, s) for s in [(4096, 4096, 4096), (1024, 1024, 1024), (8192, 8192, 512), (512, 512, 4096), (4095, 4097, 4093), (1000, 1000, 1000),
                            (257, 513, 1025), (127, 129, 4001), (16, 4096, 4096), (1, 4096, 4096), (33, 65, 97)]],
    *[(linear, s) for s in [(4096, 4096, 4096), (512, 768, 3072), (1000, 1000, 1000), (129, 257, 511), (8, 4096, 4096)]],
    *[(batched, s) for s in [(16, 512, 512, 64), (64, 128, 128, 128), (12, 197, 197, 64), (7, 333, 77, 55)]],
    *[(conv, s) for s in [(64, 64, 56, 3), (128, 128, 28, 3), (256, 256, 14, 3), (512, 512, 7, 3), (3, 64, 224, 7, 2), (64, 128, 28, 1), (31, 65, 27, 3), (96, 40, 55, 5)]],
    *[(pointwise, s) for s in [(1 << 24,), (4096, 4096), (1000, 1000), (1 << 20,), (999983,), (333, 777), (64, 64, 1000), (7, 11, 13, 17)]],
    *[(transpose, s) for s in [(4096, 4096), (1024, 8192), (1000, 1000), (4095, 4097), (33, 100000)]],
    *[(row_sum, s) for s in [(4096, 4096), (65536, 64), (128, 65536), (1000, 1001), (17, 123457), (100003, 33)]],
    *[(column_sum, s) for s in [(4096, 4096), (65536, 64), (1001, 1000), (123457, 17)]],
    *[(softmax, s) for s in [(16384, 1024), (4096, 4096), (1024, 65536), (1000, 1001), (77, 33333)]],
    *[(layer_norm, s) for s in [(16384, 1024), (4096, 8192), (1000, 1001), (333, 770), (5, 100003)]],
    *[(stencil, s) for s in [(4098, 4098), (1024, 1024), (1003, 997), (130, 100002)]],
    *[(largest, s) for s in [(4096, 1024), (512, 32768), (65536, 64), (1000, 1001)]],
    *[(channel_sum, s) for s in [(32, 64, 56), (8, 2048, 7), (64, 3, 224)]],
    *[(global_pool, s) for s in [(32, 2048, 7), (16, 256, 56)]],
    *[(batch_norm, s) for s in [(32, 64, 56), (8, 512, 14)]],
    (gather, (50000, 768, 8192)), (one_hot, (8192, 1000)), (swap_first_two, (64, 512, 512)), (swap_first_two, (100, 33, 64)),
    *[(rms_norm, s) for s in [(16384, 1024), (16384, 4096), (16384, 16384), (4096, 65536)]],
    *[(softmax_of, s) for s in [(16384, 1024), (16384, 4096), (16384, 16384), (4096, 65536), (16384, 1024, "float32"), (16384, 4096, "float32"), (8192, 16384, "float32")]],
    *[(variance, s) for s in [(4096, 4096), (512, 1000)]],
    *[(cross_entropy, s) for s in [(8192, 32000), (4096, 1000)]],
    *[(rotary, s) for s in [(4096, 32, 128), (1000, 12, 80), (4096, 32, 128, "float32"), (777, 5, 66)]],
    *[(concat, s) for s in [(1, (4096, 1024), (4096, 512)), (0, (4096, 1024), (512, 1024)), (2, (8, 1024, 64), (8, 1024, 32)), (1, (1000, 333), (1000, 77))]],
    *[(max_pool, s) for s in [("NHWC", (32, 112, 112, 64), 3, 2, 1), ("NCHW", (32, 64, 112, 112), 3, 2, 1)]],
    *[(avg_pool, s) for s in [("NHWC", (32, 56, 56, 256), 2, 2), ("NCHW", (32, 256, 56, 56), 2, 2), ("NHWC", (8, 27, 27, 33), 3, 1)]],
    *[(depthwise, s) for s in [("NHWC", 128, 56, 3), ("NHWC", 128, 56, 5, 2), ("NCHW", 128, 56, 3), ("NCHW", 96, 55, 3, 2)]],
    *[(permute, s) for s in [((16, 512, 12, 64), (0, 2, 1, 3)), ((32, 64, 56, 56), (0, 2, 3, 1)), ((32, 56, 56, 64), (0, 3, 1, 2)), ((100, 200, 300), (2, 1, 0)), ((1024, 1024), (1, 0), "bfloat16")]],
    (embedding, (50000, 768, (16, 512))), (embedding, (50000, 770, (16, 512), "float32")), (columns_of, (4096, 4096, 1024)),
    *[(bias_gelu, s) for s in [(8192, 3072), (1000, 1001)]],
    *[(swiglu, s) for s in [(4096, 11008), (4096, 11008, "float32"), (1000, 777)]],
    *[(log_softmax, s) for s in [(8192, 32000), (1000, 1001)]],
    *[(running_sum, s) for s in [(4096, 1024, 1), (1024, 4096, 0)]],
    *[(masked_scores, s) for s in [(16, 512, 512, 64), (7, 333, 77, 55)]],
    *[(group_norm, s) for s in [(16, 256, 32, 32), (4, 30, 17, 5)]],
    *[(batched, s) for s in [(1024, 32, 32, 32), (500, 17, 19, 23)]],
    *[(slice_of, s) for s in [(4096, 4096, 1024, 1024), (4096, 4096, 1001, 1000)]],
    (dequantized, (4096, 4096, 128)), (pointwise, (8192, 4096, "bfloat16")),
]


# Of even rows: from the middle of a vector on, and every other element.
READ_BY_ELEMENTS = [(slice_of, (4096, 4096, 1001, 1000)), (avg_pool, ("NCHW", (32, 256, 56, 56), 2, 2))]


def even(tensors):
    """Whether all rows are multiples of 16 bytes."""
    seen, rest = [], list(tensors)
    while rest:
        tensor = rest.pop()
        seen.append(tensor.shape[-1])
        rest += tensor.op.input_tensors
    return all(isinstance(extent, int) and extent % 4 == 0 for extent in seen)


class Account:
    """What a schedule takes on the device by the estimate, and what it lacks."""

    def __init__(self, schedule, target):
        launches = schedule.explain(target).launches
        stages = [stage for launch in launches for stage in launch.stages]
        self.longest = max(launches, key=lambda launch: launch.total)
        self.total = sum(launch.total for launch in launches)
        wavefronts, least = sum(s.wavefronts for s in stages), sum(s.least for s in stages)
        self.conflicts = wavefronts / least if least else 1
        self.short = []
        if self.longest.resident < 1:
            self.short.append("held by no processor")
            return
        self.processors = round(self.longest.blocks / self.longest.waves / self.longest.resident)
        if any(launch.spills for launch in launches):
            self.short.append("spills")
        if self.conflicts > 1.02:
            self.short.append(f"bank conflicts x{self.conflicts:.1f}")
        if self.longest.waves < 2 and self.longest.blocks < self.processors:
            self.short.append(f"{self.longest.blocks:.0f} blocks of {self.processors}")


def no_better(tensors, target, account):
    """Why no schedule lacks less; nothing where one does."""
    least, count = math.inf, 0
    for candidate in tw.autotune.Task([*arguments(tensors), *tensors], target=target).space:
        try:
            other = Account(candidate.instantiate()[0], target)
        except Error:
            continue
        count += 1
        if not other.short:
            least = min(least, other.total)
    if least == math.inf:
        return f"none of {count} schedules lacks nothing"
    return f"the best of {count} schedules that lacks nothing takes {least / account.total:.2f} of it" if least > WORTH * account.total else ""


def row_of(name, sizes, tensors, target):
    schedule = tw.default_schedule(tensors, target)
    account = Account(schedule, target)
    longest, short = account.longest, list(account.short)
    source = tw.build(schedule, [*arguments(tensors), *tensors], target=target).source("cuda")
    wide = bool(re.search(r"struct alignas\(16\)|cp_async_16", source))
    if not wide and even(tensors) and (name, sizes) not in [(make.__name__, of) for make, of in READ_BY_ELEMENTS]:
        short.append("no 16-byte accesses")
    bound = no_better(tensors, target, account) if short == account.short != [] else ""
    print(f"{name + str(sizes):34} {account.total * 1e6:10.1f} us  {longest.bound:14} {longest.total / account.total:5.0%} {longest.registers:5.0f} regs  "
          f"{account.conflicts:4.1f}x {longest.used:5.0%} {longest.waves:7.1f} waves  {'16 B' if wide else '':5} {', '.join(short)}", flush=True)
    return ", ".join(short), bound


def arguments(tensors):
    """The placeholders, each once."""
    found, rest = {}, list(tensors)
    while rest:
        tensor = rest.pop()
        rest += tensor.op.input_tensors
        if not tensor.op.input_tensors:
            found[tensor.name] = tensor
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cuda -arch=sm_90a")
    parser.add_argument("--only", default="", help="programs whose name has this")
    options = parser.parse_args()
    print(f"{'':34} {'estimated':>13}  {'bound':14} share registers  banks  used           reads")
    rows = [(make.__name__, sizes, row_of(make.__name__, sizes, make(*sizes), options.target)) for make, sizes in PROGRAMS if options.only in make.__name__]
    short = [(f"{name}{sizes}", *why) for name, sizes, why in rows if why[0]]
    missed = [(name, why) for name, why, bound in short if not bound]
    print(f"{len(rows)} programs, {len(rows) - len(short)} fall short of nothing, {len(short) - len(missed)} of what no schedule has or is worth")
    for name, why, bound in short:
        print(f"  {name}: {why}{'; ' + bound if bound else ''}")


if __name__ == "__main__":
    main()
