"""Reductions of tuples, where= and init=, several outputs, rfactor: against NumPy, under schedules."""

import numpy as np
import pytest
from programs import refused

import tensorwright as tw
from tensorwright import te

RNG = np.random.default_rng(1)
TARGETS = ["interp", "llvm"]


def run(s, args, inputs, outputs, target):
    results = [np.zeros(t.shape, t.dtype) for t in outputs]
    given = dict(zip((id(t) for t in outputs), results))
    arrays = iter(inputs)
    tw.build(s, args, target=target)(*(given[id(t)] if id(t) in given else next(arrays) for t in args))
    return results


argmax = te.comm_reducer(
    lambda x, y: (te.select(te.any(x[1] > y[1], te.all(x[1] == y[1], x[0] < y[0])), x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
    lambda index, value: (te.max_value(index), te.min_value(value)),
    name="argmax",
)

softmax_sums = te.comm_reducer(  # of exp(x - largest), with the largest
    lambda x, y: (te.max(x[0], y[0]), x[1] * te.exp(x[0] - te.max(x[0], y[0])) + y[1] * te.exp(y[0] - te.max(x[0], y[0]))),
    lambda top, total: (te.min_value(top), te.const(0, total)),
    name="online_softmax",
)


def merge(x, y):
    n = x[0] + y[0]
    safe = te.max(n, 1.0)
    delta = y[1] - x[1]
    return n, x[1] + delta * y[0] / safe, x[2] + y[2] + delta * delta * x[0] * y[0] / safe


welford = te.comm_reducer(merge, lambda *dtypes: tuple(te.const(0, d) for d in dtypes), name="welford")


def rows(name, n=13, m=37):
    """A reduction over the columns of A: its tensors, and what they are."""
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    a = RNG.integers(-40, 40, (n, m)).astype("float32")
    if name == "argmax":
        T = te.compute((n,), lambda i: argmax((k.var, A[i, k]), axis=k), name="T")
        return A, k, T, a, (a.argmax(1).astype("int32"), a.max(1))
    if name == "softmax":
        a /= 16
        T = te.compute((n,), lambda i: softmax_sums((A[i, k], te.const(1.0, "float32")), axis=k), name="T")
        return A, k, T, a, (a.max(1), np.exp(a - a.max(1, keepdims=True)).sum(1))
    T = te.compute((n,), lambda i: welford((te.const(1.0, "float32"), A[i, k], te.const(0.0, "float32")), axis=k), name="T")
    return A, k, T, a, (np.full(n, m, "float32"), a.mean(1), a.var(1) * m)


def plain(s, T, k):
    pass


def tiled(s, T, k):
    io, ii = s[T[0]].split(T[0].op.axis[0], 8, tail="mask")
    ko, ki = s[T[0]].split(k, 4)
    s[T[1]].reorder(io, ko, ki, ii)
    s[T[0]].vectorize(ii)
    s[T[0]].unroll(ki)


def cached(s, T, k):
    L = s.cache_write(T, "local")
    assert len(L) == len(T)
    s[L[0]].compute_at(s[T[0]], s[T[0]].op.axis[0])
    s[T[0]].parallel(s[T[0]].op.axis[0])


def lanes(s, T, k):
    ko, ki = s[T[0]].split(k, 16)
    F = s.rfactor(T, ki, factor_axis=-1)
    s[F[0]].compute_at(s[T[0]], s[T[0]].op.axis[0])
    s[F[0]].reorder(F[0].op.reduce_axis[0], F[0].op.axis[1])
    s[F[0]].vectorize(F[0].op.axis[1])


def split_k(s, T, k):
    ko, ki = s[T[0]].split(k, nparts=4)
    F = s.rfactor(T[0], ko)
    s[F[0]].parallel(F[0].op.axis[0])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("schedule", [plain, tiled, cached, lanes, split_k])
@pytest.mark.parametrize("name", ["argmax", "softmax", "welford"])
def test_tuples(name, schedule, target):
    A, k, T, a, expected = rows(name)
    s = te.create_schedule(T[0].op)
    schedule(s, T, k)
    for got, want in zip(run(s, [A, *T], [a], T, target), expected):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-4)


def test_an_output_of_a_tuple_that_nobody_asked_for_is_scratch():
    A, k, T, a, expected = rows("argmax")
    s = te.create_schedule(T[0].op)
    (index,) = run(s, [A, T[0]], [a], [T[0]], "llvm")
    np.testing.assert_array_equal(index, expected[0])


@pytest.mark.parametrize("target", TARGETS)
def test_several_outputs_without_a_reduction(target):
    A = te.placeholder((50,), name="A")
    low, high = te.compute((50,), lambda i: (te.min(A[i], 0), te.max(A[i], 0)), name="T")
    D = te.compute((50,), lambda i: high[i] - low[i], name="D")
    a = RNG.standard_normal(50).astype("float32")
    for inline in (False, True):
        s = te.create_schedule(D)
        if inline:
            s[low].compute_inline()
        else:
            s[high].compute_at(s[D], s[D].op.axis[0])
        (d,) = run(s, [A, D], [a], [D], target)
        np.testing.assert_array_equal(d, np.abs(a))
    s = te.create_schedule([low.op, high.op])
    s[low].vectorize(s[low].op.axis[0])
    got = run(s, [A, high, low], [a], [high, low], target)
    np.testing.assert_array_equal(got[0], np.maximum(a, 0))
    np.testing.assert_array_equal(got[1], np.minimum(a, 0))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("schedule", ["plain", "vector", "rfactor"])
def test_where_and_init(schedule, target):
    n, m = 12, 21
    A, S = te.placeholder((n, m), "int32", name="A"), te.placeholder((n,), "int32", name="S")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k, where=te.all(k <= i, A[i, k] > 0), init=S[i]), name="B")
    s = te.create_schedule(B)
    if schedule == "vector":
        s[B].reorder(k, B.op.axis[0])
        s[B].vectorize(B.op.axis[0])
    if schedule == "rfactor":
        ko, ki = s[B].split(k, 8)
        F = s.rfactor(B, ki)
        s[F].vectorize(F.op.axis[0])
    a = RNG.integers(-9, 9, (n, m)).astype("int32")
    start = RNG.integers(-9, 9, n).astype("int32")
    (b,) = run(s, [A, S, B], [a, start], [B], target)
    kept = (a > 0) & (np.arange(m) <= np.arange(n)[:, None])
    np.testing.assert_array_equal(b, start + (a * kept).sum(1))


def test_where_guards_the_reads():
    A = te.placeholder((8,), name="A")
    k = te.reduce_axis((0, 3), name="k")
    B = te.compute((8,), lambda i: te.sum(A[i + k - 1], axis=k, where=te.all(i + k >= 1, i + k < 9)), name="B")
    a = np.arange(8, dtype="float32")
    for target in TARGETS:
        (b,) = run(te.create_schedule(B), [A, B], [a], [B], target)
        np.testing.assert_array_equal(b, np.convolve(a, np.ones(3), "same"))


@pytest.mark.parametrize("target", TARGETS)
def test_over_nothing_a_reduction_is_its_init_or_identity(target):
    A = te.placeholder((4, 0), name="A")
    k = te.reduce_axis((0, 0), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k, init=7.5), name="B")
    C = te.compute((4,), lambda i: te.max(A[i, k], axis=k), name="C")
    W = te.compute((4,), lambda i: argmax((k.var, A[i, k]), axis=k), name="W")
    s = te.create_schedule([B.op, C.op, W[0].op])
    b, c, index, value = run(s, [A, B, C, *W], [np.zeros((4, 0), "float32")], [B, C, *W], target)
    assert (b == 7.5).all() and (c == -np.inf).all()
    assert (index == 2**31 - 1).all() and (value == np.finfo("float32").min).all()


def test_split_k_of_a_matmul():
    n = 24
    A, B = te.placeholder((n, 90), name="A"), te.placeholder((90, n), name="B")
    k = te.reduce_axis((0, 90), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k, init=1.0), name="C")
    s = te.create_schedule(C)
    i, j = C.op.axis
    jo, ji = s[C].split(j, 8)
    ko, ki = s[C].split(k, nparts=4)
    F = s.rfactor(C, ko)
    s[F].parallel(F.op.axis[0])
    s[F].reorder(F.op.axis[1], F.op.reduce_axis[0], F.op.axis[2])
    s[F].vectorize(F.op.axis[2])
    s[C].vectorize(ji)  # what was split before rfactor stays
    a, b = (RNG.integers(-4, 5, t.shape).astype("float32") for t in (A, B))
    for target in TARGETS:
        (c,) = run(s, [A, B, C], [a, b], [C], target)
        np.testing.assert_array_equal(c, a @ b + 1)
    again = tw.Schedule.from_steps([C], s.steps)
    assert str(again) == str(s)


def test_rfactor_of_the_whole_axis_and_of_fused_axes():
    A = te.placeholder((6, 5, 7), name="A")
    k, l = te.reduce_axis((0, 5), name="k"), te.reduce_axis((1, 7), name="l")
    a = RNG.integers(-4, 5, (6, 5, 7)).astype("float32")
    for fuse in (False, True):
        B = te.compute((6,), lambda i: te.sum(A[i, k, l], axis=[k, l]), name="B")
        s = te.create_schedule(B)
        if fuse:
            ko, ki = s[B].split(s[B].fuse(k, l), 4)
            F = s.rfactor(B, ki, 1)
            assert F.shape == (6, 4)
        else:
            F = s.rfactor(B, k)
            G = s.rfactor(F, s[F].op.reduce_axis[0])
            assert F.shape == (5, 6) and G.shape == (6, 5, 6)
        for target in TARGETS:
            (b,) = run(s, [A, B], [a], [B], target)
            np.testing.assert_array_equal(b, a[:, :, 1:].sum((1, 2)))


def test_refusals_of_reducers():
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    two = te.comm_reducer(lambda x, y: (x[0], y[1]), lambda a, b: (te.const(0, a), te.const(0, b)), name="two")
    E, D = tw.errors.ExprError, tw.errors.DTypeError

    def of(combine, identity):
        return lambda: te.compute((4,), lambda i: te.comm_reducer(combine, identity, name="mine")(A[i, k], axis=k))

    refused(E, "must take two arguments, not 1", lambda: te.comm_reducer(lambda x: x, lambda t: 0))
    refused(E, "fcombine must be a function", lambda: te.comm_reducer(3, lambda t: 0))
    refused(E, "mine: the function must return 1 value", of(lambda x, y: (x, y), lambda t: te.const(0, t)))
    refused(E, "mine: the identity must return 1 value", of(lambda x, y: x + y, lambda t: (0, 0)))
    refused(D, "must be float32 as what is reduced, not bool", of(lambda x, y: x < y, lambda t: te.const(0, t)))
    refused(E, "its two arguments only, not k", of(lambda x, y: x + y + k.astype("float32"), lambda t: te.const(0, t)))
    refused(E, "its two arguments only, not A[0, 0]", of(lambda x, y: x + y * A[0, 0], lambda t: te.const(0, t)))
    refused(E, "init must not depend on the reduce axis k", lambda: te.compute((4,), lambda i: te.sum(A[i, k], axis=k, init=A[i, k])))
    refused(D, "init must be int32", lambda: te.compute((4,), lambda i: te.sum(A[i, k].astype("int32"), axis=k, init=0.5)))
    refused(D, "where must be a condition", lambda: te.compute((4,), lambda i: te.sum(A[i, k], axis=k, where=A[i, k])))
    refused(E, "init must have one value for each of the 2", lambda: two((A[0, k], A[0, k]), axis=k, init=1.0))
    refused(E, "all components of one reduction", lambda: te.compute((4,), lambda i: two((A[i, k], A[i, k]), axis=k)[0]))
    refused(E, "all components of one reduction", lambda: te.compute((4,), lambda i: (te.sum(A[i, k], axis=k), te.max(A[i, k], axis=k))))
    refused(E, "all components of one reduction", lambda: te.compute((4,), lambda i: two((A[i, k], A[i, k]), axis=k)[::-1]))
    refused(E, "init must not depend", lambda: te.compute((4,), lambda i: two((A[i, k], A[i, k]), axis=k, init=(A[i, k], 0.0))))


def test_refusals_of_rfactor():
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((4,), lambda i: B[i] * 2, name="C")
    s = te.create_schedule(C)
    E = tw.errors.ScheduleError
    refused(E, "stage must be a reduction, not C", lambda: s.rfactor(C, C.op.axis[0]))
    refused(E, "not the data axis i", lambda: s.rfactor(B, B.op.axis[0]))
    refused(E, "factor_axis must be a position", lambda: s.rfactor(B, k, 2))
    refused(E, "factor_axis must be an integer", lambda: s.rfactor(B, k, "last"))
    ko, ki = s[B].split(k, 4)
    refused(E, "axis must be a loop of stage B, not k", lambda: s.rfactor(B, k))
    s[B].unroll(ki)
    refused(E, "rfactor: the reduction's loops must be plain; k.i is unrolled", lambda: s.rfactor(B, ko))
    refused(E, "stage must be one that is computed", lambda: s.rfactor(A, k))
    assert [step[0] for step in s.steps] == ["split", "unroll"]
