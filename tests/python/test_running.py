"""Scans inside of loops of their readers, and the schedule that recurrences along rows get."""

import numpy as np
import pytest
from programs import refused

import tensorwright as tw
from tensorwright import te

RNG = np.random.default_rng(4)
TARGETS = ["interp", "llvm", "c"]


def rows(n, m, dtype="int32", back=1, lead=(), op=lambda a, b: a + b):
    """Y[.., i, t] = op(Y[.., i, t - back], X[.., i, t])."""
    k = len(lead)
    X = te.placeholder((*lead, n, m), dtype, name="X")
    state = te.placeholder((m, *lead, n), dtype, name="state")
    first = te.compute((back, *lead, n), lambda t, *at: X[(*at, t)], name="first")
    step = te.compute((m, *lead, n), lambda t, *at: op(state[(t - back, *at)], X[(*at, t)]), name="step")
    S = te.scan(first, step, state, name="S")
    return X, first, step, S, te.compute((*lead, n, m), lambda *at: S[(at[k + 1], *at[:k + 1])], name="Y")


def expected(x, back=1, op=np.add):
    y = x.copy()
    for t in range(back, x.shape[-1]):
        y[..., t] = op(y[..., t - back], x[..., t])
    return y


def draw(X):
    low, high = (-9, 9) if X.dtype.startswith("int") else (-1, 1)
    return RNG.uniform(low, high, X.shape).astype(X.dtype)


def run(program, x, target):
    y = np.zeros_like(x)
    tw.build(*program, target=target)(x, y)
    return y


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n, m, back", [(8, 32, 1), (13, 45, 1), (5, 8, 3), (3, 7, 1), (9, 1, 1)])
def test_continued_in_blocks_of_times(n, m, back, target):
    X, first, step, S, Y = rows(n, m, back=back)
    s = te.create_schedule(Y)
    io, ii = s[Y].split(Y.op.axis[0], 4)
    to, ti = s[Y].split(Y.op.axis[1], 8)
    s[Y].reorder(io, to, ii, ti)
    s[S].compute_at(s[Y], to)
    s[first].compute_at(s[Y], io)
    T = s.cache_read(X, "global", [step])
    s[T].compute_at(s[Y], to)
    x = draw(X)
    np.testing.assert_array_equal(run((s, [X, Y]), x, target), expected(x, back))


@pytest.mark.parametrize("target", TARGETS)
def test_all_times_of_some_rows(target):
    X, first, step, S, Y = rows(11, 20)
    s = te.create_schedule(Y)
    io, ii = s[Y].split(Y.op.axis[0], 4)
    s[Y].parallel(io)
    s[S].compute_at(s[Y], io)
    assert "S: int32[20, 4]" in str(tw.lower(s, [X, Y]))
    x = draw(X)
    np.testing.assert_array_equal(run((s, [X, Y]), x, target), expected(x))


@pytest.mark.parametrize("target", TARGETS)
def test_updates_that_read_their_neighbours_are_computed_whole(target):
    m, n = 9, 12
    X, state = te.placeholder((n,), "int32", name="X"), te.placeholder((m, n), "int32", name="state")
    first = te.compute((1, n), lambda _, i: X[i], name="first")
    step = te.compute((m, n), lambda t, i: state[t - 1, te.floormod(i + 1, n)] + 1, name="step")
    S = te.scan(first, step, state, name="S")
    Y = te.compute((n, m), lambda i, t: S[t, i], name="Y")
    s = te.create_schedule(Y)
    s[S].compute_at(s[Y], Y.op.axis[0])
    assert f"S: int32[{m}, {n}]" in str(tw.lower(s, [X, Y]))
    x, y = draw(X), np.zeros((n, m), "int32")
    tw.build(s, [X, Y], target=target)(x, y)
    np.testing.assert_array_equal(y, np.stack([np.roll(x, -t) + t for t in range(m)], 1))


def test_a_scan_starts_at_the_first_time():
    X, first, step, S, Y = rows(8, 32)

    def split(factor, order, tail="auto"):
        s = te.create_schedule(Y)
        io, ii = s[Y].split(Y.op.axis[0], 4)
        to, ti = s[Y].split(Y.op.axis[1], factor, tail=tail)
        loops = {"io": io, "ii": ii, "to": to, "ti": ti}
        s[Y].reorder(*(loops[name] for name in order))
        return s, loops

    s, loops = split(8, ("to", "io", "ii", "ti"))
    s[S].compute_at(s[Y], loops["io"])
    refused(tw.ScheduleError, "must go along the times of the scan S from the first one on", s.check)
    s, loops = split(5, ("io", "to", "ii", "ti"), "shift_inward")
    s[S].compute_at(s[Y], loops["to"])
    refused(tw.ScheduleError, "must go along the times of the scan S from the first one on, without gaps", s.check)
    s, loops = split(8, ("io", "to", "ii", "ti"))
    s[Y].parallel(loops["to"])
    s[S].compute_at(s[Y], loops["to"])
    refused(tw.ScheduleError, "the loop in which S is computed must be serial", s.check)
    s, loops = split(1, ("io", "to", "ii", "ti"))
    s[S].compute_at(s[Y], loops["to"])
    refused(tw.ScheduleError, "the updates of S must read states fewer than 1 times back", s.check)
    s[step].compute_inline()
    refused(tw.ScheduleError, "the updates of S must read states fewer than 1 times back", s.check)
    refused(tw.ScheduleError, "stage must not be a scan, as S is", lambda: s[S].rolling_buffer())
    refused(tw.ScheduleError, "stage must not be a scan, as S is", lambda: s[S].double_buffer())


@pytest.mark.parametrize("target", TARGETS)
def test_inlined_updates_that_read_their_neighbours(target):
    X = te.placeholder((6, 9), "int32", name="X")
    state = te.placeholder((6, 9), "int32", name="state")
    first = te.compute((1, 9), lambda t, i: X[t, i], name="first")
    step = te.compute((6, 9), lambda t, i: state[t - 1, te.max(i - 1, 0)] + X[t, i], name="step")
    S = te.scan(first, step, state, name="S")
    Y = te.compute((9, 6), lambda i, t: S[t, i], name="Y")
    x = draw(X)
    y = x.copy()
    for t in range(1, 6):
        y[t] = x[t] + y[t - 1, np.maximum(np.arange(9) - 1, 0)]
    for block, level in ((2, "to"), (6, "io")):
        s = te.create_schedule(Y)
        s[step].compute_inline()
        io, ii = s[Y].split(Y.op.axis[0], 4)
        to, ti = s[Y].split(Y.op.axis[1], block)
        s[Y].reorder(io, to, ii, ti)
        s[S].compute_at(s[Y], {"io": io, "to": to}[level])
        if level == "to":  # all rows, which the loop around begins anew
            s[Y].reorder(to, io, ii, ti)
        out = np.zeros((9, 6), "int32")
        tw.build(s, [X, Y], target=target)(x, out)
        np.testing.assert_array_equal(out, y.T)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tail", ["mask", "guard"])
def test_stages_of_updates_that_reach_further(tail, target):
    X, first, step, S, Y = rows(5, 4)
    x = draw(X)
    s = te.create_schedule(Y)
    local = s.cache_write(step, "local")
    copy = s.cache_read(local, "local", [step])
    inner = s[step].tile(step.op.axis[0], step.op.axis[1], 3, 6, tail=tail)[2:]
    fused = s[step].fuse(*inner)
    s[S].compute_at(s[Y], Y.op.axis[0])
    s[copy].compute_at(s[step], fused)
    np.testing.assert_array_equal(run((s, [X, Y]), x, target), expected(x))


def test_states_of_two_shapes_stay_at_root():
    X = te.placeholder((9, 4), name="X")
    a, b = te.placeholder((9, 4), name="a"), te.placeholder((9, 2), name="b")
    a0, b0 = (te.compute((1, n), lambda _, i: X[0, i], name=f"{n}_first") for n in (4, 2))
    a1 = te.compute((9, 4), lambda t, i: a[t - 1, i] + X[t, i], name="a1")
    b1 = te.compute((9, 2), lambda t, i: b[t - 1, i] + a[t - 1, i], name="b1")
    P, Q = te.scan([a0, b0], [a1, b1], [a, b], name="S")
    Y = te.compute((2, 9), lambda i, t: P[t, i] + Q[t, i], name="Y")
    s = te.create_schedule(Y)
    refused(tw.ScheduleError, "stage must not be a scan whose states differ in shape", lambda: s[P].compute_at(s[Y], Y.op.axis[0]))


OPERATIONS = {"sum": (lambda a, b: a + b, np.add), "largest": (te.max, np.maximum), "product": (lambda a, b: a * b, np.multiply)}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8", "float16"])
@pytest.mark.parametrize("op", OPERATIONS)
def test_rows_are_lanes_without_a_schedule(op, dtype):
    ours, theirs = OPERATIONS[op]
    for n, m in ((32, 64), (37, 101), (4, 3), (300, 70)):
        X, *_, Y = rows(n, m, dtype, op=ours)
        x = draw(X)
        np.testing.assert_array_equal(run(([X, Y],), x, "llvm -mcpu=native"), expected(x, op=theirs))


def test_rows_behind_other_axes():
    X, *_, Y = rows(9, 33, lead=(2, 3))
    x = draw(X)
    np.testing.assert_array_equal(run(([X, Y],), x, "llvm"), expected(x))


@pytest.mark.parametrize("twice", [False, True])
def test_arithmetic_that_is_inlined_in_the_updates(twice):
    n, m = 37, 50
    X, state = te.placeholder((n, m), "int32", name="X"), te.placeholder((m, n), "int32", name="state")
    odd = te.compute((n, m), lambda i, t: X[i, t] * 2 + 1, name="odd")
    if twice:
        odd = te.compute((n, m), lambda i, t: odd[i, t] * 3, name="thrice")
    first = te.compute((1, n), lambda t, i: odd[i, t], name="first")
    step = te.compute((m, n), lambda t, i: state[t - 1, i] + odd[i, t], name="step")
    S = te.scan(first, step, state, name="S")
    Y = te.compute((n, m), lambda i, t: S[t, i], name="Y")
    x = draw(X)
    np.testing.assert_array_equal(run(([X, Y],), x, "llvm"), np.cumsum((x * 2 + 1) * (3 if twice else 1), 1))


def test_the_schedule_keeps_tiles_only():
    X, *_, Y = rows(256, 1024, "float32")
    text = str(tw.lower(tw.default_schedule(Y, target="llvm -mcpu=x86-64-v4"), [X, Y]))
    assert "S: float32[16, 8]" in text and "X.global: float32[16, 8]" in text, text
    gathers = tw.build([X, Y], target="llvm -mcpu=x86-64-v4").source("llvm").count("call <16 x float> @llvm.masked.gather")
    assert gathers == 0
