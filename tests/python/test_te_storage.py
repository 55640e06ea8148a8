"""Dtypes of storage: float8 as ml_dtypes has it."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

ml_dtypes = pytest.importorskip("ml_dtypes")
FLOAT8 = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}
TARGETS = ["interp", "llvm", "llvm -mcpu=x86-64", "c"]


def convert(x, dtype, target):
    A = te.placeholder(x.shape, x.dtype, name="A")
    C = te.compute(x.shape, lambda *i: A(*i).astype(dtype), name="C")
    s = te.create_schedule(C)
    outer, inner = s[C].split(C.op.axis[-1], factor=16)
    s[C].vectorize(inner)
    s[C].parallel(outer)
    out = np.zeros(x.shape, FLOAT8.get(dtype, dtype))
    tw.build(s, [A, C], target=target)(x, out)
    return out


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FLOAT8)
def test_all_patterns_widen(name, target):
    x = np.arange(256, dtype="uint8").view(FLOAT8[name])
    for dtype in ("float32", "float64", "float16"):
        np.testing.assert_array_equal(convert(x, dtype, target), x.astype(dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FLOAT8)
def test_narrowing_is_that_of_ml_dtypes(name, target):
    random = np.random.default_rng(3)
    x = np.concatenate([random.standard_normal(3000) * 2.0 ** random.integers(-20, 18, 3000), [np.inf, -np.inf, np.nan, 0.0, -0.0, 464, 480, 465, 61440, 61439]])
    for dtype in ("float32", "float16"):
        with np.errstate(over="ignore"):
            given = x.astype(dtype)
        got, expected = convert(given, name, target), given.astype(FLOAT8[name])
        np.testing.assert_array_equal(got.astype("float32"), expected.astype("float32"))


def test_float8_weights():
    """Stored in 8 bits, calculated in float32."""
    W = te.placeholder((40, 24), "float8_e4m3fn", name="W")
    x = te.placeholder((24,), name="x")
    k = te.reduce_axis((0, 24), name="k")
    y = te.compute((40,), lambda i: te.sum(W[i, k].astype("float32") * x[k], axis=k), name="y")
    s = te.create_schedule(y)
    outer, inner = s[y].split(y.op.axis[0], factor=8)
    s[y].reorder(outer, k, inner)
    s[y].vectorize(inner)
    w = np.random.default_rng(4).standard_normal((40, 24)).astype(ml_dtypes.float8_e4m3fn)
    v = np.random.default_rng(5).standard_normal(24).astype("float32")
    out = np.zeros(40, "float32")
    tw.build(s, [W, x, y])(w, v, out)
    np.testing.assert_allclose(out, w.astype("float32") @ v, rtol=1e-5, atol=1e-5)
