"""Kernels of any size that nobody has scheduled: tiles and packing of a known size, right at every one."""

import ml_dtypes
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")
SIZES = (1, 2, 7, 16, 33, 70, 1030)


def product(m, n, k, left="float32", right="float32", wide="float32", param=False):
    a, b = te.placeholder((m, k), left, name="A"), te.placeholder((k, n), right, name="B", param=param)
    t = te.reduce_axis((0, k), name="t")
    return [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, t].astype(wide) * b[t, j].astype(wide), axis=t), name="C")]


def numbers(rng, shape, dtype):
    low, high = (0, 256) if dtype == "uint8" else (-128, 128) if dtype == "int8" else (-4, 5)
    return rng.integers(low, high, shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


@pytest.mark.parametrize("types", [("float32",) * 3, ("uint8", "int8", "int32"), ("bfloat16", "bfloat16", "float32")])
@pytest.mark.parametrize("varies", ["m", "n", "k", "mn", "mnk"])
@pytest.mark.parametrize("param", [False, True])
def test_products(types, varies, param):
    rng = np.random.default_rng(0)
    names = {name: te.var(name) for name in varies}
    f = tw.build(product(*(names.get(name, extent) for name, extent in (("m", 9), ("n", 48), ("k", 36))), *types, param=param))
    for size in SIZES:
        m, n, k = (size if name in varies else extent for name, extent in (("m", 9), ("n", 48), ("k", 36)))
        a, b, c = numbers(rng, (m, k), types[0]), numbers(rng, (k, n), types[1]), np.full((m, n), 99, types[2])
        f(a, f.pack("B", b) if f.packed_params else b, c)
        np.testing.assert_array_equal(c, a.astype("float64") @ b.astype("float64"))


@pytest.mark.parametrize("operator", ["softmax", "layer_norm"])
@pytest.mark.parametrize("rows", [False, True])
def test_rows(operator, rows):
    n = te.var("n")
    x = te.placeholder((n, 50) if rows else (6, n), name="X")
    ones = [te.placeholder(x.shape[1:], name=name) for name in "GB"] if operator == "layer_norm" else []
    out = tw.ops.layer_norm(x, *ones) if ones else tw.ops.softmax(x)
    f = tw.build([x, *ones, out])
    for size in SIZES[1:]:
        data = np.random.default_rng(size).standard_normal((size, 50) if rows else (6, size)).astype("float32")
        got, given = np.empty_like(data), [np.ones(data.shape[1], "float32"), np.zeros(data.shape[1], "float32")][:len(ones)]
        f(data, *given, got)
        wide = data.astype("float64")
        if ones:
            expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
        else:
            expected = np.exp(wide - wide.max(-1, keepdims=True))
            expected /= expected.sum(-1, keepdims=True)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_what_the_schedule_is():
    """Weights are packed, groups of terms are one instruction; the same on any machine."""
    args = product(te.var("n"), 768, 768, "bfloat16", "bfloat16", "float32", param=True)
    text = tw.default_schedule(args, "llvm -mcpu=znver4").to_python()
    assert 'tensorize(C_local_ji, "avx512_bf16_dot_16x2")' in text and "transform_layout" in text
    columns = tw.default_schedule(product(32, te.var("n"), 128), "llvm -mcpu=znver4").to_python()
    assert "cache_write" in columns


@pytest.mark.parametrize("target", ["llvm -mcpu=sapphirerapids", "llvm -mcpu=znver4", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1"])
@pytest.mark.parametrize("types", [("uint8", "int8", "int32"), ("int8", "int8", "int32"), ("bfloat16", "bfloat16", "float32")])
@pytest.mark.parametrize("varies", ["m", "n", "k", "mn", "mnk"])
def test_narrow_products_have_tiles_on_cpus_that_multiply_groups(target, types, varies):
    """Where no schedule of its instructions holds for any size, one without some of them does."""
    names = {name: te.var(name) for name in varies}
    args = product(*(names.get(name, 96) for name in "mnk"), *types)
    s = tw.default_schedule(args, target)
    assert "cache_write(C" in s.to_python()
    f, rng = tw.build(s, args, target="interp"), np.random.default_rng(0)
    for size in (1, 19, 40):
        m, n, k = (size if name in varies else 96 for name in "mnk")
        a, b, c = numbers(rng, (m, k), types[0]), numbers(rng, (k, n), types[1]), np.full((m, n), 99, types[2])
        f(a, b, c)
        np.testing.assert_array_equal(c, a.astype("float64") @ b.astype("float64"))
    for value in (64, 500):
        first, *others = names.values()
        task = tw.autotune.Task.at_size(args, first, value, target, others={v: 64 for v in others})
        assert any(task._core.is_legal(candidate) for candidate in range(0, len(task.space), max(1, len(task.space) // 50)))


def test_what_has_no_space_goes_by_rules():
    n = te.var("n")
    k, state = te.placeholder((n, 8), name="K"), te.placeholder((n, 8), name="S")
    first = te.compute((1, 8), lambda t, c: k[0, c], name="first")
    update = te.compute((n, 8), lambda t, c: state[t - 1, c] + k[t, c], name="update")
    f = tw.build([k, te.scan(first, update, state, name="sums")])
    data = np.arange(80, dtype="float32").reshape(10, 8)
    out = np.empty_like(data)
    f(data, out)
    np.testing.assert_array_equal(out, np.cumsum(data, 0))


@pytest.mark.parametrize("axes", [6, 7, 8])
def test_many_axes_are_many_elements(axes):
    """Of eight axes of any size each is taken for 1024: more elements than 64 bits count."""
    sizes = [te.var(f"n{d}") for d in range(axes)]
    a = te.placeholder(sizes, name="A")
    args = [a, te.compute(sizes, lambda *at: a[at] * 2, name="B")]
    text = tw.default_schedule(args, "llvm -mcpu=znver4").to_python()
    assert "vectorize" in text and "parallel" in text


@pytest.mark.parametrize("function", ["exp", "sqrt", "sin", "log1p", "cbrt"])
def test_by_rules_what_is_dear_is_computed_once(function):
    """Not in each term of a sum that reads it. So many axes of any size have no space."""
    sizes = [te.var(f"n{d}") for d in range(7)]
    a = te.placeholder(sizes, name="A")
    dear = te.compute(sizes, lambda *at: getattr(te, function)(a[at]), name="dear")
    cheap = te.compute(sizes, lambda *at: te.abs(a[at]), name="cheap")
    k = te.reduce_axis((0, sizes[6]), name="k")
    args = [a, te.compute(sizes[:6], lambda *at: te.sum(dear[(*at, k)] * cheap[(*at, k)], axis=k), name="C")]
    text = tw.default_schedule(args, "llvm -mcpu=znver4").to_python()
    assert "s[cheap].compute_inline()" in text and "s[dear].compute_inline()" not in text
