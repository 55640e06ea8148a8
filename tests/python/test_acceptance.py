"""Scheduled programs as tvm people write them, for several targets, against NumPy."""

import json
import math
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

HAS_LLVM = tw.Target.host().kind == "llvm"
needs_llvm = pytest.mark.skipif(not HAS_LLVM, reason="skipped: this build has no LLVM")
TARGETS = ["interp"] + [pytest.param(t, marks=needs_llvm) for t in ("llvm", "llvm -mcpu=native", "llvm -mcpu=x86-64-v3")]
RNG = np.random.default_rng(0)


@pytest.fixture(params=TARGETS)
def target(request):
    return request.param


def array(shape, dtype="float32"):
    if np.dtype(dtype).kind == "f":
        return RNG.standard_normal(shape).astype(dtype)
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


def check(s, inputs, outputs, target, rtol=1e-4, atol=1e-4):
    """Builds `s` with the arguments [*inputs, *outputs] and compares: inputs and outputs are {tensor: array} and {tensor: expected}."""
    tensors = [*inputs, *outputs]
    f = tw.build(s, tensors, target=target) if s is not None else tw.build(tensors, target=target)
    got = [np.full(t.shape, 77).astype(t.dtype) for t in outputs]
    f(*inputs.values(), *got)
    for g, expected in zip(got, outputs.values()):
        if g.dtype.kind == "f":
            np.testing.assert_allclose(g, expected, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(g, expected)
    if s is not None and target == "interp":  # Steps are data
        shown = [t for t in outputs if f"{t.op.name}: output" in str(s)] or list(outputs)
        again = tw.Schedule.from_steps(shown, json.dumps(s.steps))
        assert again.steps == s.steps and str(again) == str(s)


# ------------------------------------------------------------------------------------------------------- matmul recipes

M, N, K = 67, 96, 41


def matmul(ta=False, tb=False, m=M, n=N, depth=K, dtype="float32"):
    A = te.placeholder((depth, m) if ta else (m, depth), dtype, name="A")
    B = te.placeholder((n, depth) if tb else (depth, n), dtype, name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((m, n), lambda i, j: te.sum((A[k, i] if ta else A[i, k]) * (B[j, k] if tb else B[k, j]), axis=k), name="C")
    a, b = array(A.shape, dtype), array(B.shape, dtype)
    return A, B, C, a, b, (a.T if ta else a) @ (b.T if tb else b)


def plain(s, C):
    pass


def blocked(s, C):
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    (k,) = s[C].op.reduce_axis
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(xo, yo, ko, ki, xi, yi)


def vectorized(s, C):
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    ko, ki = s[C].split(s[C].op.reduce_axis[0], factor=4)
    s[C].reorder(xo, yo, ko, ki, xi, yi)
    s[C].vectorize(yi)


def permuted(s, C):
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    ko, ki = s[C].split(s[C].op.reduce_axis[0], factor=4)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    s[C].vectorize(yi)
    s[C].unroll(ki)
    s[C].parallel(xo)


def write_cached(s, C):
    CC = s.cache_write(C, "global")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    s[CC].compute_at(s[C], yo)
    xc, yc = s[CC].op.axis
    (k,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(k, factor=4)
    s[CC].reorder(ko, xc, ki, yc)
    s[CC].unroll(ki)
    s[CC].vectorize(yc)
    s[C].parallel(xo)


def read_cached(s, C):
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 6, 16, )
    ko, ki = s[C].split(s[C].op.reduce_axis[0], nparts=3)
    s[C].reorder(yo, xo, ko, ki, xi, yi)
    A, B = C.op.input_tensors
    BB = s.cache_read(B, "global", [C])
    s[BB].compute_at(s[C], yo)
    AA = s.cache_read(A, "local", [C])
    s[AA].compute_at(s[C], ko)
    s[C].vectorize(yi)
    s[C].unroll(xi)
    s[C].parallel(yo)


def fused(s, C):
    ij = s[C].fuse(*C.op.axis)
    o, i = s[C].split(ij, 48)
    s[C].reorder(o, s[C].op.reduce_axis[0], i)
    s[C].vectorize(i)
    s[C].parallel(o)


def reduction_outside(s, C):
    (k,) = C.op.reduce_axis
    s[C].reorder(k, *C.op.axis)
    s[C].vectorize(C.op.axis[1])


def outer_lanes(s, C):
    i, j = C.op.axis
    io, ii = s[C].split(i, 8)
    s[C].reorder(io, j, ii, s[C].op.reduce_axis[0])
    s[C].vectorize(ii)


RECIPES = [plain, blocked, vectorized, permuted, write_cached, read_cached, fused, reduction_outside, outer_lanes]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: r.__name__)
def test_matmul_recipes(recipe, target):
    A, B, C, a, b, expected = matmul()
    s = te.create_schedule(C.op)
    recipe(s, C)
    check(s, {A: a, B: b}, {C: expected}, target)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("recipe", [None, permuted, write_cached, read_cached], ids=lambda r: getattr(r, "__name__", "default"))
def test_matmul_transposes(ta, tb, recipe, target):
    A, B, C, a, b, expected = matmul(ta, tb, 35, 50, 19)
    s = recipe and te.create_schedule(C)
    if recipe:
        recipe(s, C)
    check(s, {A: a, B: b}, {C: expected}, target)


@pytest.mark.parametrize("index", ["//", "indexdiv", "floordiv"])
def test_array_packing(index, target):
    m, n, depth, bn = 64, 96, 40, 32
    A, B = te.placeholder((m, depth), name="A"), te.placeholder((depth, n), name="B")
    k = te.reduce_axis((0, depth), "k")
    packed = te.compute((n // bn, depth, bn), lambda bigN, k, littleN: B[k, bigN * bn + littleN], name="packedB")
    div, mod = {
        "//": (lambda a, b: a // b, lambda a, b: a % b),
        "indexdiv": (te.indexdiv, te.indexmod),
        "floordiv": (te.floordiv, te.floormod),
    }[index]
    C = te.compute((m, n), lambda i, j: te.sum(A[i, k] * packed[div(j, bn), k, mod(j, bn)], axis=k), name="C")
    s = te.create_schedule(C)
    CC = s.cache_write(C, "global")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[CC].compute_at(s[C], yo)
    xc, yc = s[CC].op.axis
    ko, ki = s[CC].split(CC.op.reduce_axis[0], factor=4)
    s[CC].reorder(ko, xc, ki, yc)
    s[CC].unroll(ki)
    s[CC].vectorize(yc)
    s[C].parallel(xo)
    bigN, _, littleN = s[packed].op.axis
    s[packed].vectorize(littleN)
    s[packed].parallel(bigN)
    a, b = array(A.shape), array(B.shape)
    check(s, {A: a, B: b}, {C: a @ b}, target)


# ------------------------------------------------------------------------------------------------------------ operators


@pytest.mark.parametrize("n", [0, 1, 2, 7, 16, 1023])
def test_vector_add(n, target):
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    a, b = array(n), array(n)
    s = te.create_schedule(C)
    o, i = s[C].split(C.op.axis[0], factor=16)
    s[C].parallel(o)
    s[C].vectorize(i)
    check(s, {A: a, B: b}, {C: a + b}, target)
    check(te.create_schedule(C), {A: a, B: a}, {C: a + a}, target)


@pytest.mark.parametrize("tail", ["auto", "guard", "mask", "peel", "shift_inward"])
@pytest.mark.parametrize("n", [5, 16, 70])
def test_tails(tail, n, target):
    A = te.placeholder((n, n), name="A")
    B = te.compute((n, n), lambda i, j: A[i, j] * 2 + A[j, i], name="B")
    s = te.create_schedule(B)
    i, j = B.op.axis
    io, ii = s[B].split(i, 6, tail=tail)
    jo, ji = s[B].split(j, 16, tail=tail)
    s[B].reorder(io, jo, ii, ji)
    s[B].vectorize(ji)
    a = array((n, n))
    check(s, {A: a}, {B: a * 2 + a.T}, target)


def blur(n, m):
    A = te.placeholder((n + 4, m + 4), name="A")
    y, x = te.reduce_axis((0, 3), "y"), te.reduce_axis((0, 3), "x")
    P = te.compute((n + 2, m + 2), lambda i, j: te.sum(A[i + y, j + x], axis=[y, x]), name="P")
    Q = te.compute((n, m), lambda i, j: te.sum(P[i + y, j + x], axis=[y, x]), name="Q")
    a = array(A.shape)
    p = sum(a[u : u + n + 2, v : v + m + 2] for u in range(3) for v in range(3))
    return A, P, Q, a, sum(p[u : u + n, v : v + m] for u in range(3) for v in range(3))


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("order", ["tile", "interleaved"])
def test_blur_of_a_blur_at_each_level(level, order, target):
    A, P, Q, a, expected = blur(21, 37)
    s = te.create_schedule(Q)
    loops = list(s[Q].tile(*Q.op.axis, 8, 16))
    if order == "interleaved":
        loops = [loops[n] for n in (1, 3, 0, 2)]
        s[Q].reorder(*loops)
    s[P].compute_at(s[Q], loops[level])
    if level < 3:
        s[P].vectorize(P.op.axis[1])
    check(s, {A: a}, {Q: expected}, target, rtol=1e-3, atol=1e-3)


def test_conv2d_with_padding(target):
    n, ci, co, h, w, pad, stride = 1, 5, 8, 9, 10, 1, 2
    oh, ow = (h + 2 * pad - 3) // stride + 1, (w + 2 * pad - 3) // stride + 1
    X, W = te.placeholder((n, ci, h, w), name="X"), te.placeholder((co, ci, 3, 3), name="W")
    P = te.compute(
        (n, ci, h + 2 * pad, w + 2 * pad),
        lambda b, c, y, x: te.if_then_else(
            te.all(y >= pad, y - pad < h, x >= pad, x - pad < w), X[b, c, y - pad, x - pad], te.const(0.0, "float32")
        ),
        name="P",
    )
    rc, ry, rx = te.reduce_axis((0, ci), "rc"), te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
    Y = te.compute(
        (n, co, oh, ow),
        lambda b, f, y, x: te.sum(P[b, rc, y * stride + ry, x * stride + rx] * W[f, rc, ry, rx], axis=[rc, ry, rx]),
        name="Y",
    )
    x, w_ = array(X.shape), array(W.shape)
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = sum(
        np.einsum("nchw,oc->nohw", p[:, :, u : u + 2 * oh - 1 : 2, v : v + 2 * ow - 1 : 2], w_[:, :, u, v])
        for u in range(3)
        for v in range(3)
    )
    check(None, {X: x, W: w_}, {Y: expected}, target)
    for inline in (True, False):
        s = te.create_schedule(Y)
        b, f, y, xx = Y.op.axis
        fo, fi = s[Y].split(f, 4)
        xo, xi = s[Y].split(xx, 4)
        s[Y].reorder(b, fo, y, xo, *s[Y].op.reduce_axis, fi, xi)
        s[Y].vectorize(xi)
        s[Y].unroll(fi)
        s[P].compute_inline() if inline else s[P].compute_at(s[Y], y)
        s[Y].parallel(s[Y].fuse(b, fo))
        check(s, {X: x, W: w_}, {Y: expected}, target)


def test_depthwise(target):
    c, h, w = 6, 11, 12
    X, W = te.placeholder((c, h, w), name="X"), te.placeholder((c, 3, 3), name="W")
    ry, rx = te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
    Y = te.compute((c, h - 2, w - 2), lambda o, y, x: te.sum(X[o, y + ry, x + rx] * W[o, ry, rx], axis=[ry, rx]), name="Y")
    x, k = array(X.shape), array(W.shape)
    expected = sum(x[:, u : u + h - 2, v : v + w - 2] * k[:, u, v][:, None, None] for u in range(3) for v in range(3))
    s = te.create_schedule(Y)
    o, y, xx = Y.op.axis
    s[Y].reorder(o, y, ry, rx, xx)
    s[Y].vectorize(xx)
    s[Y].unroll(rx)
    s[Y].pragma(o, "auto_unroll_max_step", 64)
    check(s, {X: x, W: k}, {Y: expected}, target)


def softmax(rows, cols):
    A = te.placeholder((rows, cols), name="A")
    k = te.reduce_axis((0, cols), name="k")
    top = te.compute((rows,), lambda i: te.max(A[i, k], axis=k), name="top")
    E = te.compute((rows, cols), lambda i, j: te.exp(A[i, j] - top[i]), name="E")
    total = te.compute((rows,), lambda i: te.sum(E[i, k], axis=k), name="total")
    D = te.compute((rows, cols), lambda i, j: E[i, j] / total[i], name="D")
    a = array((rows, cols))
    e = np.exp(a - a.max(1, keepdims=True))
    return A, top, E, total, D, a, e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("how", ["default", "root", "row", "inline"])
def test_softmax(how, target):
    A, top, E, total, D, a, expected = softmax(9, 35)
    s = None if how == "default" else te.create_schedule(D)
    if how in ("row", "inline"):
        i, j = D.op.axis
        for stage in (top, total):
            s[stage].compute_at(s[D], i)
        s[E].compute_inline() if how == "inline" else s[E].compute_at(s[D], i)
        s[D].vectorize(s[D].split(j, 8)[1])
        s[D].parallel(i)
    check(s, {A: a}, {D: expected}, target)


def test_intermediates_are_written_out(target):
    A, top, E, total, D, a, expected = softmax(6, 17)
    e = np.exp(a - a.max(1, keepdims=True))
    check(te.create_schedule(D), {A: a}, {top: a.max(1), D: expected, total: e.sum(1)}, target)


def test_layer_norm(target):
    n, d = 7, 45
    A, G = te.placeholder((n, d), name="A"), te.placeholder((d,), name="G")
    k = te.reduce_axis((0, d), "k")
    mean = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="mean")
    var = te.compute((n,), lambda i: te.sum((A[i, k] - mean[i] / d) * (A[i, k] - mean[i] / d), axis=k), name="var")
    B = te.compute((n, d), lambda i, j: (A[i, j] - mean[i] / d) * te.rsqrt(var[i] / d + 1e-5) * G[j], name="B")
    a, g = array((n, d)), array(d)
    s = te.create_schedule(B)
    s[mean].compute_at(s[B], B.op.axis[0])
    s[var].compute_at(s[B], B.op.axis[0])
    s[B].vectorize(s[B].split(B.op.axis[1], nparts=4)[1])
    check(s, {A: a, G: g}, {B: (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5) * g}, target)


@pytest.mark.parametrize("reducer", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2)])
def test_reductions(reducer, dtype, axes):
    shape = (3, 4, 5)
    A = te.placeholder(shape, dtype, name="A")
    reduced = {d: te.reduce_axis((0, shape[d]), f"k{d}") for d in axes}
    kept = [d for d in range(3) if d not in axes]

    def body(*i):
        at = dict(zip(kept, i)) | reduced
        return getattr(te, reducer)(A[at[0], at[1], at[2]], axis=list(reduced.values()))

    B = te.compute(tuple(shape[d] for d in kept), body, name="B")
    a = array(shape, dtype)
    numpy_dtype = {"dtype": dtype} if reducer in ("sum", "prod") else {}
    for target in ("interp", "llvm -mcpu=native") if HAS_LLVM else ("interp",):
        check(None, {A: a}, {B: getattr(np, reducer)(a, axis=axes, **numpy_dtype)}, target)


# --------------------------------------------------------------------------------------------------------------- dtypes

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic_wraps_and_floors(dtype, target):
    n = 75
    A, B = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    a, b = array(n, dtype), array(n, dtype)
    a[:4], b[:4] = np.iinfo(dtype).min, np.iinfo(dtype).max
    b[b == 0] = 3
    if np.iinfo(dtype).min < 0:
        b[b == -1] = 5  # the smallest number divided by -1 has no value
    outs = {
        te.compute((n,), lambda i: A[i] + B[i], name="add"): a + b,
        te.compute((n,), lambda i: A[i] - B[i], name="sub"): a - b,
        te.compute((n,), lambda i: A[i] * B[i], name="mul"): a * b,
        te.compute((n,), lambda i: A[i] // B[i], name="div"): a // b,
        te.compute((n,), lambda i: A[i] % B[i], name="mod"): a % b,
        te.compute((n,), lambda i: te.max(A[i], B[i]), name="max"): np.maximum(a, b),
        te.compute((n,), lambda i: te.select(A[i] < B[i], A[i], B[i]), name="min"): np.minimum(a, b),
        te.compute((n,), lambda i: te.truncmod(A[i], B[i]), name="rem"): np.fmod(a, b),
        te.compute((n,), lambda i: A[i] > B[i], name="greater"): a > b,
        te.compute((n,), lambda i: te.abs(A[i]), name="abs"): np.abs(a),
    }
    s = te.create_schedule(list(outs))
    for t in outs:
        s[t].vectorize(s[t].split(t.op.axis[0], 16)[1])
    check(s, {A: a, B: b}, outs, target)
    check(te.create_schedule(list(outs)), {A: a, B: b}, outs, target)


@pytest.mark.parametrize("source", [*INTEGERS, "bool", "float16", "float32", "float64"])
def test_casts(source, target):
    a = np.array([0, 1, 1, 0, 1, 100, 3, 7, 42, 1] * 3).astype(source)
    A = te.placeholder(a.shape, source, name="A")
    kinds = [*INTEGERS, "bool", "float16", "float32", "float64"]
    outs = {te.compute(a.shape, lambda i, to=to: A[i].astype(to), name=f"to_{to}"): a.astype(to) for to in kinds}
    check(te.create_schedule(list(outs)), {A: a}, outs, target)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_math(dtype, target):
    x = np.concatenate([np.linspace(-5, 5, 61), [0.5, 1.5, 2.5, -0.5, -1.5, 0.0]]).astype(dtype)
    X = te.placeholder(x.shape, dtype, name="X")
    with np.errstate(all="ignore"):
        wide = x.astype("float64")
        positive = np.abs(wide) + 0.25
        value = lambda f: te.compute(x.shape, lambda i: f(X[i]), name="y")
        outs = {
            value(te.exp): np.exp(wide),
            value(te.tanh): np.tanh(wide),
            value(te.sigmoid): 1 / (1 + np.exp(-wide)),
            value(te.erf): np.array([math.erf(v) for v in wide]),
            value(lambda e: te.log(te.abs(e) + 0.25)): np.log(positive),
            value(lambda e: te.sqrt(te.abs(e) + 0.25)): np.sqrt(positive),
            value(lambda e: te.rsqrt(te.abs(e) + 0.25)): 1 / np.sqrt(positive),
            value(lambda e: te.power(te.abs(e) + 0.25, e)): positive**wide,
            value(te.floor): np.floor(wide),
            value(te.ceil): np.ceil(wide),
            value(te.trunc): np.trunc(wide),
            value(te.round): np.trunc(wide + np.copysign(0.5, wide)),
            value(te.abs): np.abs(wide),
            value(lambda e: -e): -wide,
            value(lambda e: te.min_value(dtype) + e * 0): np.full(x.shape, np.finfo(dtype).min),
            value(lambda e: te.max_value(dtype)): np.full(x.shape, np.finfo(dtype).max),
        }
    s = te.create_schedule(list(outs))
    for t in outs:
        s[t].vectorize(s[t].split(t.op.axis[0], 8)[1])
    tolerance = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-12}[dtype]
    check(s, {X: x}, outs, target, rtol=tolerance, atol=tolerance)


def test_bfloat16(target):
    A = te.placeholder((33,), name="A")
    B = te.compute((33,), lambda i: (A[i].astype("bfloat16") * te.const(2, "bfloat16")).astype("float32"), name="B")
    a = np.arange(33, dtype="float32")
    check(te.create_schedule(B), {A: a}, {B: 2 * a}, target)


# ------------------------------------------------------------------------------------------------------ shapes and forms


@pytest.mark.parametrize("rank", range(7))
def test_ranks(rank, target):
    shape = (2, 3, 1, 4, 2, 3)[:rank]
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A(*i) * 2 + 1, name="B")
    a = np.asarray(array(shape))
    s = te.create_schedule(B)
    if rank:
        s[B].vectorize(s[B].split(s[B].fuse(*B.op.axis), 8)[1])
    check(s, {A: a}, {B: a * 2 + 1}, target)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1, 1), (1, 5)])
def test_extents_of_0_and_1_under_every_step(shape, target):
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A(*i) + 1, name="B")
    C = te.compute(shape, lambda *i: B(*i) * 2, name="C")
    a = array(shape)
    s = te.create_schedule(C)
    o, i = s[C].split(s[C].fuse(*C.op.axis), 4)
    s[C].parallel(o)
    s[C].vectorize(i)
    s[B].compute_at(s[C], o)
    check(s, {A: a}, {C: (a + 1) * 2}, target)
    check(None, {A: a}, {C: (a + 1) * 2}, target)


@pytest.mark.parametrize("reducer, identity", [("sum", 0), ("prod", 1), ("max", -np.inf), ("min", np.inf)])
def test_empty_reductions_give_the_identity(reducer, identity, target):
    A = te.placeholder((4, 0), name="A")
    k = te.reduce_axis((0, 0), "k")
    B = te.compute((4,), lambda i: getattr(te, reducer)(A[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    s[B].vectorize(s[B].split(B.op.axis[0], 4)[1])
    check(s, {A: np.zeros((4, 0), "float32")}, {B: np.full(4, identity)}, target)


def test_constants_and_indices(target):
    outs = {
        te.compute((3, 4), lambda i, j: 7): np.full((3, 4), 7),
        te.compute((3, 4), lambda i, j: 1.5): np.full((3, 4), 1.5),
        te.compute((3, 4), lambda i, j: True): np.full((3, 4), True),
        te.compute((3, 4), lambda i, j, scale=10: i * scale - j): np.arange(3)[:, None] * 10 - np.arange(4),
        te.compute((3, 4), lambda i, j: (i - 2) // 2 + (j - 3) % 3): (np.arange(3)[:, None] - 2) // 2 + (np.arange(4) - 3) % 3,
        te.compute((3, 4), lambda i, j: te.any(i == j, te.all(i > 1, j > 2))): (np.eye(3, 4) > 0)
        | ((np.arange(3)[:, None] > 1) & (np.arange(4) > 2)),
    }
    check(te.create_schedule(list(outs)), {}, outs, target)


def test_data_movement(target):
    A, B = te.placeholder((5, 12), name="A"), te.placeholder((3, 12), name="A")
    a, b = array(A.shape), array(B.shape)
    outs = {
        te.compute((12, 5), lambda i, j: A[j][i]): a.T,
        te.compute((8, 12), lambda i, j: te.if_then_else(i < 5, A[i, j], B[i - 5, j])): np.concatenate([a, b]),
        te.compute((60,), lambda i: A[i // 12, i % 12]): a.reshape(-1),
        te.compute((5, 3, 4), lambda i, j, k: A[i, j * 4 + k]): a.reshape(5, 3, 4),
        te.compute((5, 12), lambda i, j: A[4 - i, 11 - j]): a[::-1, ::-1],
        te.compute((5, 6), lambda i, j: A[i, 2 * j + 1]): a[:, 1::2],
    }
    s = te.create_schedule(list(outs))
    for t in outs:
        s[t].vectorize(s[t].split(t.op.axis[-1], 4)[1])
        s[t].parallel(t.op.axis[0]) if len(t.shape) > 1 else None
    check(s, {A: a, B: b}, outs, target)


def test_placeholders_with_strides(target):
    A = te.placeholder((4, 5), name="A", strides=(1, 4))
    B = te.compute((4, 5), lambda i, j: A[i, j] + 1, name="B")
    a = np.asfortranarray(array((4, 5)))
    s = te.create_schedule(B)
    s[B].vectorize(B.op.axis[1])
    check(s, {A: a}, {B: a + 1}, target)


def test_inlined_chains(target):
    A = te.placeholder((40,), name="A")
    stages = [te.compute((40,), lambda i: A[i] + 1, name="T")]
    for n in range(6):
        stages.append(te.compute((40,), lambda i, last=stages[-1], n=n: last[i] * 2 - last[39 - i] * n, name="T"))
    a = array(40).astype("float64").astype("float32")
    expected = a.astype("float64") + 1
    for n in range(6):
        expected = expected * 2 - expected[::-1] * n
    s = te.create_schedule(stages[-1])
    for t in stages[:-1]:
        s[t].compute_inline()
    s[stages[-1]].vectorize(s[stages[-1]].split(stages[-1].op.axis[0], 16)[1])
    check(s, {A: a}, {stages[-1]: expected}, target, rtol=1e-3, atol=1e-2)


def test_scopes(target):
    A = te.placeholder((20, 30), name="A")
    B = te.compute((20, 30), lambda i, j: A[i, j] * 3, name="B")
    C = te.compute((20, 30), lambda i, j: B[i, j] + B[i, 29 - j], name="C")
    a = array(A.shape)
    for scope in ("local", "global"):
        for at in (None, 0, 1):
            s = te.create_schedule(C)
            s[B].set_scope(scope)
            if at is not None:
                s[B].compute_at(s[C], C.op.axis[at])
            s[C].parallel(C.op.axis[0])
            check(s, {A: a}, {C: a * 3 + a[:, ::-1] * 3}, target)


def test_parallel_at_several_loops(target):
    A, B, C, a, b, expected = matmul(m=9, n=33, depth=5)
    s = te.create_schedule(C)
    i, j = C.op.axis
    jo, ji = s[C].split(j, 8)
    s[C].parallel(i)
    s[C].parallel(jo)
    s[C].vectorize(ji)
    check(s, {A: a, B: b}, {C: expected}, target)


def test_a_schedule_is_built_scheduled_and_built_again(target):
    A, B, C, a, b, expected = matmul(m=20, n=33, depth=5)
    s = te.create_schedule(C)
    for go_on in (lambda: None, lambda: s[C].split(C.op.axis[0], 8), lambda: s[C].vectorize(C.op.axis[1])):
        go_on()
        check(s, {A: a, B: b}, {C: expected}, target)
        assert "C" in str(s) and "kernel" in str(tw.lower(s, [A, B, C]))


# -------------------------------------------------------------------------------------------------------------- extremes


@pytest.mark.parametrize("way", ["default", "root", "inline"])
def test_two_thousand_stages(way):
    X = te.placeholder((8,), name="X")
    stages = [X]
    for _ in range(2000):
        stages.append(te.compute((8,), lambda i: stages[-1][i] + 1.0))
    s = None if way == "default" else te.create_schedule(stages[-1])
    if way == "inline":
        for t in stages[1:-1]:
            s[t].compute_inline()
    begin = time.monotonic()
    check(s, {X: np.zeros(8, "float32")}, {stages[-1]: np.full(8, 2000.0)}, tw.Target.host())
    assert time.monotonic() - begin < 60


@needs_llvm
def test_a_loop_unrolled_to_the_limit_compiles_in_seconds():
    X = te.placeholder((4096,), name="X")
    Y = te.compute((4096,), lambda i: te.tanh(X[i]) + te.exp(X[i]), name="Y")
    s = te.create_schedule(Y)
    s[Y].unroll(Y.op.axis[0])
    x = array(4096)
    begin = time.monotonic()
    check(s, {X: x}, {Y: np.tanh(x) + np.exp(x)}, tw.Target.host())
    assert time.monotonic() - begin < 60


def test_a_sum_of_five_thousand_terms():
    X = te.placeholder((8,), name="X")
    Y = te.compute((8,), lambda i: sum((X[i] for _ in range(4999)), X[i]))
    check(te.create_schedule(Y), {X: np.ones(8, "float32")}, {Y: np.full(8, 5000.0)}, tw.Target.host())


# --------------------------------------------------------------------------------------------------- kernels in the world


@needs_llvm
@pytest.mark.parametrize("name", ["exp", "main", "memcpy", "malloc", "k", "k", "_start"])
def test_kernel_names_collide_with_nothing(name, tmp_path):
    A, B, C, a, b, expected = matmul(m=9, n=33, depth=5)
    f = tw.build([A, B, C], name=name)
    for kind in ("o", "so"):
        f.save(str(tmp_path / f"kernel.{kind}"))
    undefined = subprocess.run(["nm", "-u", tmp_path / "kernel.o"], capture_output=True, text=True, check=True).stdout
    assert undefined == ""
    for g in (f, tw.load(str(tmp_path / "kernel.so"))):
        c = np.zeros((9, 33), "float32")
        g(a, b, c)
        np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-5)


@needs_llvm
def test_the_header_compiles_and_calls(tmp_path):
    A, B, C, a, b, expected = matmul(m=2, n=3, depth=2)
    tw.build([A, B, C], name="mm").save(str(tmp_path / "mm.o"))
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "mm.h"\n'
        "int main(void) {\n  float a[4] = {1, 2, 3, 4}, b[6] = {1, 0, 1, 0, 1, 1}, c[6];\n"
        "  if (mm_run(a, b, c)) return 1;\n"
        '  for (int i = 0; i < 6; ++i) printf("%g ", c[i]);\n  return 0;\n}\n'
    )
    program = tmp_path / "main"
    subprocess.run(["cc", "-Wall", "-Werror", "-o", program, tmp_path / "main.c", tmp_path / "mm.o"], check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout.split() == ["1", "2", "3", "3", "4", "7"]


def test_eight_python_threads():
    A, B, C, a, b, expected = matmul(m=64, n=64, depth=33)
    s = te.create_schedule(C)
    s[C].parallel(C.op.axis[0])
    f = tw.build(s, [A, B, C])
    wrong = []

    def work():
        for _ in range(20):
            c = np.zeros((64, 64), "float32")
            f(a, b, c)
            if not np.allclose(c, expected, rtol=1e-4, atol=1e-4):
                wrong.append(c)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)


def test_eight_python_threads_build():
    results = []

    def work(n):
        A, B, C, a, b, expected = matmul(m=8 + n, n=16, depth=5)
        c = np.zeros((8 + n, 16), "float32")
        tw.build([A, B, C])(a, b, c)
        results.append(np.allclose(c, expected, rtol=1e-4, atol=1e-4))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert results == [True] * 8


def test_a_forked_child_builds_and_calls():
    program = (
        "import os, numpy as np, tensorwright as tw\nfrom tensorwright import te\n"
        "A = te.placeholder((1000,), name='A')\nB = te.compute((1000,), lambda i: A[i] + 1, name='B')\n"
        "s = te.create_schedule(B)\no, i = s[B].split(B.op.axis[0], 8)\ns[B].parallel(o)\nf = tw.build(s, [A, B])\n"
        "def call():\n  b = np.zeros(1000, 'f')\n  f(np.ones(1000, 'f'), b)\n  g = tw.build([A, B])\n  g(b, c := np.zeros(1000, 'f'))\n"
        "  return (b == 2).all() and (c == 3).all()\n"
        "assert call()\npid = os.fork()\nif pid == 0: os._exit(0 if call() else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0 and call()\nprint('fine')\n"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120).stdout == "fine\n"


@needs_llvm
def test_time_and_sources():
    A, B, C, a, b, _ = matmul(m=9, n=33, depth=5)
    f = tw.build([A, B, C])
    t = f.time(a, b, np.zeros((9, 33), "float32"))
    assert t.median > 0 and t.spread >= 0 and len(t.runs) > 0
    assert all(f.source(kind) for kind in ("ir", "llvm", "asm"))
    assert str(tw.default_schedule([A, B, C])) and tw.default_schedule([A, B, C]).steps
    before = tw.num_threads()
    tw.set_num_threads(1)
    assert tw.num_threads() == 1
    tw.set_num_threads(before)
