"""What tests of scheduled programs share: the targets they run on, data, and the comparison with NumPy."""

import json

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

HAS_LLVM = tw.Target.host().kind == "llvm"
needs_llvm = pytest.mark.skipif(not HAS_LLVM, reason="skipped: this build has no LLVM")
TARGETS = ["interp"] + [pytest.param(t, marks=needs_llvm) for t in ("llvm", "llvm -mcpu=native", "llvm -mcpu=x86-64-v3")]
on_each_target = pytest.mark.parametrize("target", TARGETS)
RNG = np.random.default_rng(0)
M, N, K = 67, 96, 41


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


def matmul(ta=False, tb=False, m=M, n=N, depth=K, dtype="float32"):
    A = te.placeholder((depth, m) if ta else (m, depth), dtype, name="A")
    B = te.placeholder((n, depth) if tb else (depth, n), dtype, name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((m, n), lambda i, j: te.sum((A[k, i] if ta else A[i, k]) * (B[j, k] if tb else B[k, j]), axis=k), name="C")
    a, b = array(A.shape, dtype), array(B.shape, dtype)
    return A, B, C, a, b, (a.T if ta else a) @ (b.T if tb else b)


def product(m=33, n=34, k=35, dtype="float32"):
    """The tensors of A @ B, as a task takes them."""
    A, B = te.placeholder((m, k), dtype, name="A"), te.placeholder((k, n), dtype, name="B")
    r = te.reduce_axis((0, k), name="r")
    return [A, B, te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")]


def run(s, tensors, arrays, target):
    """What the kernel writes to its last argument; the others are ``arrays``."""
    out = np.full([int(extent) for extent in tensors[-1].shape], 77, tensors[-1].dtype)
    tw.build(s, tensors, target=target)(*arrays, out)
    return out


def refused(error, text, f):
    """That f raises this error, with this in its text."""
    with pytest.raises(error) as caught:
        f()
    assert text in str(caught.value), str(caught.value)
