"""Arithmetic, casts and functions of each dtype, for several targets, against NumPy."""

import math

import numpy as np
import pytest

from programs import array, check, on_each_target
from tensorwright import te

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
@on_each_target
def test_integer_arithmetic_wraps_and_floors(dtype, target):
    n = 75
    A, B = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    a, b = array(n, dtype), array(n, dtype)
    a[:4], b[:4] = np.iinfo(dtype).min, np.iinfo(dtype).max
    b[b == 0] = 3
    if np.iinfo(dtype).min < 0:
        b[b == -1] = 5  # the smallest number divided by -1 has no value
    outs = {
        te.compute((n,), lambda i: A[i] + B[i], name="add"): a + b,
        te.compute((n,), lambda i: A[i] - B[i], name="sub"): a - b,
        te.compute((n,), lambda i: A[i] * B[i], name="mul"): a * b,
        te.compute((n,), lambda i: A[i] // B[i], name="div"): a // b,
        te.compute((n,), lambda i: A[i] % B[i], name="mod"): a % b,
        te.compute((n,), lambda i: te.max(A[i], B[i]), name="max"): np.maximum(a, b),
        te.compute((n,), lambda i: te.select(A[i] < B[i], A[i], B[i]), name="min"): np.minimum(a, b),
        te.compute((n,), lambda i: te.truncmod(A[i], B[i]), name="rem"): np.fmod(a, b),
        te.compute((n,), lambda i: A[i] > B[i], name="greater"): a > b,
        te.compute((n,), lambda i: te.abs(A[i]), name="abs"): np.abs(a),
    }
    s = te.create_schedule(list(outs))
    for t in outs:
        s[t].vectorize(s[t].split(t.op.axis[0], 16)[1])
    check(s, {A: a, B: b}, outs, target)
    check(te.create_schedule(list(outs)), {A: a, B: b}, outs, target)


@pytest.mark.parametrize("source", [*INTEGERS, "bool", "float16", "float32", "float64"])
@on_each_target
def test_casts(source, target):
    a = np.array([0, 1, 1, 0, 1, 100, 3, 7, 42, 1] * 3).astype(source)
    A = te.placeholder(a.shape, source, name="A")
    kinds = [*INTEGERS, "bool", "float16", "float32", "float64"]
    outs = {te.compute(a.shape, lambda i, to=to: A[i].astype(to), name=f"to_{to}"): a.astype(to) for to in kinds}
    check(te.create_schedule(list(outs)), {A: a}, outs, target)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@on_each_target
def test_math(dtype, target):
    x = np.concatenate([np.linspace(-5, 5, 61), [0.5, 1.5, 2.5, -0.5, -1.5, 0.0]]).astype(dtype)
    X = te.placeholder(x.shape, dtype, name="X")
    with np.errstate(all="ignore"):
        wide = x.astype("float64")
        positive = np.abs(wide) + 0.25
        value = lambda f: te.compute(x.shape, lambda i: f(X[i]), name="y")
        outs = {
            value(te.exp): np.exp(wide),
            value(te.tanh): np.tanh(wide),
            value(te.sigmoid): 1 / (1 + np.exp(-wide)),
            value(te.erf): np.array([math.erf(v) for v in wide]),
            value(lambda e: te.log(te.abs(e) + 0.25)): np.log(positive),
            value(lambda e: te.sqrt(te.abs(e) + 0.25)): np.sqrt(positive),
            value(lambda e: te.rsqrt(te.abs(e) + 0.25)): 1 / np.sqrt(positive),
            value(lambda e: te.power(te.abs(e) + 0.25, e)): positive**wide,
            value(te.floor): np.floor(wide),
            value(te.ceil): np.ceil(wide),
            value(te.trunc): np.trunc(wide),
            value(te.round): np.trunc(wide + np.copysign(0.5, wide)),
            value(te.abs): np.abs(wide),
            value(lambda e: -e): -wide,
            value(lambda e: te.min_value(dtype) + e * 0): np.full(x.shape, np.finfo(dtype).min),
            value(lambda e: te.max_value(dtype)): np.full(x.shape, np.finfo(dtype).max),
        }
    s = te.create_schedule(list(outs))
    for t in outs:
        s[t].vectorize(s[t].split(t.op.axis[0], 8)[1])
    tolerance = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-12}[dtype]
    check(s, {X: x}, outs, target, rtol=tolerance, atol=tolerance)


@on_each_target
def test_bfloat16(target):
    A = te.placeholder((33,), name="A")
    B = te.compute((33,), lambda i: (A[i].astype("bfloat16") * te.const(2, "bfloat16")).astype("float32"), name="B")
    a = np.arange(33, dtype="float32")
    check(te.create_schedule(B), {A: a}, {B: 2 * a}, target)
