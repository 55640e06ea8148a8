"""Terms and elements that a condition of indices leaves out: scores of causal attention and of bands, however who reads them is scheduled."""
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

N, D = 150, 20  # of fewer rows some CPUs compute all scores in no more time
LEAST = float("-inf")


def product(name, n):
    return te.reduce_axis((0, n), name=name)


def summed(condition, transposed=False):
    t = product("t", N)
    return lambda s, v: te.compute((N, D), lambda i, c: te.sum(te.if_then_else(
        condition(i, t), (s[t, i] if transposed else s[i, t]) * v[t, c], 0.0), axis=t), name="O")


def largest(condition):
    t = product("t", N)
    return lambda s, v: te.compute((N,), lambda i: te.max(te.if_then_else(condition(i, t), s[i, t], te.const(LEAST, "float32")), axis=t), name="O")


ROWS, COLUMNS = np.indices((N, N))
CASES = {
    "lower": (summed(lambda i, t: t <= i), lambda s, v: np.where(COLUMNS <= ROWS, s, 0) @ v, ""),
    "turned": (summed(lambda i, t: t >= i, True), lambda s, v: np.where(COLUMNS >= ROWS, s.T, 0) @ v, ""),
    "largest": (largest(lambda i, t: t <= i), lambda s, v: np.where(COLUMNS <= ROWS, s, LEAST).max(1), "set_store_predicate("),
    "band": (largest(lambda i, t: te.all(t <= i, t + 5 > i)),
             lambda s, v: np.where((COLUMNS <= ROWS) & (COLUMNS + 5 > ROWS), s, LEAST).max(1), "set_store_predicate(te.all("),
    "all": (largest(lambda i, t: t < i + N), lambda s, v: s.max(1), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_scores_are_computed_where_they_are_asked_for(case):
    q, k, v = (te.placeholder((N, D), name=name) for name in "QKV")
    r = product("r", D)
    s = te.compute((N, N), lambda i, j: te.sum(q[i, r] * k[j, r], axis=r), name="S")
    read, expected, step = CASES[case]
    o = read(s, v)
    tensors = [q, k, v, o] if len(o.shape) == 2 else [q, k, o]
    steps = tw.default_schedule(tensors).to_python()
    assert step in steps and ("set_store_predicate" in steps) == bool(step)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, (N, D)).astype(np.float32) for _ in tensors[:-1]]
    out = np.empty(o.shape, np.float32)
    tw.build(tensors, name="left_out")(*arrays, out)
    np.testing.assert_array_equal(out, expected(arrays[0] @ arrays[1].T, arrays[-1]))


def convolution(dtype, pad):
    """3x3 over 7x7 pixels, padded by a compute of one's own or by an operator."""
    x, w = te.placeholder((7, 7, 4), dtype, name="X"), te.placeholder((3, 3, 4, 32), dtype, name="W")
    if pad == "operator":
        p = tw.ops.pad(x, (1, 1, 0), name="P")
    else:
        p = te.compute((9, 9, 4), lambda h, v, c: te.if_then_else(
            te.all(h >= 1, h < 8, v >= 1, v < 8), x[h - 1, v - 1, c], te.const(0, dtype)), name="P")
    kh, kw, c = te.reduce_axis((0, 3), name="kh"), te.reduce_axis((0, 3), name="kw"), te.reduce_axis((0, 4), name="c")
    total = "int32" if dtype == "int8" else dtype
    y = te.compute((7, 7, 32), lambda h, v, f: te.sum(
        p[h + kh, v + kw, c].astype(total) * w[kh, kw, c, f].astype(total), axis=[kh, kw, c]), name="Y")
    return [x, w, y], p


def terms(x, w):
    padded = np.pad(x.astype(np.float64), ((1, 1), (1, 1), (0, 0)))
    return sum(np.einsum("hvc,cf->hvf", padded[a:a + 7, b:b + 7], w[a, b].astype(np.float64)) for a in range(3) for b in range(3))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("pad", ["operator", "own"])
@pytest.mark.parametrize("inlined", [False, True])
def test_padding_that_is_multiplied(dtype, pad, inlined):
    tensors, p = convolution(dtype, pad)
    s = te.create_schedule(tensors[-1])
    if inlined:
        s[p].compute_inline()
    left_out = inlined and (pad == "operator" or dtype == "int8")
    assert ("] = select(h + kh >= 1" in str(tw.lower(s, tensors)).split("Y[h, v, f] = 0")[-1]) == left_out  # the sum's choice, not an element's
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-3, 4, t.shape).astype(dtype) for t in tensors[:2])
    y = np.empty((7, 7, 32), tensors[-1].dtype)
    f = tw.build(s, tensors)
    f(x, w, y)
    np.testing.assert_array_equal(y, terms(x, w))
    if dtype == "float32":  # 0 * inf is NaN, where it is multiplied
        w[0, 0] = np.inf
        f(np.ones_like(x), w, y)
        assert np.isnan(y[0]).any() != left_out and np.isposinf(y[1:, 1:]).all()


def test_a_schedule_leaves_padding_out_by_itself():
    """Of what multiplies channels of pixels, at each place of a tile other terms."""
    x, w = te.placeholder((1, 7, 7, 64), name="X"), te.placeholder((3, 3, 64, 64), name="W", param=True)
    y = tw.ops.conv2d(x, w, padding=1)
    assert "_pad].compute_inline()" in tw.default_schedule([x, w, y], target="llvm -mcpu=znver4").to_python()
