"""Each stock operator has a space whose candidates are legal and compute what the plain loops compute."""

import random

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(tw.Target.current().kind != "llvm", reason="built without LLVM: candidates cannot be run")

ops = tw.ops
CANDIDATES = 8

KERNELS = [
    ("matmul", {"M": 17, "N": 33, "K": 21}),
    ("batch_matmul", {"batch": 3, "M": 7, "N": 19, "K": 9}),
    ("dense", {"M": 9, "N": 35, "K": 18, "bias": True, "activation": "gelu"}),
    ("conv2d", {"H": 7, "W": 6, "CI": 5, "CO": 19, "padding": 1, "param": False}),
    ("depthwise_conv2d", {"H": 7, "W": 9, "C": 21, "padding": 1, "param": False}),
    ("softmax", {"M": 7, "N": 37}),
    ("softmax", {"M": 37, "N": 19, "axis": 0}),
    ("log_softmax", {"M": 7, "N": 37}),
    ("layer_norm", {"M": 5, "N": 70}),
    ("rms_norm", {"M": 5, "N": 70}),
    ("batch_norm", {"H": 5, "W": 7, "C": 19}),
    ("max_pool2d", {"H": 9, "W": 11, "C": 19, "kernel": 3, "stride": 2, "padding": 1}),
    ("max_pool2d", {"H": 9, "W": 21, "C": 5, "kernel": 3, "layout": "NCHW"}),
    ("avg_pool2d", {"H": 9, "W": 11, "C": 19, "kernel": 3, "stride": 2, "padding": 1}),
    ("activation", {"shape": (7, 37), "function": "mish"}),
    ("attention", {"H": 4, "HK": 2, "S": 5, "T": 19, "D": 8, "causal": True}),
    ("sum", {"shape": (7, 37), "axis": 1}),
    ("sum", {"shape": (5, 41), "axis": 1, "dtype": "int8"}),
    ("mean", {"shape": (37, 19), "axis": 0}),
    ("max", {"shape": (3, 5, 7, 4), "axis": (1, 3)}),
    ("min", {"shape": (9, 37)}),
    ("logsumexp", {"shape": (7, 37), "axis": 1}),
    ("var", {"shape": (37, 19), "axis": 0}),
    ("argmax", {"shape": (7, 37)}),
    ("argmax", {"shape": (37, 19), "axis": 0}),
    ("cumsum", {"shape": (5, 37)}),
    ("transpose", {"shape": (33, 21)}),
    ("concat", {"shape": (7, 19), "count": 3}),
    ("embedding", {"M": 9, "N": 37, "rows": 7}),
]


def X(*shape, dtype="float32", name="X"):
    return te.placeholder(shape, dtype, name)


def declared(operator, *inputs):
    outputs = operator(*inputs)
    return [*inputs, *(outputs if isinstance(outputs, tuple) else [outputs])]


EXPRESSIONS = {
    "group_norm": lambda: declared(lambda x, g: ops.group_norm(x, 3, g), X(2, 6, 5, 3), X(6, name="g")),
    "instance_norm": lambda: declared(ops.instance_norm, X(2, 6, 5, 3)),
    "batch_norm_training": lambda: declared(lambda x: ops.batch_norm_training(x, axis=-1), X(4, 6, 19)),
    "adaptive_avg_pool": lambda: declared(lambda x: ops.adaptive_avg_pool(x, (3, 2)), X(1, 7, 9, 19)),
    "adaptive_max_pool": lambda: declared(lambda x: ops.adaptive_max_pool(x, (3, 2)), X(1, 7, 9, 19)),
    "avg_pool ceil": lambda: declared(
        lambda x: ops.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False, layout="NCHW"), X(1, 3, 9, 12)
    ),
    "max_pool3d": lambda: declared(lambda x: ops.max_pool3d(x, 2), X(1, 5, 6, 7, 4)),
    "attention mask": lambda: declared(
        lambda q, k, v, m: ops.attention(q, k, v, mask=m),
        X(2, 2, 5, 8, name="Q"), X(2, 2, 9, 8, name="K"), X(2, 2, 9, 4, name="V"), X(5, 9, dtype="bool", name="M"),
    ),
    "softmax of halves": lambda: declared(ops.softmax, X(5, 37, dtype="float16")),
    "pad reflect": lambda: declared(lambda x: ops.pad(x, (1, 2), (3, 4), mode="reflect"), X(5, 37)),
    "pad wrap": lambda: declared(lambda x: ops.pad(x, (1, 40), (3, 4), mode="wrap"), X(5, 37)),
    "reshape": lambda: declared(lambda x: ops.reshape(x, (12, -1)), X(5, 36)),
    "stack": lambda: declared(lambda x, y: ops.stack([x, y], -1), X(5, 37), X(5, 37, name="Y")),
    "split": lambda: declared(lambda x: ops.split(x, 3, axis=1), X(5, 36)),
    "strided_slice": lambda: declared(lambda x: ops.strided_slice(x, (1, -1), (8, None), (2, -2)), X(9, 37)),
    "gather": lambda: declared(lambda x, i: ops.gather(x, i, 1), X(9, 37), X(9, 12, dtype="int64", name="I")),
    "one_hot": lambda: declared(lambda i: ops.one_hot(i, 7), X(9, dtype="int64")),
    "where": lambda: declared(ops.where, X(9, 1, dtype="bool", name="C"), X(9, 37, name="A"), X(37, name="B")),
    "prelu": lambda: declared(ops.prelu, X(3, 5, 9), X(5, name="slope")),
    "broadcast_to": lambda: declared(lambda x: ops.broadcast_to(x, (3, 5, 19)), X(5, 1)),
    "cumprod": lambda: declared(lambda x: ops.cumprod(x, 1, exclusive=True, reverse=True), X(4, 5, 9)),
    "softmax of concat": lambda: declared(lambda x, y: ops.softmax(ops.concat([x, y], 1)), X(4, 17), X(4, 20, name="Y")),
    "gelu of layer_norm": lambda: declared(lambda x: ops.gelu(ops.layer_norm(x)), X(4, 37)),
    "pool of relu": lambda: declared(lambda x: ops.max_pool2d(ops.relu(x), 3, stride=2, padding=1), X(1, 9, 9, 19)),
}

CASES = [pytest.param(lambda n=name, p=p: ops.kernel(n, **p), id=f"{name}-{i}") for i, (name, p) in enumerate(KERNELS)]
CASES += [pytest.param(make, id=name) for name, make in EXPRESSIONS.items()]


def arrays(tensors):
    rng = np.random.default_rng(0)
    make = {"f": lambda t: rng.standard_normal(t.shape), "b": lambda t: rng.integers(0, 2, t.shape), "i": lambda t: rng.integers(0, 7, t.shape)}
    return [np.asarray(make[np.dtype(t.dtype).kind](t)).astype(t.dtype) for t in tensors]


def results(schedule, tensors, given):
    out = [a.copy() for a in given]
    tw.build(schedule, tensors)(*out)
    return out


@pytest.mark.parametrize("make", CASES)
def test_candidates_are_legal_and_right(make):
    tensors = make()
    task = tw.autotune.Task(tensors)
    given = arrays(tensors)
    plain = te.create_schedule([t.op for t in tensors if t.op.input_tensors])
    expected = results(plain, tensors, given)
    draw = random.Random(1)
    for index in sorted({0, *(draw.randrange(len(task.space)) for _ in range(CANDIDATES))}):
        schedule, _ = task.space[index].instantiate()
        for got, want in zip(results(schedule, tensors, given), expected, strict=True):
            tolerance = {"float32": 1e-4, "float16": 1e-2}.get(str(want.dtype), 0)
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=str(task.space[index]))


@pytest.mark.parametrize("target", ["llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v4"])
def test_automatic_rows_sum_across_lanes(target):
    A = te.placeholder((512, 768), name="A")
    G, H = te.placeholder((768,), name="G"), te.placeholder((768,), name="H")
    code = tw.default_schedule(ops.layer_norm(A, G, H), target).to_python()
    assert "rfactor" not in code and code.count("vectorize") == 3 and len(code.splitlines()) <= 25, code
