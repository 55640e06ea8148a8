"""Shapes and forms of programs, up to extremes, for several targets, against NumPy."""

import time

import numpy as np
import pytest

import tensorwright as tw
from programs import HAS_LLVM, array, check, matmul, needs_llvm, on_each_target
from tensorwright import te

# ----------------------------------------------------------------------------------------------------- shapes and forms


@pytest.mark.parametrize("rank", range(7))
@on_each_target
def test_ranks(rank, target):
    shape = (2, 3, 1, 4, 2, 3)[:rank]
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A(*i) * 2 + 1, name="B")
    a = np.asarray(array(shape))
    s = te.create_schedule(B)
    if rank:
        s[B].vectorize(s[B].split(s[B].fuse(*B.op.axis), 8)[1])
    check(s, {A: a}, {B: a * 2 + 1}, target)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1, 1), (1, 5)])
@on_each_target
def test_extents_of_0_and_1_under_every_step(shape, target):
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A(*i) + 1, name="B")
    C = te.compute(shape, lambda *i: B(*i) * 2, name="C")
    a = array(shape)
    s = te.create_schedule(C)
    o, i = s[C].split(s[C].fuse(*C.op.axis), 4)
    s[C].parallel(o)
    s[C].vectorize(i)
    s[B].compute_at(s[C], o)
    check(s, {A: a}, {C: (a + 1) * 2}, target)
    check(None, {A: a}, {C: (a + 1) * 2}, target)


@pytest.mark.parametrize("reducer, identity", [("sum", 0), ("prod", 1), ("max", -np.inf), ("min", np.inf)])
@on_each_target
def test_empty_reductions_give_the_identity(reducer, identity, target):
    A = te.placeholder((4, 0), name="A")
    k = te.reduce_axis((0, 0), "k")
    B = te.compute((4,), lambda i: getattr(te, reducer)(A[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    s[B].vectorize(s[B].split(B.op.axis[0], 4)[1])
    check(s, {A: np.zeros((4, 0), "float32")}, {B: np.full(4, identity)}, target)


@on_each_target
def test_constants_and_indices(target):
    outs = {
        te.compute((3, 4), lambda i, j: 7): np.full((3, 4), 7),
        te.compute((3, 4), lambda i, j: 1.5): np.full((3, 4), 1.5),
        te.compute((3, 4), lambda i, j: True): np.full((3, 4), True),
        te.compute((3, 4), lambda i, j, scale=10: i * scale - j): np.arange(3)[:, None] * 10 - np.arange(4),
        te.compute((3, 4), lambda i, j: (i - 2) // 2 + (j - 3) % 3): (np.arange(3)[:, None] - 2) // 2 + (np.arange(4) - 3) % 3,
        te.compute((3, 4), lambda i, j: te.any(i == j, te.all(i > 1, j > 2))): (np.eye(3, 4) > 0)
        | ((np.arange(3)[:, None] > 1) & (np.arange(4) > 2)),
    }
    check(te.create_schedule(list(outs)), {}, outs, target)


@on_each_target
def test_data_movement(target):
    A, B = te.placeholder((5, 12), name="A"), te.placeholder((3, 12), name="A")
    a, b = array(A.shape), array(B.shape)
    outs = {
        te.compute((12, 5), lambda i, j: A[j][i]): a.T,
        te.compute((8, 12), lambda i, j: te.if_then_else(i < 5, A[i, j], B[i - 5, j])): np.concatenate([a, b]),
        te.compute((60,), lambda i: A[i // 12, i % 12]): a.reshape(-1),
        te.compute((5, 3, 4), lambda i, j, k: A[i, j * 4 + k]): a.reshape(5, 3, 4),
        te.compute((5, 12), lambda i, j: A[4 - i, 11 - j]): a[::-1, ::-1],
        te.compute((5, 6), lambda i, j: A[i, 2 * j + 1]): a[:, 1::2],
    }
    s = te.create_schedule(list(outs))
    for t in outs:
        s[t].vectorize(s[t].split(t.op.axis[-1], 4)[1])
        s[t].parallel(t.op.axis[0]) if len(t.shape) > 1 else None
    check(s, {A: a, B: b}, outs, target)


@on_each_target
def test_placeholders_with_strides(target):
    A = te.placeholder((4, 5), name="A", strides=(1, 4))
    B = te.compute((4, 5), lambda i, j: A[i, j] + 1, name="B")
    a = np.asfortranarray(array((4, 5)))
    s = te.create_schedule(B)
    s[B].vectorize(B.op.axis[1])
    check(s, {A: a}, {B: a + 1}, target)


@on_each_target
def test_inlined_chains(target):
    A = te.placeholder((40,), name="A")
    stages = [te.compute((40,), lambda i: A[i] + 1, name="T")]
    for n in range(6):
        stages.append(te.compute((40,), lambda i, last=stages[-1], n=n: last[i] * 2 - last[39 - i] * n, name="T"))
    a = array(40).astype("float64").astype("float32")
    expected = a.astype("float64") + 1
    for n in range(6):
        expected = expected * 2 - expected[::-1] * n
    s = te.create_schedule(stages[-1])
    for t in stages[:-1]:
        s[t].compute_inline()
    s[stages[-1]].vectorize(s[stages[-1]].split(stages[-1].op.axis[0], 16)[1])
    check(s, {A: a}, {stages[-1]: expected}, target, rtol=1e-3, atol=1e-2)


@on_each_target
def test_scopes(target):
    A = te.placeholder((20, 30), name="A")
    B = te.compute((20, 30), lambda i, j: A[i, j] * 3, name="B")
    C = te.compute((20, 30), lambda i, j: B[i, j] + B[i, 29 - j], name="C")
    a = array(A.shape)
    for scope in ("local", "global"):
        for at in (None, 0, 1):
            s = te.create_schedule(C)
            s[B].set_scope(scope)
            if at is not None:
                s[B].compute_at(s[C], C.op.axis[at])
            s[C].parallel(C.op.axis[0])
            check(s, {A: a}, {C: a * 3 + a[:, ::-1] * 3}, target)


@on_each_target
def test_parallel_at_several_loops(target):
    A, B, C, a, b, expected = matmul(m=9, n=33, depth=5)
    s = te.create_schedule(C)
    i, j = C.op.axis
    jo, ji = s[C].split(j, 8)
    s[C].parallel(i)
    s[C].parallel(jo)
    s[C].vectorize(ji)
    check(s, {A: a, B: b}, {C: expected}, target)


@on_each_target
def test_a_schedule_is_built_scheduled_and_built_again(target):
    A, B, C, a, b, expected = matmul(m=20, n=33, depth=5)
    s = te.create_schedule(C)
    for go_on in (lambda: None, lambda: s[C].split(C.op.axis[0], 8), lambda: s[C].vectorize(C.op.axis[1])):
        go_on()
        check(s, {A: a, B: b}, {C: expected}, target)
        assert "C" in str(s) and "kernel" in str(tw.lower(s, [A, B, C]))


# ------------------------------------------------------------------------------------------------------------- extremes


@pytest.mark.parametrize("way", ["default", "root", "inline"])
def test_two_thousand_stages(way):
    X = te.placeholder((8,), name="X")
    stages = [X]
    for _ in range(2000):
        stages.append(te.compute((8,), lambda i: stages[-1][i] + 1.0))
    s = None if way == "default" else te.create_schedule(stages[-1])
    if way == "inline":
        for t in stages[1:-1]:
            s[t].compute_inline()
    begin = time.process_time()
    target = tw.Target.host() if HAS_LLVM else "interp"  # a C compiler takes minutes over 2,000 loops of one function
    check(s, {X: np.zeros(8, "float32")}, {stages[-1]: np.full(8, 2000.0)}, target)
    assert time.process_time() - begin < 60


@needs_llvm
def test_a_loop_unrolled_to_the_limit_compiles_in_seconds():
    X = te.placeholder((4096,), name="X")
    Y = te.compute((4096,), lambda i: te.tanh(X[i]) + te.exp(X[i]), name="Y")
    s = te.create_schedule(Y)
    s[Y].unroll(Y.op.axis[0])
    x = array(4096)
    begin = time.process_time()
    check(s, {X: x}, {Y: np.tanh(x) + np.exp(x)}, tw.Target.host())
    assert time.process_time() - begin < 60


def test_a_sum_of_five_thousand_terms():
    X = te.placeholder((8,), name="X")
    Y = te.compute((8,), lambda i: sum((X[i] for _ in range(4999)), X[i]))
    check(te.create_schedule(Y), {X: np.ones(8, "float32")}, {Y: np.full(8, 5000.0)}, tw.Target.host())
