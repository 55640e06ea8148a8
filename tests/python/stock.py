"""Runs stock operators on arrays, to compare them with PyTorch or NumPy."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="compared with PyTorch (python/requirements-peers.txt), which is not installed")

RTOL = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5, "float64": 1e-12}


def placeholders(arrays, names=None):
    names = names or [f"X{i}" for i in range(len(arrays))]
    return [te.placeholder(a.shape, str(a.dtype), name) for a, name in zip(arrays, names, strict=True)]


def run(operator, *arrays, target=None):
    """operator(*placeholders) of these arrays: one array, or a tuple where it gives several tensors."""
    inputs = placeholders(arrays)
    outputs = operator(*inputs)
    several = isinstance(outputs, (tuple, list))
    outputs = list(outputs) if several else [outputs]
    f = tw.build([*inputs, *outputs], target=target)
    results = [np.full(out.shape, 77, out.dtype) for out in outputs]
    f(*arrays, *results)
    return tuple(results) if several else results[0]


def close(got, expected, rtol=None):
    """Within the precision of the dtype, relative to the largest value; NaN and infinities where they are expected."""
    expected = expected.detach().numpy() if torch is not None and isinstance(expected, torch.Tensor) else np.asarray(expected)
    assert got.shape == expected.shape
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
        return
    rtol = rtol or RTOL[str(got.dtype)]
    finite = expected[np.isfinite(expected)]
    scale = float(np.abs(finite).max()) if finite.size else 0.0
    np.testing.assert_allclose(got.astype("float64"), expected.astype("float64"), rtol=rtol, atol=rtol * min(scale, 1.0) + 1e-30)


def normal(rng, *shape, dtype="float32"):
    return rng.standard_normal(shape).astype(dtype)


def integers(rng, dtype, *shape):
    """All that the type has."""
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
