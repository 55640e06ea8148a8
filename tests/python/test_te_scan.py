"""Scans: prefix sums, a recurrent cell, two states; their schedules and refusals."""

import numpy as np
import pytest
from programs import refused

import tensorwright as tw
from tensorwright import te

RNG = np.random.default_rng(2)
TARGETS = ["interp", "llvm"]


def prefix_sum(m=20, n=24, first=1):
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((first, n), lambda t, i: X[t, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - first, i] + X[t, i], name="update")
    return X, init, update, te.scan(init, update, state, inputs=[X], name="S")


def call(s, args, inputs, target):
    out = np.zeros(args[-1].shape, args[-1].dtype)
    tw.build(s, args, target=target)(*inputs, out)
    return out


def as_it_is(s, init, update, S):
    pass


def free_axes(s, init, update, S):
    io, ii = s[S].split(S.op.spatial_axis_[0], 8)
    s[S].parallel(io)
    s[S].vectorize(ii)
    s[update].vectorize(s[update].split(update.op.axis[1], 16)[1])


def tiled_together(s, init, update, S):
    io, ii = s[S].split(S.op.spatial_axis_[0], 5)
    s[update].compute_at(s[S], io)
    s[init].compute_at(s[S], S.op.scan_axis)
    s[update].vectorize(update.op.axis[1])


def inlined(s, init, update, S):
    s[update].compute_inline()
    s[init].compute_inline()
    s[S].vectorize(S.op.spatial_axis_[0])


def cached(s, init, update, S):
    L = s.cache_write(update, "local")
    s[L].vectorize(L.op.axis[1])


def copied_at_a_split_of_its_own_time(s, init, update, S):
    s.cache_write(update, "local")
    R = s.cache_read(update, "local", [S])
    s[R].split(R.op.axis[0], 8, tail="mask")
    s[update].compute_at(s[R], s[R].leaf_iter_vars[1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("first", [1, 3])
@pytest.mark.parametrize("schedule", [as_it_is, free_axes, tiled_together, inlined, cached, copied_at_a_split_of_its_own_time])
def test_prefix_sum(schedule, first, target):
    X, init, update, S = prefix_sum(first=first)
    s = te.create_schedule(S)
    schedule(s, init, update, S)
    x = RNG.integers(-9, 9, X.shape).astype("float32")
    expected = x.copy()
    for t in range(first, len(x)):
        expected[t] += expected[t - first]
    np.testing.assert_array_equal(call(s, [X, S], [x], target), expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("schedule", [False, True])
def test_recurrent_cell(schedule, target):
    steps, batch, hidden = 7, 3, 19
    X, W = te.placeholder((steps, batch, hidden), name="X"), te.placeholder((hidden, hidden), name="W")
    state = te.placeholder((steps, batch, hidden), name="state")
    k = te.reduce_axis((0, hidden), name="k")
    init = te.compute((1, batch, hidden), lambda t, b, j: X[0, b, j], name="init")
    matmul = te.compute((steps, batch, hidden), lambda t, b, j: te.sum(state[t - 1, b, k] * W[k, j], axis=k), name="matmul")
    update = te.compute((steps, batch, hidden), lambda t, b, j: te.max(matmul[t, b, j] * 0.25 + X[t, b, j], 0.0), name="update")
    H = te.scan(init, update, state, name="H")
    Y = te.compute((batch, hidden), lambda b, j: H[steps - 1, b, j] + 1, name="Y")
    s = te.create_schedule(Y)
    if schedule:
        jo, ji = s[matmul].split(matmul.op.axis[2], 8)
        s[matmul].reorder(matmul.op.axis[1], jo, k, ji)
        s[matmul].vectorize(ji)
        s[update].compute_inline()
        s[H].parallel(H.op.spatial_axis_[0])
    x, w = (RNG.integers(-3, 4, t.shape).astype("float32") for t in (X, W))
    h = x[0]
    for t in range(1, steps):
        h = np.maximum((h.astype("float64") @ w) * 0.25 + x[t], 0)
    np.testing.assert_allclose(call(s, [X, W, Y], [x, w], target), h + 1, rtol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_two_states(target):
    m, n = 9, 6
    X = te.placeholder((m, n), name="X")
    a, b = te.placeholder((m, n), name="a"), te.placeholder((m, n), name="b")
    a0 = te.compute((1, n), lambda _, i: X[0, i], name="a0")
    b0 = te.compute((1, n), lambda _, i: 1.0, name="b0")
    gate = te.compute((m, n), lambda t, i: a[t - 1, i] + b[t - 1, (i + 1) % n], name="gate")
    a1 = te.compute((m, n), lambda t, i: gate[t, i] * 0.5, name="a1")
    b1 = te.compute((m, n), lambda t, i: gate[t, n - 1 - i] + X[t, i], name="b1")
    P, Q = te.scan([a0, b0], [a1, b1], [a, b], name="PQ")
    assert (P.name, Q.name, P.op.num_outputs) == ("PQ.v0", "PQ.v1", 2)
    s = te.create_schedule([P, Q])
    s[gate].vectorize(gate.op.axis[1])
    x = RNG.integers(-3, 4, (m, n)).astype("float32")
    p, q = np.zeros((m, n), "float32"), np.zeros((m, n), "float32")
    tw.build(s, [X, P, Q], target=target)(x, p, q)
    ea, eb = [x[0]], [np.ones(n, "float32")]
    for t in range(1, m):
        g = ea[-1] + np.roll(eb[-1], -1)
        ea.append(g * 0.5)
        eb.append(g[::-1] + x[t])
    np.testing.assert_array_equal(p, ea)
    np.testing.assert_array_equal(q, eb)


def test_time_stays_the_outermost_loop():
    X, init, update, S = prefix_sum()
    s = te.create_schedule(S)
    t, i = S.op.axis
    for step in (
        lambda: s[S].split(t, 4),
        lambda: s[S].fuse(t, i),
        lambda: s[S].reorder(i, t),
        lambda: s[S].tile(t, i, 4, 4),
        lambda: s[S].parallel(t),
        lambda: s[S].vectorize(t),
    ):
        refused(tw.errors.ScheduleError, "axis must not be the time of a scan, as t of S is", step)
    refused(tw.errors.ScheduleError, "stage must be a compute, not a scan", lambda: s.cache_write(S, "local"))
    refused(tw.errors.ScheduleError, "not a scan as S is", lambda: s[S].compute_inline())
    s[update].double_buffer()
    refused(tw.errors.ScheduleError, "it depends on the state of S", lambda: tw.lower(s, [X, S]))
    s = te.create_schedule(S)
    s[update].compute_root()  # of what stands inside of a scan: its time loop
    assert s.steps == [["compute_at", "update", "S", "t"]]
    s = tw.Schedule.from_steps(S, [["compute_root", "update"]])
    refused(tw.errors.ScheduleError, "update must be computed inside the time loop of the scan S", s.check)


def test_what_depends_on_the_state_stays_inside():
    X, init, update, S = prefix_sum()
    outside = te.compute((4,), lambda i: update[1, i], name="outside")
    refused(tw.errors.ScheduleError, "update must not be an output", lambda: te.create_schedule([S, update]))
    refused(tw.errors.ExprError, "update exists inside of the scan S only", lambda: te.create_schedule([S, outside]))
    s = te.create_schedule(S)
    refused(tw.errors.ArgumentError, "update", lambda: tw.lower(s, [X, update, S]))


def test_refusals():
    n = 8
    X, state = te.placeholder((6, n), name="X"), te.placeholder((6, n), name="state")
    init = te.compute((1, n), lambda _, i: 0.0, name="init")
    fine = te.compute((6, n), lambda t, i: state[t - 1, i], name="fine")
    E, D = tw.errors.ExprError, tw.errors.DTypeError

    def updated(f, shape=(6, n)):
        return lambda: te.scan(init, te.compute(shape, f, name="u"), state, name="S")

    refused(E, "must read the state state at earlier times", updated(lambda t, i: state[t, i]))
    refused(E, "must read the state state at earlier times", updated(lambda t, i: state[t - 2, i]))
    refused(E, "update must have the shape of the state", updated(lambda t, i: state[t, i], (5, n)))
    refused(E, "init must have the shape of the state", lambda: te.scan(te.compute((1, 3), lambda _, i: 0.0), fine, state))
    refused(E, "init must give at least one time", lambda: te.scan(te.compute((0, n), lambda _, i: 0.0), fine, state))
    refused(D, "must be float32 as the state", lambda: te.scan(te.compute((1, n), lambda _, i: 0), fine, state))
    refused(E, "one tensor for each of the 2 states", lambda: te.scan(init, fine, [state, X]))
    refused(E, "a state must be a placeholder", lambda: te.scan(init, fine, fine))
    refused(E, "must be a tensor", lambda: te.scan(init, 3, state))
    late = te.compute((6, n), lambda t, i: fine[te.max(t - 1, 0), i], name="late")
    refused(E, "late must read fine at its own time", lambda: te.scan(init, late, state))
    flat = te.compute((n,), lambda i: state[0, i], name="flat")
    refused(E, "must have time as its first axis; flat has not", updated(lambda t, i: flat[i]))
    bad = te.compute((1, n), lambda _, i: state[0, i], name="bad")
    refused(E, "init must not depend on the state", lambda: te.scan(bad, fine, state))
    refused(E, "index out of bounds", lambda: te.create_schedule(te.compute((6, n), lambda t, i: X[t - 1, i])))


# Sums over all earlier times: what is solved from the first unknown on.


def triangular_solve(n):
    L, B = te.placeholder((n, n), "float64", name="L"), te.placeholder((n,), "float64", name="B")
    x = te.placeholder((n,), "float64", name="x")
    init = te.compute((1,), lambda t: B[t] / L[t, t], name="init")

    def known(t):
        k = te.reduce_axis((0, t), name="k")
        return te.sum(L[t, k] * x[k], axis=k)

    before = te.compute((n,), known, name="before")
    update = te.compute((n,), lambda t: (B[t] - before[t]) / L[t, t], name="update")
    return [L, B, te.scan(init, update, x, name="X")]


def cholesky(n):
    """Columns of the factor, one after the other."""
    A, c = te.placeholder((n, n), "float64", name="A"), te.placeholder((n, n), "float64", name="c")
    k, q = te.reduce_axis((0, n), name="k"), te.reduce_axis((0, n), name="q")
    init = te.compute((1, n), lambda t, i: A[i, t] / te.sqrt(A[t, t]), name="init")
    on = te.compute((n,), lambda t: te.sum(c[k, t] * c[k, t], axis=k, where=k < t), name="on")
    below = te.compute((n, n), lambda t, i: te.sum(c[q, i] * c[q, t], axis=q, where=q <= t - 1), name="below")
    update = te.compute(
        (n, n), lambda t, i: te.if_then_else(i >= t, (A[i, t] - below[t, i]) / te.sqrt(A[t, t] - on[t]), 0.0), name="update")
    return [A, te.scan(init, update, c, name="columns")]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [2, 7, 33])
def test_sums_over_all_earlier_times(target, n):
    rng = np.random.default_rng(n)
    lower = np.tril(rng.uniform(-1, 1, (n, n))) + 2 * np.eye(n)
    b = rng.uniform(-1, 1, n)
    args = triangular_solve(n)
    x = call(te.create_schedule(args[-1]), args, [lower, b], target)
    np.testing.assert_allclose(lower @ x, b, atol=1e-9)
    args = cholesky(n)
    columns = call(tw.default_schedule(args[-1]) if target != "interp" else te.create_schedule(args[-1]), args,
                   [lower @ lower.T], target)
    np.testing.assert_allclose(columns, np.linalg.cholesky(lower @ lower.T).T, rtol=1e-9, atol=1e-12)


def test_times_that_are_not_all_earlier():
    n = 9
    state, init = te.placeholder((n,), name="state"), te.compute((1,), lambda t: 1.0, name="init")

    def summed(ends, where=lambda t, k: None):
        def value(t):
            k = te.reduce_axis(ends(t), name="k")
            return te.sum(state[k], axis=k, where=where(t, k))

        update = te.compute((n,), value, name="u")
        return lambda: te.scan(init, update, state, name="S")

    rule = "u must read the state state at earlier times, from 0 on, not at k"
    refused(tw.errors.ExprError, rule, summed(lambda t: (0, t + 1)))
    refused(tw.errors.ExprError, rule, summed(lambda t: (0, n)))
    refused(tw.errors.ExprError, rule, summed(lambda t: (0, n), lambda t, k: k <= t))
    refused(tw.errors.ExprError, rule, summed(lambda t: (0, n), lambda t, k: te.any(k < t, k > 5)))
    assert summed(lambda t: (0, n), lambda t, k: te.all(k < t, k % 2 == 0))().shape == (n,)


# What stands outside of the recurrence may read an input at the time before: the scan needs it from its first update on.


def recurrent(computed):
    T, n = 7, 4
    X, W = te.placeholder((T, n), name="X"), te.placeholder((n, n), name="W")
    x = te.compute((T, n), lambda t, i: X[t, i] * 2, name="x") if computed else X
    k = te.reduce_axis((0, n), name="k")
    before = te.compute((T, n), lambda t, i: te.sum(x[t - 1, k] * W[k, i], axis=k), name="before")
    biased = te.compute((T, n), lambda t, i: before[t, i] + 1, name="biased")
    state = te.placeholder((T, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((T, n), lambda t, i: state[t - 1, i] + biased[t, i], name="update")
    y = te.scan(init, update, state, name="y")
    a, w = np.arange(T * n, dtype="float32").reshape(T, n), np.arange(n * n, dtype="float32").reshape(n, n) - 5
    want = np.cumsum(np.concatenate([a[:1], (a[:-1] * (2 if computed else 1)) @ w + 1]), axis=0)
    return (X, W, before, biased, update, y), (a, w), want


@pytest.mark.parametrize("target", ["llvm", "interp", "c"])
@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("place", ["root", "inside", "inlined"])
def test_a_stage_outside_reads_an_input_at_the_time_before(computed, place, target):
    (X, W, before, biased, update, y), (a, w), want = recurrent(computed)
    s = te.create_schedule(y)
    if place == "inside":
        s[before].compute_at(s[y], y.op.axis[0])
    if place != "root":
        s[biased].compute_inline()
    out = np.zeros_like(want)
    tw.build(s, [X, W, y], target)(a, w, out)
    np.testing.assert_array_equal(out, want)


def test_what_an_output_needs_stays_inside():
    (X, W, before, biased, update, y), _, _ = recurrent(False)
    with pytest.raises(tw.ExprError, match="compute before: index out of bounds"):
        te.create_schedule(biased)
    with pytest.raises(tw.ExprError, match="compute before: index out of bounds"):
        te.create_schedule([y, biased])
    late = te.compute((3,), lambda i: before[i + 4, 0], name="late")  # from time 4 on
    te.create_schedule([y, late])
    far = te.compute((7, 4), lambda t, i: X[t - 2, i], name="far")
    state, init = te.placeholder((7, 4), name="state"), te.compute((1, 4), lambda _, i: X[0, i], name="init")
    update = te.compute((7, 4), lambda t, i: state[t - 1, i] + far[t, i], name="update")
    with pytest.raises(tw.ExprError, match="compute far: index out of bounds"):
        te.create_schedule(te.scan(init, update, state, name="z"))


# A subscript of any dimension may be one of an earlier time: pivots, and times that run backwards.


def shortest_paths():
    n = 9
    D, state = te.placeholder((n, n), name="D"), te.placeholder((n + 1, n, n), name="state")
    init = te.compute((1, n, n), lambda _, i, j: D[i, j], name="init")
    through = lambda t, i, j: te.min(state[t - 1, i, j], state[t - 1, i, t - 1] + state[t - 1, t - 1, j])
    paths = te.scan(init, te.compute((n + 1, n, n), through, name="update"), state, name="paths")
    d = RNG.integers(1, 40, (n, n)).astype("float32")
    want = [d]
    for k in range(n):
        want.append(np.minimum(want[-1], want[-1][:, k : k + 1] + want[-1][k : k + 1]))
    return [D, paths], [d], np.stack(want)


def backwards(outside):
    T, n = 8, 5
    X, state = te.placeholder((n, T), name="X"), te.placeholder((T, n), name="state")
    back = lambda t, i: X[i, T - t] * 2 + X[i, t - 1]
    stage = te.compute((T, n), back, name="stage")
    init = te.compute((1, n), lambda _, i: X[i, 0], name="init")
    update = te.compute((T, n), lambda t, i: state[t - 1, i] + (stage[t, i] if outside else back(t, i)), name="update")
    x = RNG.integers(-9, 9, (n, T)).astype("float32")
    added = 2 * x.T[:0:-1] + x.T[:-1]
    return [X, te.scan(init, update, state, name="sums")], [x], np.cumsum(np.concatenate([x.T[:1], added]), axis=0)


@pytest.mark.parametrize("target", ["llvm", "interp", "c"])
@pytest.mark.parametrize("case", [shortest_paths, lambda: backwards(False), lambda: backwards(True)])
def test_subscripts_of_earlier_times(case, target):
    args, inputs, want = case()
    for s in (te.create_schedule(args[-1]), tw.default_schedule(args)):
        np.testing.assert_array_equal(call(s, args, inputs, target), want)


@pytest.mark.parametrize("read", [lambda t, i: X5[i, t - 1], lambda t, i: X5[i, 5 - t]])
def test_subscripts_of_earlier_times_need_a_scan(read):
    early = te.compute((5, 5), read, name="early")
    refused(tw.ExprError, "compute early: index out of bounds", lambda: te.create_schedule(early))
    state, init = te.placeholder((5, 5), name="state"), te.compute((1, 5), lambda _, i: X5[0, i], name="init")
    update = te.compute((5, 5), lambda t, i: state[t - 1, i] + X5[i, t - 2], name="update")
    refused(tw.ExprError, "X5[i, t - 2] reads -1 of 0..5 at t = 1", lambda: te.scan(init, update, state))


X5 = te.placeholder((5, 5), name="X5")


# States of different shapes: the loops over the scan are those of the largest.


def cells():
    """A cell of 5 and an output of 3 that is read off it: c[t] = c[t-1] + X[t] * sum(h[t-1]), h[t] = c[t, :3] * 2."""
    T, n, m = 6, 5, 3
    X = te.placeholder((T, n), name="X")
    c, h = te.placeholder((T, n), name="c"), te.placeholder((T, m), name="h")
    k = te.reduce_axis((0, m), name="k")
    c0 = te.compute((1, n), lambda _, i: X[0, i], name="c0")
    h0 = te.compute((1, m), lambda _, i: X[0, i] - 1, name="h0")
    total = te.compute((T, 1), lambda t, _: te.sum(h[t - 1, k], axis=k), name="total")
    c1 = te.compute((T, n), lambda t, i: c[t - 1, i] + X[t, i] * total[t, 0], name="c1")
    h1 = te.compute((T, m), lambda t, i: c1[t, i] * 2, name="h1")
    C, H = te.scan([c0, h0], [c1, h1], [c, h], name="cell")
    x = np.random.default_rng(1).integers(-2, 3, (T, n)).astype("float32")
    want_c, want_h = [x[0]], [x[0, :m] - 1]
    for t in range(1, T):
        want_c.append(want_c[-1] + x[t] * want_h[-1].sum())
        want_h.append(want_c[-1][:m] * 2)
    return X, C, H, (c1, h1, total), x, np.stack(want_c), np.stack(want_h)


@pytest.mark.parametrize("target", ["llvm", "interp", "c"])
@pytest.mark.parametrize("way", ["plain", "vector", "placed", "scratch"])
def test_states_of_different_shapes(way, target):
    X, C, H, (c1, h1, total), x, want_c, want_h = cells()
    assert (C.shape, H.shape) == ((6, 5), (6, 3))
    D = te.compute((6, 3), lambda t, i: H[t, i] - C[t, i + 2], name="D")
    s = te.create_schedule(D if way == "scratch" else [C, H])
    if way == "vector":
        s[C].vectorize(C.op.axis[1])
    if way == "placed":
        s[h1].compute_at(s[C], C.op.axis[1])
    if way == "scratch":
        d = np.zeros((6, 3), "float32")
        tw.build(s, [X, D], target)(x, d)
        np.testing.assert_array_equal(d, want_h - want_c[:, 2:])
        return
    out_c, out_h = np.zeros((6, 5), "float32"), np.zeros((6, 3), "float32")
    tw.build(s, [X, C, H], target)(x, out_c, out_h)
    np.testing.assert_array_equal(out_c, want_c)
    np.testing.assert_array_equal(out_h, want_h)


@pytest.mark.parametrize("target", ["llvm", "interp", "c"])
def test_a_copy_holds_the_states_that_are_read(target):
    X, C, H, _, x, want_c, want_h = cells()
    D = te.compute((6, 3), lambda t, i: H[t, i] + 1, name="D")
    E = te.compute((6, 5), lambda t, i: C[t, i] + D[t, i % 3], name="E")
    s = te.create_schedule(E)
    HH, CC = s.cache_read(H, "local", [D]), s.cache_read(C, "global", [E])
    assert (HH.shape, CC.shape) == ((6, 3), (6, 5))
    s[HH].compute_at(s[D], D.op.axis[0])
    e = np.zeros((6, 5), "float32")
    tw.build(s, [X, E], target)(x, e)
    np.testing.assert_array_equal(e, want_c + want_h[:, [0, 1, 2, 0, 1]] + 1)


@pytest.mark.parametrize("target", ["llvm -mcpu=haswell", "cuda -arch=sm_90a"])
def test_sums_over_states_of_different_shapes_have_spaces(target):
    X, C, H, *_ = cells()
    for a, b in [(C, C), (H, H), (C, H)]:
        k = te.reduce_axis((0, 3), name="k")
        S = te.compute((6, 6), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="S")
        assert len(tw.autotune.Task([X, S], target=target).space) > 0
        tw.default_schedule([X, S], target=target)


def test_states_that_do_not_go_together():
    X, C, H, _, _, _, _ = cells()
    s = te.create_schedule([C, H])
    D = te.compute((6, 3), lambda t, i: H[t, i] + C[t, i], name="D")
    s = te.create_schedule(D)
    refused(tw.errors.ScheduleError, "the readers must not read outputs of different shapes, as they do of the scan cell",
            lambda: s.cache_read(H, "local", [D]))
    one = te.placeholder((6,), name="one")
    two = te.placeholder((6, 3), name="two")
    init = te.compute((1, 3), lambda _, i: X[0, i], name="init")
    update = te.compute((6, 3), lambda t, i: two[t - 1, i] + 1, name="update")
    flat = te.compute((1,), lambda _: X[0, 0], name="flat")
    next_one = te.compute((6,), lambda t: one[t - 1] + 1, name="next_one")
    refused(tw.errors.ExprError, "states must have as many dimensions as each other, not 2 and 1",
            lambda: te.scan([init, flat], [update, next_one], [two, one], name="both"))
    late = te.placeholder((7, 3), name="late")
    refused(tw.errors.ExprError, "states must have the same times, not 6 and 7",
            lambda: te.scan([init, init], [update, update], [two, late], name="both"))


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")
def test_the_default_schedule_stores_states_where_they_are_computed():
    T, N = 9, 67
    A, state = te.placeholder((N,), name="A"), te.placeholder((T, N), name="state")
    init = te.compute((1, N), lambda t, i: A[i], name="init")
    update = te.compute((T, N), lambda t, i: state[t - 1, te.max(i - 1, 0)] + state[t - 1, te.min(i + 1, N - 1)] * 0.5, name="update")
    S = te.scan(init, update, state, name="S")
    s = tw.default_schedule(S)
    text = s.to_python()
    assert "s[update].compute_inline()" in text and "s[S].vectorize(" in text
    a, out = np.arange(N, dtype="float32") % 7, np.zeros((T, N), "float32")
    tw.build(s, [A, S])(a, out)
    expected = [a]
    for _ in range(1, T):
        last = expected[-1]
        expected.append(np.concatenate([last[:1], last[:-1]]) + np.concatenate([last[1:], last[-1:]]) * np.float32(0.5))
    np.testing.assert_array_equal(out, np.stack(expected))
