"""Programs as tvm people write them, built without a schedule and run, against NumPy."""

import math

import numpy as np
import pytest
from programs import needs_llvm

import tensorwright as tw
from tensorwright import te

RNG = np.random.default_rng(0)


def uniform(shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def conv2d():
    X, W = te.placeholder((1, 3, 9, 10), name="X"), te.placeholder((4, 3, 3, 3), name="W")
    P = te.compute(
        (1, 3, 11, 12), lambda n, c, y, x: te.if_then_else(te.all(y >= 1, y < 10, x >= 1, x < 11), X[n, c, y - 1, x - 1], 0.0), name="P"
    )
    c, i, j = te.reduce_axis((0, 3), "c"), te.reduce_axis((0, 3), "i"), te.reduce_axis((0, 3), "j")
    Y = te.compute((1, 4, 9, 10), lambda n, o, y, x: te.sum(P[n, c, y + i, x + j] * W[o, c, i, j], axis=[c, i, j]), name="Y")
    x, w = uniform(X.shape), uniform(W.shape)
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = [np.einsum("nchw,oc->nohw", p[:, :, a : a + 9, b : b + 10], w[:, :, a, b]) for a in range(3) for b in range(3)]
    return Y, [(X, x), (W, w)], sum(windows)


def softmax():
    A = te.placeholder((5, 17), name="A")
    k = te.reduce_axis((0, 17), "k")
    top = te.compute((5,), lambda i: te.max(A[i, k], axis=k))
    E = te.compute((5, 17), lambda i, j: te.exp(A[i, j] - top[i]))
    total = te.compute((5,), lambda i: te.sum(E[i, k], axis=k))
    a = uniform((5, 17))
    e = np.exp(a - a.max(1, keepdims=True))
    return te.compute((5, 17), lambda i, j: E[i, j] / total[i]), [(A, a)], e / e.sum(1, keepdims=True)


def layer_norm():
    A = te.placeholder((4, 33), "float64", name="A")
    k = te.reduce_axis((0, 33), "k")
    mean = te.compute((4,), lambda i: te.sum(A[i, k] / 33, axis=k))
    variance = te.compute((4,), lambda i: te.sum((A[i, k] - mean[i]) * (A[i, k] - mean[i]) / 33, axis=k))
    B = te.compute((4, 33), lambda i, j: (A[i, j] - mean[i]) * te.rsqrt(variance[i] + te.const(1e-5, "float64")))
    a = uniform((4, 33), "float64")
    return B, [(A, a)], (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)


def integer_matmul():
    A, B = te.placeholder((7, 20), "int8", name="A"), te.placeholder((20, 9), "int8", name="B")
    k = te.reduce_axis((0, 20), "k")
    C = te.compute((7, 9), lambda i, j: te.sum(A[i, k].astype("int32") * B[k, j].astype("int32"), axis=k))
    a, b = RNG.integers(-128, 128, (7, 20), "int8"), RNG.integers(-128, 128, (20, 9), "int8")
    return C, [(A, a), (B, b)], a.astype("int32") @ b.astype("int32")


def gelu():
    A = te.placeholder((65,), name="A")
    a = np.linspace(-4, 4, 65, dtype="float32")
    B = te.compute(A.shape, lambda *i: 0.5 * A(*i) * (1 + te.erf(A(*i) / math.sqrt(2))))
    return B, [(A, a)], np.array([0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in a])


def moved(definition, reference):
    def program():
        A = te.placeholder((6, 10), name="A")
        a = uniform(A.shape)
        expected = reference(a)
        return te.compute(expected.shape, lambda *i: definition(A, *i)), [(A, a)], expected

    return program


def concatenation():
    A, B = te.placeholder((5, 4), name="A"), te.placeholder((3, 4), name="B")
    a, b = uniform((5, 4)), uniform((3, 4))
    C = te.compute((8, 4), lambda i, j: te.if_then_else(i < 5, A[i, j], B[i - 5, j]))
    return C, [(A, a), (B, b)], np.concatenate([a, b])


def running_sum():
    A = te.placeholder((4, 12), name="A")
    k = te.reduce_axis((0, 12), "k")
    a = uniform((4, 12))
    return te.compute((4, 12), lambda i, j: te.sum(A[i, k], axis=k, where=k <= j)), [(A, a)], a.cumsum(1)


def conditions():
    A = te.placeholder((65,), name="A")
    a = np.linspace(-4, 4, 65, dtype="float32")
    return te.compute((65,), lambda i: te.any(A[i] > 1, ~(A[i] >= -1))), [(A, a)], (a > 1) | (a < -1)


def wrapping_product():
    A = te.placeholder((6, 7), "uint8", name="A")
    k = te.reduce_axis((0, 7), "k")
    a = RNG.integers(0, 255, (6, 7), "uint8")
    return te.compute((6,), lambda i: te.prod(A[i, k], axis=k)), [(A, a)], np.prod(a, 1, dtype="uint8")


def chain():
    A = stage = te.placeholder((64,), name="A")
    for _ in range(2000):
        stage = te.compute((64,), lambda i: stage[i] + 1)
    a = uniform(64)
    return stage, [(A, a)], a + 2000


def many_terms():
    A = te.placeholder((64,), name="A")
    a = uniform(64)
    return te.compute((64,), lambda i: sum((A[i] * n for n in range(5000)), A[i])), [(A, a)], a.astype("float64") * (12_497_500 + 1)


PROGRAMS = {f.__name__: f for f in (conv2d, softmax, layer_norm, integer_matmul, gelu, concatenation, running_sum, conditions,
                                    wrapping_product, chain, many_terms)} | {
    "transpose": moved(lambda A, i, j: A[j, i], lambda a: a.T),
    "reshape": moved(lambda A, i: A[i // 10, i % 10], lambda a: a.reshape(-1)),
    "stride": moved(lambda A, i, j: A[i, 2 * j + 1], lambda a: a[:, 1::2]),
    "flip": moved(lambda A, i, j: A[5 - i, 9 - j], lambda a: a[::-1, ::-1]),
    "broadcast": moved(lambda A, n, i, j: A[i, j] + n, lambda a: a + np.arange(3, dtype="float32")[:, None, None]),
}  # fmt: skip


@pytest.mark.parametrize("target", ["interp", pytest.param("llvm -mcpu=native", marks=needs_llvm)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, target):
    tensor, inputs, expected = PROGRAMS[name]()
    out = np.empty(tensor.shape, tensor.dtype)
    tw.build([t for t, _ in inputs] + [tensor], target=target)(*(a for _, a in inputs), out)
    if out.dtype.kind == "f":
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_array_equal(out, expected)
