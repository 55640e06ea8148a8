"""Tensors, operations and schedules as JSON and pickled: what is loaded is the same program."""

import pickle
import re

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te


@pytest.fixture
def product():
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((8, 10), name="B")
    k = te.reduce_axis((0, 8), name="k")
    return te.compute((6, 10), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")


def graphs():
    A, n = te.placeholder((6, 8), name="A"), te.var("n")
    X = te.placeholder((n, 4), "int8", name="X", param=True, range=(-3, 5))
    k = te.reduce_axis((0, 8), name="k")
    S = te.compute((6,), lambda i: te.sum(A[i, k] * A[i, k], axis=k, where=A[i, k] > 0), name="S")
    argmax = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
        lambda index, value: (te.const(-1, index), te.min_value(value)), name="argmax")
    where, largest = te.compute((6,), lambda i: argmax((k.var, A[i, k]), axis=k), name="M")
    st = te.placeholder((8, 6), name="st")
    first = te.compute((1, 6), lambda _, i: S[i], name="first")
    update = te.compute((8, 6), lambda t, i: st[t - 1, i] * 0.5 + te.const(float("inf")) * 0 + te.exp(-A[i, t]), name="update")
    scan = te.scan(first, update, st, name="R")
    Y = te.compute((n, 4), lambda i, j: te.if_then_else(X[i, j] > te.const(2, "int8"), X[i, j].astype("float32"), te.call_extern("float32", "fabsf", te.const(1.5))), name="Y")
    return [S, where, largest, scan, Y]


def program(*tensors):
    return str(tw.lower(te.create_schedule(list(tensors)), placeholders(tensors) + list(tensors)))


def placeholders(tensors):
    found, stack = [], list(tensors)
    while stack:
        t = stack.pop()
        if t.op.is_placeholder:
            found.append(t)
        stack += t.op.input_tensors
    return sorted({t.name: t for t in found if t.name != "st"}.values(), key=lambda t: t.name)


@pytest.mark.parametrize("i", range(5))
def test_json_of_a_tensor(i):
    T = graphs()[i]
    loaded = te.load_json(te.save_json(T))
    assert isinstance(loaded, te.Tensor) and loaded != T and (loaded.name, loaded.dtype, loaded.value_index) == (T.name, T.dtype, T.value_index)
    outputs = lambda t: [t.op.output(o) for o in range(t.op.num_outputs)]  # noqa: E731
    assert program(*outputs(loaded)) == program(*outputs(T))


def test_padding_stays_padding():
    X = te.placeholder((8,), name="X")
    P, k = tw.ops.pad(X, (1,), name="P"), te.reduce_axis((0, 3), name="k")
    T = te.compute((8,), lambda i: te.sum(P[i + k] * X[k], axis=k), name="T")

    def inlined(t):
        s = te.create_schedule(t)
        s[next(p for p in t.op.input_tensors if p.name == "P")].compute_inline()
        return str(tw.lower(s, placeholders([t]) + [t]))

    assert inlined(te.load_json(te.save_json(T))) == inlined(T) and "= select(i + k >= 1" in inlined(T)


def test_operations_as_json(product):
    loaded = te.load_json(te.save_json(product.op))
    assert isinstance(loaded, te.ComputeOp) and loaded.name == product.op.name


def test_pickled_tensors_fit_together():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2, name="B")
    A2, B2, op = pickle.loads(pickle.dumps([A, B, B.op]))
    assert B2.op.input_tensors == [A2] and op == B2.op and B2 != B
    assert pickle.loads(pickle.dumps(B)) == B2 and te.load_json(te.save_json([A, B])) == [A2, B2]
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    tw.build([A2, B2], target="interp")(a, b)
    np.testing.assert_array_equal(b, a * 2)


def test_json_and_pickle_of_schedules(product):
    s = te.create_schedule(product)
    CL = s.cache_write(product, "local")
    io, ii = s[product].split(product.op.axis[0], 4)
    s[CL].compute_at(s[product], io)
    for loaded in (te.load_json(te.save_json(s)), pickle.loads(pickle.dumps(s))):
        assert isinstance(loaded, tw.Schedule) and loaded.steps == s.steps and str(loaded) == str(s)
        C = loaded.outputs[0]
        assert str(tw.lower(loaded, [*C.op.input_tensors, C])) == str(tw.lower(s, [*product.op.input_tensors, product]))


def test_what_is_not_written_and_not_read():
    B = te.extern((4,), [te.placeholder((4,), name="A")], lambda ins, outs: te.call_extern("int32", "f", ins[0].access_ptr("r"), outs[0].access_ptr("w")), name="B")
    with pytest.raises(tw.ArgumentError, match="a stage must not be extern, as B is"):
        te.save_json(B)
    with pytest.raises(tw.ArgumentError, match="a tensor, an operation, a list of tensors or a schedule expected"):
        te.save_json(3)
    good = te.save_json(te.compute((4,), lambda i: i + 1, name="C"))
    for bad in ("", "{}", "[]", good[: len(good) // 2], good.replace('"compute"', '"dream"'), good.replace('"var"', '"vax"'), good.replace('"0.1.0"', '"9"')):
        with pytest.raises(tw.ParseError, match="load_json"):
            te.load_json(bad)
    k = te.reduce_axis((0, 4), name="k")
    A = te.placeholder((4, 4), name="A")
    good = te.save_json(te.compute((4,), lambda i: te.sum(te.exp(A[i, k]) * A[i, k], axis=k), name="C"))
    for kind in ("binary", "call", "reduce"):
        for number in ("-1", "250", "4294967296"):
            bad = re.sub(f'"{kind}", \\d+', f'"{kind}", {number}', good, count=1)
            assert bad != good
            with pytest.raises(tw.ParseError, match=f"an operator expected, not {number}"):
                te.load_json(bad)


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ('["binary", 14, 3, 4', '["binary", 14, 3, null'),
        ('["binary", 14, 3, 4', '["binary", 14, 3, 1'),
        ('["select", 5', '["select", null'),
        ('["select", 5', '["select", 3'),
        ('["load", [0, 0], [1, 2]', '["load", [0, 0], [1]'),
        ('["load", [0, 0], [1, 2]', '["load", [0, 0], [1, null]'),
        ('["call", 0, [10]', '["call", 0, []'),
        ('["float", "0x0p+0", "float32"]', '["int", 0, "float32"]'),
        ('"bodies": [14]', '"bodies": [null]'),
        ('"shape": [0, 0]', '"shape": [0, null]'),
    ],
)
def test_nodes_that_do_not_fit_are_refused(there, here):
    A = te.placeholder((4, 4), name="A")
    good = te.save_json(te.compute((4,), lambda i: te.select(A[i, 0] > 0, A[i, 0], te.exp(A[i, 1]) * 2), name="C"))
    bad = good.replace(there, here, 1).replace('"process": "', '"process": "of another ')
    assert there in good
    with pytest.raises(tw.ParseError, match="load_json: expected what save_json gives"):
        te.load_json(bad)
