"""Operators as tvm people write and schedule them, for several targets, against NumPy."""

import numpy as np
import pytest

from programs import HAS_LLVM, array, check, on_each_target
from tensorwright import te


@pytest.mark.parametrize("n", [0, 1, 2, 7, 16, 1023])
@on_each_target
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
@on_each_target
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
@on_each_target
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


@on_each_target
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


@on_each_target
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
@on_each_target
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


@on_each_target
def test_intermediates_are_written_out(target):
    A, top, E, total, D, a, expected = softmax(6, 17)
    e = np.exp(a - a.max(1, keepdims=True))
    check(te.create_schedule(D), {A: a}, {top: a.max(1), D: expected, total: e.sum(1)}, target)


@on_each_target
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
