"""Activations, reductions, argmax and running sums against PyTorch and NumPy."""

import numpy as np
import pytest
from stock import close, needs_torch, normal, run, torch

import tensorwright as tw
from tensorwright import te

ops = tw.ops
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3.0, -3.0, 20.5, -20.5, 100.0, -100.0, 1e30, -1e30], "float32")
F = torch.nn.functional if torch is not None else None
ACTIVATIONS = {
    "relu": (ops.relu, lambda x: F.relu(x)),
    "sigmoid": (ops.sigmoid, lambda x: torch.sigmoid(x)),
    "tanh": (ops.tanh, lambda x: torch.tanh(x)),
    "silu": (ops.silu, lambda x: F.silu(x)),
    "mish": (ops.mish, lambda x: F.mish(x)),
    "hardsigmoid": (ops.hardsigmoid, lambda x: F.hardsigmoid(x)),
    "hardswish": (ops.hardswish, lambda x: F.hardswish(x)),
    "gelu": (ops.gelu, lambda x: F.gelu(x)),
    "gelu_tanh": (lambda x: ops.gelu(x, approximate="tanh"), lambda x: F.gelu(x, approximate="tanh")),
    "leaky_relu": (lambda x: ops.leaky_relu(x, slope=0.2), lambda x: F.leaky_relu(x, 0.2)),
    "elu": (lambda x: ops.elu(x, alpha=1.5), lambda x: F.elu(x, 1.5)),
    "softplus": (lambda x: ops.softplus(x, beta=2, threshold=10), lambda x: F.softplus(x, 2, 10)),
    "clip": (lambda x: ops.clip(x, -1, 2), lambda x: torch.clip(x, -1, 2)),
}


@needs_torch
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    ours, theirs = ACTIVATIONS[name]
    x = np.concatenate([normal(np.random.default_rng(1), 201) * 4, SPECIAL])
    expected = theirs(torch.from_numpy(x).double()).numpy()
    got = run(ours, x)
    np.testing.assert_allclose(got, expected.astype("float32"), rtol=5e-6, atol=3e-7)
    half = x[:201].astype("float16").reshape(3, 67)
    expected = theirs(torch.from_numpy(half).double()).numpy().astype("float16")
    np.testing.assert_allclose(run(ours, half).astype("float32"), expected.astype("float32"), rtol=1e-3, atol=1e-7)


@needs_torch
def test_prelu_and_clip_of_integers():
    x, slope = normal(np.random.default_rng(2), 2, 5, 3), normal(np.random.default_rng(3), 5)
    close(run(ops.prelu, x, slope), F.prelu(torch.from_numpy(x), torch.from_numpy(slope)))
    close(run(ops.prelu, x, slope[:1].copy()), F.prelu(torch.from_numpy(x), torch.from_numpy(slope[:1])))
    whole = np.arange(-128, 128, dtype="int8")
    close(run(lambda a: ops.clip(a, -5, 300), whole), np.clip(whole, -5, 127))
    close(run(ops.relu, whole), np.maximum(whole, 0))


AXES = [((7, 13), None), ((7, 13), 0), ((7, 13), -1), ((3, 4, 5), (0, 2)), ((2, 3, 4, 5), (1, -1)), ((1, 1), 1), ((65,), 0)]


@needs_torch
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "logsumexp", "var", "std"])
def test_reductions(name):
    rng = np.random.default_rng(4)
    for shape, axis in AXES:
        x = normal(rng, *shape)
        t = torch.from_numpy(x).double()
        axes = tuple(range(len(shape))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        for keepdims in (False, True):
            theirs = t
            if name == "prod":
                for a in sorted((a % len(shape) for a in axes), reverse=True):
                    theirs = torch.prod(theirs, a, keepdim=keepdims)
            else:
                theirs = getattr(torch, {"max": "amax", "min": "amin"}.get(name, name))(t, axes, keepdim=keepdims)
            close(run(lambda a, axis=axis, k=keepdims: getattr(ops, name)(a, axis, keepdims=k), x), theirs.float(), rtol=1e-4)


@needs_torch
def test_extremes_of_what_is_not_finite():
    inf, nan = np.inf, np.nan
    x = np.array([[1, nan, 3], [nan, 1, 2], [3, 2, nan], [-inf, -inf, -inf], [inf, -inf, 0]], "float32")
    for wide in (x, np.repeat(x, 11, axis=1)):
        t = torch.from_numpy(wide)
        close(run(lambda a: ops.max(a, 1), wide), t.amax(1))
        close(run(lambda a: ops.min(a, 1), wide), t.amin(1))
        close(run(lambda a: ops.max(a, 0), wide), t.amax(0))
        close(run(lambda a: ops.logsumexp(a, 1), wide), t.logsumexp(1))
        close(run(lambda a: ops.argmax(a, 1), wide), t.argmax(1).int())
        close(run(lambda a: ops.argmin(a, 1), wide), t.argmin(1).int())


@needs_torch
def test_dtypes_of_sums():
    rng = np.random.default_rng(5)
    whole = rng.integers(-128, 128, (5, 300), "int8")
    close(run(lambda a: ops.sum(a, 1), whole), torch.from_numpy(whole).sum(1))
    close(run(lambda a: ops.sum(a, dtype="int32"), whole), whole.sum(dtype="int32"))
    close(run(lambda a: ops.prod(a, 1), whole[:, :5].copy()), torch.from_numpy(whole[:, :5]).prod(1))
    flags = whole > 0
    close(run(lambda a: ops.sum(a, 0), flags), torch.from_numpy(flags).sum(0))
    half = np.full((2, 4000), 1.25, "float16")  # a sum in float16 would stop at 2048
    close(run(lambda a: ops.sum(a, 1), half), np.full(2, 5000, "float16"))
    close(run(lambda a: ops.sum(a, 1, dtype="float32"), half), np.full(2, 5000, "float32"))
    close(run(lambda a: ops.max(a, 1), whole), whole.max(1))


@needs_torch
def test_arg_of_first_among_equals():
    rng = np.random.default_rng(6)
    x = rng.integers(0, 4, (9, 70)).astype("float32")
    for axis in (0, 1, -1):
        for name in ("argmax", "argmin"):
            theirs = getattr(torch, name)(torch.from_numpy(x), axis, keepdim=True)
            close(run(lambda a, n=name, axis=axis: getattr(ops, n)(a, axis, keepdims=True, dtype="int64"), x), theirs)
    least = np.full((2, 5), -np.inf, "float32")
    close(run(ops.argmax, least), np.zeros(2, "int32"))
    bytes_ = np.zeros((3, 6), "uint8")
    close(run(ops.argmax, bytes_), np.zeros(3, "int32"))
    close(run(ops.argmin, bytes_ + np.uint8(255)), np.zeros(3, "int32"))


@needs_torch
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_sums_and_products(axis):
    rng = np.random.default_rng(7)
    x = normal(rng, 4, 7, 5)
    t = torch.from_numpy(x).double()
    for reverse in (False, True):
        turned = t.flip(axis) if reverse else t
        back = (lambda y: y.flip(axis)) if reverse else (lambda y: y)
        close(run(lambda a: ops.cumsum(a, axis, reverse=reverse), x), back(turned.cumsum(axis)).float(), rtol=1e-4)
        close(run(lambda a: ops.cumprod(a, axis, reverse=reverse), x), back(turned.cumprod(axis)).float(), rtol=1e-4)
        exclusive = back(turned.cumsum(axis) - turned).float()
        got = run(lambda a: ops.cumsum(a, axis, reverse=reverse, exclusive=True), x)
        np.testing.assert_allclose(got, exclusive.numpy(), rtol=1e-4, atol=1e-5)
    whole = rng.integers(-128, 128, (3, 200), "int8")
    close(run(ops.cumsum, whole), torch.from_numpy(whole).cumsum(-1))
    close(run(ops.cumsum, whole > 0), torch.from_numpy(whole > 0).cumsum(-1))
    ones = np.ones((1, 3000), "float16")
    close(run(ops.cumsum, ones), np.arange(1, 3001).astype("float16")[None])


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("target", ["interp", "llvm -mcpu=native"])
def test_running_sums_of_as_many_as_there_are(target, exclusive):
    n = te.var("n")
    X = te.placeholder((n,), dtype="int64", name="X")
    Y = ops.cumsum(X, exclusive=exclusive)
    f = tw.build(te.create_schedule(Y), [X, Y], target=target)
    for count in (0, 1, 6):  # none: there is no first element to begin with
        x, y = np.arange(1, count + 1), np.zeros(count, "int64")
        f(x, y)
        np.testing.assert_array_equal(y, x.cumsum() - x * exclusive)


def test_refusals():
    x, whole = te.placeholder((4, 6), name="x"), te.placeholder((4, 6), "int32", "whole")
    with pytest.raises(tw.ExprError, match=r"sum: axis must name each dimension once, not 1 twice"):
        ops.sum(x, (1, -1))
    with pytest.raises(tw.DTypeError, match=r"sum: dtype must be one to add up in, not int32"):
        ops.sum(x, dtype="int32")
    with pytest.raises(tw.DTypeError, match=r"mean: x must be of floats, not int32"):
        ops.mean(whole)
    with pytest.raises(tw.ArgumentError, match=r"var: correction must not be negative"):
        ops.var(x, correction=-1)
    with pytest.raises(tw.DTypeError, match=r"max: x must be of numbers, not bool"):
        ops.max(te.placeholder((4,), "bool"))
    with pytest.raises(tw.ExprError, match=r"argmax: axis must not be empty"):
        ops.argmax(te.placeholder((4, 0)))
    with pytest.raises(tw.DTypeError, match=r"argmax: dtype must be int32 or int64, not float32"):
        ops.argmax(x, dtype="float32")
    with pytest.raises(tw.ArgumentError, match=r"gelu: approximate must be \"none\" or \"tanh\", not \"erf\""):
        ops.gelu(x, approximate="erf")
    with pytest.raises(tw.DTypeError, match=r"silu: x must be of floats, not int32"):
        ops.silu(whole)
    with pytest.raises(tw.ArgumentError, match=r"clip: lowest must be at most highest"):
        ops.clip(x, 2, 1)
    with pytest.raises(tw.ArgumentError, match=r"clip: the bounds must be integers"):
        ops.clip(whole, 0.5)
    with pytest.raises(tw.ExprError, match=r"cumsum: axis must lie in -2..1, not 2"):
        ops.cumsum(x, 2)
