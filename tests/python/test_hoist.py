"""Parts of a definition that are computed ahead, by hand and by automatic spaces."""

import numpy as np
import pytest
from programs import refused
from programs import run

import tensorwright as tw
from tensorwright import autotune, te

RNG = np.random.default_rng(11)
TARGETS = ["interp", "llvm", "c"]


def product(n=7, m=9, l=5, dtype="float32", first=0):
    A, B = te.placeholder((n, l), dtype, name="A"), te.placeholder((l, m), dtype, name="B")
    k = te.reduce_axis((first, l), name="k")
    return A, B, te.compute((n, m), lambda i, j: te.sum(te.exp(A[i, k] - 1) * te.max(B[k, j], 0), axis=k), name="C")


def draw(tensor):
    return RNG.uniform(-1, 1, tensor.shape).astype(tensor.dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("first", [0, 2])
def test_it_means_the_same(first, dtype, target):
    args = product(dtype=dtype, first=first)
    inputs = [draw(args[0]), draw(args[1])]
    plain = run(te.create_schedule(args[-1]), args, inputs, target)
    s = te.create_schedule(args[-1])
    C = args[-1]
    io, ii = s[C].split(C.op.axis[0], 4)
    exps, floors = s.hoist(C), s.hoist(C, 1, "local")
    assert (exps.name, exps.shape, floors.name) == ("C.operand0", (7, 5 - first), "C.operand1")
    s[exps].vectorize(exps.op.axis[1])
    s[floors].compute_at(s[C], io)
    np.testing.assert_array_equal(run(s, args, inputs, target), plain)
    again = tw.Schedule.from_steps(C, s.steps)
    np.testing.assert_array_equal(run(again, args, inputs, target), plain)
    assert 's.hoist(C, 0, "global")' in s.to_python()


def test_of_symbolic_extents():
    n = te.var("n")
    A, B = te.placeholder((n, 6), name="A"), te.placeholder((6, n), name="B")
    k = te.reduce_axis((0, 6), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(te.exp(A[i, k]) * B[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    assert str(s.hoist(C).shape) == "(n, 6)"
    for size in (1, 5):
        a, b = RNG.uniform(-1, 1, (size, 6)).astype("float32"), RNG.uniform(-1, 1, (6, size)).astype("float32")
        outs = [np.zeros((size, size), "float32") for _ in range(2)]
        tw.build(s, [A, B, C])(a, b, outs[0])
        tw.build(te.create_schedule(C), [A, B, C])(a, b, outs[1])
        np.testing.assert_array_equal(*outs)


def test_refusals():
    A, B, C = product()
    s = te.create_schedule(C)
    refused(tw.ScheduleError, "they are 0: exp(A[i, k] - 1.0), 1: max(B[k, j], 0.0)", lambda: s.hoist(C, 2))
    refused(tw.ScheduleError, "scope must be local or global", lambda: s.hoist(C, 0, "argument"))
    k = te.reduce_axis((0, 5), name="k")
    D = te.compute((7,), lambda i: te.sum(te.exp(A[i, k]) * A[0, k], axis=k, where=k <= i), name="D")
    refused(tw.ScheduleError, "stage must not be a reduction with where=, as D is", lambda: te.create_schedule(D).hoist(D))
    E = te.compute((7, 5), lambda i, j: A[i, j] + A[i, 0] * A[0, 0], name="E")
    s = te.create_schedule(E)
    refused(tw.ScheduleError, "1: A[0, 0]", lambda: s.hoist(E, 2))  # the product is added to something: fused, it is rounded once


def test_a_function_inside_of_a_product_is_computed_once():
    A, B = te.placeholder((64, 48), name="A"), te.placeholder((48, 80), name="B")
    k = te.reduce_axis((0, 48), name="k")
    C = te.compute((64, 80), lambda i, j: te.sum(te.exp(A[i, k]) * B[k, j], axis=k), name="C")
    a, b = draw(A), draw(B)
    plain = run(te.create_schedule(C), (A, B, C), [a, b], "llvm")
    s = tw.default_schedule([A, B, C])
    assert ["hoist", "C", 0, "global"] in s.steps
    np.testing.assert_array_equal(run(s, (A, B, C), [a, b], "llvm"), plain)
    task = autotune.Task([A, B, C])
    for index in range(0, len(task.space), len(task.space) // 8):
        s, args = task.instantiate(task.space[index])
        np.testing.assert_array_equal(run(s, args, [a, b], "llvm"), plain)


def test_functions_of_all_axes_stay():
    X = te.placeholder((64, 48), name="X")
    k = te.reduce_axis((0, 48), name="k")
    S = te.compute((64,), lambda i: te.sum(te.exp(X[i, k]), axis=k), name="S")
    assert all(step[0] != "hoist" for step in tw.default_schedule([X, S]).steps)
