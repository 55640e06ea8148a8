"""softmax, log_softmax and normalisations against PyTorch."""

import numpy as np
import pytest
from stock import close, needs_torch, normal, run, torch

import tensorwright as tw
from tensorwright import te

ops = tw.ops


@needs_torch
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_along_any_axis(name):
    rng = np.random.default_rng(1)
    for shape, axis in [((7, 13), -1), ((7, 13), 0), ((3, 5, 17), 1), ((1, 1), 1), ((33,), 0), ((2, 3, 1, 4), -3)]:
        x = normal(rng, *shape) * 4
        close(run(lambda a, axis=axis: getattr(ops, name)(a, axis), x), getattr(torch, name)(torch.from_numpy(x), axis))


@needs_torch
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_what_is_not_finite(name):
    inf, nan = np.inf, np.nan
    x = np.array([[1, -inf, 3], [-inf, -inf, -inf], [inf, 0, 1], [nan, 0, 1], [0, 1, nan], [1e38, -1e38, 88], [-1e38, -1e38, -1e38]], "float32")
    for columns in (x, np.repeat(x, 7, axis=1)):
        close(run(getattr(ops, name), columns), getattr(torch, name)(torch.from_numpy(columns), 1))


@needs_torch
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_softmax_dtypes(dtype):
    x = normal(np.random.default_rng(2), 5, 37, dtype=dtype)
    close(run(ops.softmax, x), torch.softmax(torch.from_numpy(x).double(), 1).numpy().astype(dtype))


def test_bfloat16_is_calculated_in_float32():
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x = normal(np.random.default_rng(7), 5, 300, dtype="bfloat16")
    wide = x.astype("float32")
    for name in ("softmax", "log_softmax", "layer_norm", "rms_norm", "sum", "gelu"):
        got, exact = run(getattr(ops, name), x), run(getattr(ops, name), wide)
        np.testing.assert_array_equal(got.astype("float32"), exact.astype(x.dtype).astype("float32"), name)


@needs_torch
def test_layer_norm():
    rng = np.random.default_rng(3)
    for shape, dimensions in [((5, 37), 1), ((2, 3, 19), 1), ((2, 5, 7), 2), ((1, 1), 1), ((4, 64), 2)]:
        x, gamma, beta = normal(rng, *shape) * 3 + 5, normal(rng, *shape[-dimensions:]), normal(rng, *shape[-dimensions:])
        got = run(lambda a, g, b, d=dimensions: ops.layer_norm(a, g, b, dimensions=d, epsilon=1e-3), x, gamma, beta)
        t = [torch.from_numpy(v) for v in (x, gamma, beta)]
        close(got, torch.nn.functional.layer_norm(t[0], shape[-dimensions:], t[1], t[2], 1e-3), rtol=1e-4)
    x = normal(rng, 6, 11, dtype="float16")
    close(run(ops.layer_norm, x), torch.nn.functional.layer_norm(torch.from_numpy(x).float(), (11,)).half())


@needs_torch
def test_rms_norm():
    rng = np.random.default_rng(4)
    for shape in [(5, 37), (2, 3, 16)]:
        x, gamma = normal(rng, *shape), normal(rng, shape[-1])
        expected = torch.nn.functional.rms_norm(torch.from_numpy(x), shape[-1:], torch.from_numpy(gamma), 1e-5)
        close(run(ops.rms_norm, x, gamma), expected)


@needs_torch
@pytest.mark.parametrize("axis", [1, -1])
def test_batch_norm(axis):
    rng = np.random.default_rng(5)
    x = normal(rng, 3, 6, 5, 7) * 2 + 1
    gamma, beta, mean, variance = normal(rng, 6), normal(rng, 6), normal(rng, 6), np.abs(normal(rng, 6))
    ours = x if axis == 1 else np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    back = (lambda y: y) if axis == 1 else (lambda y: y.transpose(0, 3, 1, 2))
    t = torch.from_numpy
    got = run(lambda a, m, v, g, b: ops.batch_norm(a, m, v, g, b, axis=axis), ours, mean, variance, gamma, beta)
    close(back(got), torch.nn.functional.batch_norm(t(x), t(mean), t(variance), t(gamma), t(beta)))
    got, means, variances = run(lambda a, g, b: ops.batch_norm_training(a, g, b, axis=axis), ours, gamma, beta)
    close(back(got), torch.nn.functional.batch_norm(t(x), None, None, t(gamma), t(beta), training=True), rtol=1e-4)
    close(means, t(x).mean((0, 2, 3)))
    close(variances, t(x).var((0, 2, 3), correction=0))


@needs_torch
def test_group_and_instance_norm():
    rng = np.random.default_rng(6)
    t = torch.from_numpy
    for shape, groups in [((2, 12, 5, 3), 4), ((3, 6, 7), 6), ((1, 8, 2, 3, 2), 1)]:
        x, gamma, beta = normal(rng, *shape) + 2, normal(rng, shape[1]), normal(rng, shape[1])
        got = run(lambda a, g, b, n=groups: ops.group_norm(a, n, g, b), x, gamma, beta)
        close(got, torch.nn.functional.group_norm(t(x), groups, t(gamma), t(beta)), rtol=1e-4)
        got = run(lambda a, g, b: ops.instance_norm(a, g, b), x, gamma, beta)
        close(got, torch.nn.functional.instance_norm(t(x), weight=t(gamma), bias=t(beta)), rtol=1e-4)
    x = normal(rng, 2, 4, 5, 12)
    got = run(lambda a: ops.group_norm(a, 3, axis=-1), x)
    expected = torch.nn.functional.group_norm(t(x).permute(0, 3, 1, 2), 3).permute(0, 2, 3, 1)
    close(got, expected.contiguous(), rtol=1e-4)


def test_refusals():
    x, whole = te.placeholder((4, 6, 5), name="x"), te.placeholder((4, 6), "int32", "whole")
    with pytest.raises(tw.DTypeError, match=r"softmax: x must be of floats, not int32(.|\n)*x: int32\[4, 6\]"):
        ops.softmax(whole)
    with pytest.raises(tw.ExprError, match=r"softmax: axis must lie in -3..2, not 3"):
        ops.softmax(x, 3)
    with pytest.raises(tw.ExprError, match=r"layer_norm: gamma must have shape \[5\], not \[6\]"):
        ops.layer_norm(x, te.placeholder((6,), name="gamma"))
    with pytest.raises(tw.ArgumentError, match=r"layer_norm: dimensions must lie in 1..3, not 0"):
        ops.layer_norm(x, dimensions=0)
    with pytest.raises(tw.ArgumentError, match=r"group_norm: groups must divide the 6 channels, not be 4"):
        ops.group_norm(x, 4)
    with pytest.raises(tw.ArgumentError, match=r"rms_norm: epsilon must be a finite number from 0 on, not -1"):
        ops.rms_norm(x, epsilon=-1)
    with pytest.raises(tw.ExprError, match=r"batch_norm: mean must have shape \[6\], not \[5\]"):
        ops.batch_norm(x, te.placeholder((5,), name="mean"), te.placeholder((6,), name="variance"))
    with pytest.raises(tw.Error) as caught:
        ops.softmax(x, 7)
    assert caught.value.file == __file__
