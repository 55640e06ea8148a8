"""Vectors as elements: a tensor of float32x2 is one of float32 with a last axis of 2 lanes, computed lane by lane."""

import re

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

TARGETS = ["llvm", "interp", "c", "llvm -mcpu=x86-64-v2"]


def run(args, arrays, shape, dtype="float32", target="llvm", schedule=None):
    out = np.full(shape, 77, dtype)
    tw.build(schedule or te.create_schedule(args[-1]), args, target=target)(*arrays, out)
    return out


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [2, 3, 4, 8])
def test_a_sum_is_one_of_each_lane(target, lanes):
    n = te.var("n")
    A, B = te.placeholder((n,), f"float32x{lanes}", name="A"), te.placeholder((n,), f"float32x{lanes}", name="B")
    C = te.compute((n,), lambda i: A[i] + B[i], name="C")
    assert (A.dtype, A.shape, A.ndim) == (f"float32x{lanes}", (n,), 1) and C.dtype == A.dtype and len(C.shape) == 1
    assert repr(C) == f"Tensor(C: float32x{lanes}[n])" and C.op.output(0).dtype == C.dtype
    assert str(C.op.body[0]) == "A[i, lane] + B[i, lane]" and C.op.axis[-1].extent == lanes
    f = tw.build([A, B, C], target=target)
    for size in (0, 1, 7, 16):
        a, b = np.random.default_rng(size).standard_normal((2, size, lanes)).astype("float32")
        out = np.zeros((size, lanes), "float32")
        f(a, b, out)
        np.testing.assert_array_equal(out, a + b)


@pytest.mark.parametrize("target", TARGETS[:3])
def test_scalars_stand_in_each_lane(target):
    A, x, alpha = te.placeholder((5, 3), "float32x2", name="A"), te.placeholder((5,), name="x"), te.var("alpha", "float32")
    C = te.compute((5, 3), lambda i, j: te.max(A[i][j] * x[i] + alpha, 0.5) - i, name="C")
    a, v = np.arange(30, dtype="float32").reshape(5, 3, 2) - 9, np.arange(5, dtype="float32")
    out = np.zeros((5, 3, 2), "float32")
    tw.build([A, x, alpha, C], target=target)(a, v, 2.5, out)
    np.testing.assert_array_equal(out, np.maximum(a * v[:, None, None] + np.float32(2.5), 0.5) - np.arange(5, dtype="float32")[:, None, None])


@pytest.mark.parametrize("target", TARGETS[:3])
def test_casts_and_constants_of_as_many_lanes(target):
    A = te.placeholder((4,), "float32x4", name="A")
    C = te.compute((4,), lambda i: A[i].astype("int32x4") * te.const(3, "int32x4"), name="C")
    D = te.compute((4,), lambda i: te.if_then_else(A[i] > 0, te.exp(A[i]), 0.0), name="D")
    E = te.compute((4,), lambda i: te.const(1.5, "float32x2"), name="E")
    assert (C.dtype, D.dtype, E.dtype) == ("int32x4", "float32x4", "float32x2")
    a = np.linspace(-4, 5, 16, dtype="float32").reshape(4, 4)
    np.testing.assert_array_equal(run([A, C], [a], (4, 4), "int32", target), a.astype("int32") * 3)
    np.testing.assert_allclose(run([A, D], [a], (4, 4), target=target), np.where(a > 0, np.exp(a), 0), rtol=1e-6)
    np.testing.assert_array_equal(run([E], [], (4, 2), target=target), 1.5)


@pytest.mark.parametrize("target", TARGETS[:3])
def test_a_reduction_reduces_each_lane(target):
    A, B = te.placeholder((6, 8), "float32x2", name="A"), te.placeholder((8, 4), "float32x2", name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((6, 4), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((6, 4), lambda i, j: C[i, j] * 2.0, name="D")
    assert D.dtype == "float32x2" and "lane" in str(C.op.axis)
    a, b = np.random.default_rng(1).integers(-5, 6, (6, 8, 2)).astype("float32"), np.random.default_rng(2).integers(-5, 6, (8, 4, 2)).astype("float32")
    np.testing.assert_array_equal(run([A, B, D], [a, b], (6, 4, 2), target=target), 2 * np.einsum("ikl,kjl->ijl", a, b))


@pytest.mark.parametrize("target", TARGETS[:3])
def test_schedules_see_the_lanes_as_the_last_axis(target):
    A, B = te.placeholder((6, 16), "float32x2", name="A"), te.placeholder((6, 16), "float32x2", name="B")
    C = te.compute((6, 16), lambda i, j: A[i, j] * B[i, j], name="C")
    D = te.compute((6, 16), lambda *i: C(*i) - 1.0, name="D")
    i, j, lane = D.op.axis
    assert lane.name == "lane" or lane.extent == 2
    s = te.create_schedule(D)
    jo, ji = s[D].split(j, 4)
    s[D].vectorize(s[D].fuse(ji, lane))
    s[D].parallel(i)
    s[C].compute_at(s[D], jo)
    s.cache_read(A, "local", [C])
    a, b = np.random.default_rng(5).standard_normal((2, 6, 16, 2)).astype("float32")
    np.testing.assert_array_equal(run([A, B, D], [a, b], (6, 16, 2), target=target, schedule=s), a * b - np.float32(1))
    again = {"te": te, "C": C, "D": D, "A": A}
    exec(s.to_python(), again)
    assert again["s"].steps == s.steps


def test_the_schedule_of_one_axis_as_tvm_has_it():
    A, B = te.placeholder((64,), "float32x2", name="A"), te.placeholder((64,), "float32x2", name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C)
    xo, xi = s[C].split(C.op.axis[0], factor=4)
    s[C].parallel(xo)
    s[C].vectorize(xi)
    a, b = np.random.default_rng(5).standard_normal((2, 64, 2)).astype("float32")
    for target in TARGETS[:3]:
        np.testing.assert_array_equal(run([A, B, C], [a, b], (64, 2), target=target, schedule=s), a + b)


def test_whole_tensors_and_strides():
    A, B = te.placeholder((4,), "float32x2", name="A", strides=[3]), te.placeholder((4,), "float32x2", name="B")
    C = A * 2.0 + B
    assert C.dtype == "float32x2" and C.shape == (4,) and C.astype("int32x2").dtype == "int32x2"
    a, b = np.arange(24, dtype="float32").reshape(4, 6)[:, :2], np.ones((4, 2), "float32")
    np.testing.assert_array_equal(run([A, B, C], [a, b], (4, 2)), a * 2 + b)
    x = te.placeholder((2,), name="x")
    with pytest.raises(tw.DTypeError, match="expected tensors of as many lanes, not .* of float32x2 and x of float32"):
        A + x
    with pytest.raises(tw.DTypeError, match="must have 2 lanes, and are of float32"):
        x.astype("float32x2")


def test_kernels_show_the_axis():
    A = te.placeholder((4,), "float32x2", name="A")
    C = te.compute((4,), lambda i: A[i] + 1, name="C")
    assert re.search(r"A: float32\[4, 2\], C: out float32\[4, 2\]", str(tw.lower(te.create_schedule(C), [A, C])))
    with pytest.raises(tw.Error, match=r"\(4, 2\)"):
        tw.build([A, C])(np.zeros(8, "float32"), np.zeros((4, 2), "float32"))


@pytest.mark.parametrize("make, rule", [
    (lambda A, B, x: te.compute((4,), lambda i: A[i] + B[i]), "expected vectors of 2 lanes as elsewhere in the definition, not vectors of 4"),
    (lambda A, B, x: te.compute((4,), lambda i: A[i].astype("float32x4")), "float32x4: expected vectors of 2 lanes"),
    (lambda A, B, x: te.extern((4,), [A], lambda ins, outs: None, name="E"), "extern E: expected tensors of scalars, and A is of float32x2"),
    (lambda A, B, x: tw.ops.relu(A), "relu: expected tensors of scalars, and A is of float32x2"),
    (lambda A, B, x: te.scan(A, A, A, name="S"), "scan S: expected tensors of scalars"),
    (lambda A, B, x: te.decl_tensor_intrin(te.compute((4,), lambda i: A[i] + 1).op, lambda ins, outs: None, name="I"), "decl_tensor_intrin I: expected tensors"),
    (lambda A, B, x: A[0], "a vector of 2 lanes has a value in te.compute only"),
    (lambda A, B, x: A[0:2], "expected tensors of scalars"),
    (lambda A, B, x: te.var("v", "float32x2"), "dtype must be one that tensors have, not 'float32x2'"),
])
def test_what_vectors_are_not_for(make, rule):
    A, B, x = te.placeholder((4,), "float32x2", name="A"), te.placeholder((4,), "float32x4", name="B"), te.placeholder((4,), name="x")
    with pytest.raises(tw.DTypeError, match=rule) as e:
        make(A, B, x)
    assert e.value.notes


def test_a_lane_has_no_subscript():
    A = te.placeholder((4,), "float32x2", name="A")
    with pytest.raises(tw.ExprError, match=r"A\[...\]: expected 1 subscript, not 2"):
        te.compute((4,), lambda i: A[i, 0])
    with pytest.raises(tw.ExprError, match=r"A\[i \+ 4, lane\] reads 4 of 0..4"):
        te.compute((4,), lambda i: A[i + 4])


@pytest.mark.parametrize("target", TARGETS[:3])
def test_names_stay_apart(target):
    A = te.placeholder((4, 3), "float32x2", name="A")
    k = te.reduce_axis((0, 3), name="lane")
    C = te.compute((4,), lambda lane: te.sum(A[lane, k], axis=k), name="C")
    s = te.create_schedule(C)
    names = [axis.name for axis in s[C].leaf_iter_vars]
    assert len(set(names)) == 3, names
    s[C].vectorize(s[C].leaf_iter_vars[1])
    a = np.arange(24, dtype="float32").reshape(4, 3, 2)
    np.testing.assert_array_equal(run([A, C], [a], (4, 2), target=target, schedule=s), a.sum(1))


def test_several_outputs_have_as_many_lanes():
    A = te.placeholder((4,), "float32x2", name="A")
    C, D = te.compute((4,), lambda i: (A[i] * 2.0, i), name="C")
    assert C.dtype == "float32x2" and D.dtype == "int32x2"
    a, c, d = np.arange(8, dtype="float32").reshape(4, 2), np.zeros((4, 2), "float32"), np.zeros((4, 2), "int32")
    tw.build([A, C, D])(a, c, d)
    np.testing.assert_array_equal(c, a * 2)
    np.testing.assert_array_equal(d, np.arange(4)[:, None].repeat(2, 1))
