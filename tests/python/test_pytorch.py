"""Calls with tensors of PyTorch, and with arrays of types that a library has registered with NumPy."""

import ml_dtypes
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te


def turned(dtype):
    A = te.placeholder((3, 4), dtype, name="A")
    return tw.build([A, te.compute((4, 3), lambda i, j: A[j, i], name="B")], target="interp", name="turned")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8", "uint8", "int64"])
def test_tensors(dtype):
    torch = pytest.importorskip("torch", reason="skipped: no PyTorch")
    a = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    b = torch.zeros(4, 3, dtype=a.dtype)
    turned(dtype)(a, b)
    assert torch.equal(b, a.T)


def test_refusals_are_those_of_arrays():
    torch = pytest.importorskip("torch", reason="skipped: no PyTorch")
    f, a, b = turned("float32"), torch.ones(3, 4), torch.zeros(4, 3)
    for given, what in ((a.double(), "dtype must be float32, not float64"), (b, "shape must be"), (b.T, "must be compact"),
                        (a.clone().requires_grad_(), "must not require grad"), (a.reshape(12), "rank and shape must be")):
        with pytest.raises(tw.Error, match=what):
            f(given, b)
    with pytest.raises(tw.Error, match="must not share memory"):
        f(b.reshape(3, 4), b)
    assert torch.equal(b, torch.zeros(4, 3))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_registered_types(dtype):
    """One is not taken for another, of whose size it is."""
    types = {name: np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")}
    f, a = turned(dtype), np.arange(12).reshape(3, 4)
    for name in (*types, *types):
        given, b = a.astype(types[name]), np.zeros((4, 3), types[dtype])
        if name == dtype:
            f(given, b)
            np.testing.assert_array_equal(b, given.T)
        else:
            with pytest.raises(tw.Error, match=f"must be {dtype}, not {name}"):
                f(given, b)
