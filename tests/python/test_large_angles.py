"""sin, cos and tan: lanes whose angle has few turns beside such as take the long way to their quadrant."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

LIMIT = 2.0**20


def angles(dtype, large):
    rng = np.random.default_rng(3)
    x = rng.uniform(-100, 100, 256).astype(dtype)
    x[::5] = rng.uniform(-LIMIT, LIMIT, len(x[::5])).astype(dtype)
    multiples = (np.arange(-20, 20) * (np.pi / 2)).astype(dtype)
    x[100:140] = np.where(np.arange(40) % 2 == 0, multiples, np.nextafter(multiples, dtype(9)))
    x[:8] = [0.0, -0.0, 1e-30, LIMIT, -LIMIT, np.nextafter(dtype(LIMIT), dtype(0)), 1e-5, 3.0]
    if large:
        x[9::16] = rng.uniform(-1, 1, 16).astype(dtype) * dtype(1e30)
        x[33], x[57], x[77], x[90] = np.inf, -np.inf, np.nan, np.nextafter(dtype(LIMIT), dtype(np.inf))
    return x


def computed(name, x, target):
    A = te.placeholder(x.shape, str(x.dtype), "A")
    s = te.create_schedule(B := te.compute(x.shape, lambda i: getattr(te, name)(A[i]), name="B"))
    s[B].vectorize(s[B].split(s[B].op.axis[0], 32)[1])
    out = np.full_like(x, 7)
    tw.build(s, [A, B], target=target)(x, out)
    return out


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_lanes_take_the_way_that_they_need(name, dtype, large):
    x = angles(dtype, large)
    with np.errstate(invalid="ignore"):
        exact = getattr(np, name)(x.astype("float64" if dtype is np.float32 else "longdouble"))
    apart = 1.02 if dtype is np.float32 else 1.6
    for target in ("interp", "llvm", str(tw.Target.host()), "c"):
        out = computed(name, x, target)
        np.testing.assert_array_equal(np.isnan(out), np.isnan(exact))
        known = ~np.isnan(exact)
        units = np.abs(out[known] - exact[known]) / np.spacing(np.abs(out[known]))
        assert units.max() <= apart, (target, x[known][units.argmax()])
    assert np.signbit(computed("sin", x, str(tw.Target.host()))[1]) and computed("cos", x, "interp")[0] == 1


def test_the_long_way_is_a_branch():
    A = te.placeholder((256,), name="A")
    s = te.create_schedule(B := te.compute((256,), lambda i: te.sin(A[i]), name="B"))
    s[B].vectorize(s[B].split(s[B].op.axis[0], 16)[1])
    text = tw.build(s, [A, B], target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4").source("llvm")
    assert "some:" in text and "vector.reduce.and" in text
    assert "if (fabsf(" in tw.build(s, [A, B], target="c").source("c")
