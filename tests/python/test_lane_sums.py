"""vectorize of a reduction axis: L partial results, joined in one order whoever computes them."""
import numpy as np
import pytest
from programs import run

import tensorwright as tw
from tensorwright import te

TARGETS = ["llvm", "llvm -mcpu=native", "interp", "c"]


def joined(parts, combine):
    """Of n the first n // 2 with those ceil(n / 2) lanes up, until one is left."""
    parts = list(parts)
    while len(parts) > 1:
        left = (len(parts) + 1) // 2
        parts = [combine(parts[i], parts[i + left]) if i + left < len(parts) else parts[i] for i in range(left)]
    return parts[0]


def across(terms, lanes, combine, identity):
    parts = [identity] * lanes
    for t, term in enumerate(terms):
        parts[t % lanes] = combine(parts[t % lanes], term)
    return joined(parts, combine)


def row_sums(rows, n, lanes, reducer=te.sum, **options):
    A = te.placeholder((rows, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    B = te.compute((rows,), lambda i: reducer(A[i, k], axis=k, **options), name="B")
    s = te.create_schedule(B)
    ko, ki = s[B].split(k, factor=lanes)
    s[B].vectorize(ki)
    return s, A, B, ko, ki


def uneven(shape, seed=1):
    """Numbers of many magnitudes: another order is another sum."""
    random = np.random.default_rng(seed)
    return (random.standard_normal(shape) * 10.0 ** random.integers(-6, 6, shape)).astype(np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [2, 3, 5, 8, 13, 16, 24, 64])
def test_lanes_are_joined_in_one_order(lanes, target):
    s, A, B, _, _ = row_sums(5, 133, lanes)
    a = uneven((5, 133))
    expected = [across(row, lanes, np.add, np.float32(0)) for row in a]
    assert run(s, [A, B], [a], target).tolist() == expected
    assert expected != [across(row, 1, np.add, np.float32(0)) for row in a]


@pytest.mark.parametrize("target", TARGETS)
def test_several_rows_side_by_side_under_an_outer_block_of_terms(target):
    s, A, B, ko, ki = row_sums(7, 100, 8, init=3.0)
    io, ii = s[B].split(B.op.axis[0], factor=4)
    s[B].reorder(io, ko, ii, ki)
    s[B].unroll(ii)
    a = uneven((7, 100))
    expected = [np.float32(3) + across(row, 8, np.add, np.float32(0)) for row in a]
    assert run(s, [A, B], [a], target).tolist() == expected


@pytest.mark.parametrize("target", TARGETS)
def test_the_lanes_may_be_the_outer_loop(target):
    A = te.placeholder((30,), name="A")
    k = te.reduce_axis((0, 30), name="k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B)
    ko, _ = s[B].split(k, nparts=4)  # of 8, 8, 8 and 6
    s[B].vectorize(ko)
    a = uneven((30,))
    parts = [across(a[8 * l : 8 * l + 8], 1, np.add, np.float32(0)) for l in range(4)]
    assert run(s, [A, B], [a], target).tolist() == [joined(parts, np.add)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_tuple_is_joined_with_all_its_components(target):
    def first_of_the_largest(x, y):
        take = te.any(x[1] > y[1], te.all(x[1] == y[1], x[0] < y[0]))
        return te.select(take, x[0], y[0]), te.select(take, x[1], y[1])

    argmax = te.comm_reducer(first_of_the_largest, lambda i, v: (te.const(2**31 - 1, i), te.min_value(v)))
    A = te.placeholder((4, 75), name="A")
    k = te.reduce_axis((0, 75), name="k")
    I, V = te.compute((4,), lambda i: argmax((k, A[i, k]), axis=k), name="B")
    s = te.create_schedule([I, V])
    _, ki = s[V].split(k, factor=16)
    s[V].vectorize(ki)
    a = np.random.default_rng(2).integers(0, 9, (4, 75)).astype(np.float32)
    place, value = np.zeros(4, str(I.dtype)), np.zeros(4, np.float32)
    tw.build(s, [A, I, V], target=target)(a, place, value)
    assert place.tolist() == a.argmax(axis=1).tolist() and value.tolist() == a.max(axis=1).tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_a_reducer_of_ones_own_is_joined_from_left_to_right(target):
    """The combiner is no sum: it shows on which side each lane stood."""
    reducer = te.comm_reducer(lambda x, y: x * 3.0 + y, lambda t: te.const(0.0, t))
    s, A, B, _, _ = row_sums(2, 20, 6, lambda x, axis: reducer(x, axis=axis))
    a = np.random.default_rng(3).integers(0, 4, (2, 20)).astype(np.float32)
    expected = [across(row, 6, lambda x, y: x * np.float32(3) + y, np.float32(0)) for row in a]
    assert run(s, [A, B], [a], target).tolist() == expected


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int32", "uint8"])
def test_of_every_dtype(dtype):
    A = te.placeholder((3, 50), dtype, name="A")
    k = te.reduce_axis((0, 50), name="k")
    B = te.compute((3,), lambda i: te.max(A[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    _, ki = s[B].split(k, factor=16)
    s[B].vectorize(ki)
    a = np.random.default_rng(4).integers(0, 99, (3, 50)).astype(dtype)
    for target in TARGETS:
        assert run(s, [A, B], [a], target).tolist() == a.max(axis=1).tolist()


def test_terms_that_do_not_count_leave_the_identity():
    A = te.placeholder((12, 12), name="A")
    k = te.reduce_axis((0, 12), name="k")
    B = te.compute((12,), lambda i: te.max(A[i, k], axis=k, where=k < i), name="B")
    s = te.create_schedule(B)
    _, ki = s[B].split(k, factor=8)
    s[B].vectorize(ki)
    a = -np.abs(uneven((12, 12))) - 1
    expected = [-np.inf] + [a[i, :i].max() for i in range(1, 12)]
    for target in TARGETS:
        assert run(s, [A, B], [a], target).tolist() == expected


def test_sums_in_a_parallel_loop_and_inside_another_stage():
    A = te.placeholder((64, 100), name="A")
    k = te.reduce_axis((0, 100), name="k")
    S = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="S")
    C = te.compute((64, 100), lambda i, j: A[i, j] - S[i], name="C")
    s = te.create_schedule(C)
    i, j = C.op.axis
    s[C].parallel(i)
    s[S].compute_at(s[C], i)
    _, ki = s[S].split(k, factor=32)
    s[S].vectorize(ki)
    a = uneven((64, 100))
    sums = np.array([across(row, 32, np.add, np.float32(0)) for row in a], np.float32)
    for target in TARGETS:
        assert np.array_equal(run(s, [A, C], [a], target), a - sums[:, None])


def test_one_iteration_has_no_lanes():
    s, A, B, _, _ = row_sums(5, 9, 1)
    a = uneven((5, 9))
    assert "lanes" not in str(tw.lower(s, [A, B]))
    assert run(s, [A, B], [a], "llvm").tolist() == [across(row, 1, np.add, np.float32(0)) for row in a]


def test_lanes_stay_in_registers():
    s, A, B, _, _ = row_sums(8, 1024, 64)
    f = tw.build(s, [A, B], target="llvm -mcpu=x86-64-v3")
    assembly = f.source("asm")
    assert "(%rsp)" not in assembly


def test_other_steps_know_the_lanes():
    s, A, B, ko, ki = row_sums(8, 64, 16)
    assert "vectorized" in str(s)
    assert "s[B].vectorize(ki)" in s.to_python()
    assert "vectorized reduction" in str(s.explain()) and " side by side" in str(s.explain())
    with pytest.raises(tw.ScheduleError, match="the reduction's loops must be plain"):
        s.rfactor(B, ko)
    with pytest.raises(tw.ScheduleError, match="only one loop of a reduction may be vectorized, and k.i is already"):
        s[B].vectorize(ko)
    with pytest.raises(tw.ScheduleError, match="must not be vectorized at k.i yet"):
        s.cache_write(B, "local")


def test_a_symbolic_extent_has_no_lanes():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n), name="k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B)
    with pytest.raises(tw.ScheduleError, match="known number of iterations"):
        s[B].vectorize(k)
    _, ki = s[B].split(k, factor=8)
    s[B].vectorize(ki)
    a = uneven((37,))
    f = tw.build(s, [A, B], target="llvm")
    out = np.zeros(1, np.float32)
    f(a, out)
    assert out[0] == across(a, 8, np.add, np.float32(0))


CHAIN = """[["cache_write", "B", "local"], ["split", "B", "i", 4, null, "auto"], ["reorder", "B", ["i.o", "i.i"]], ["unroll", "B", "i.i"],
["split", "B.local", "k", 8, null, "auto"], ["rfactor", "B.local", "k.i", -1], ["split", "B.local", "k_i", 4, null, "auto"],
["rfactor", "B.local", "k_i.i", -1], ["split", "B.local", "k_i_i", 2, null, "auto"], ["rfactor", "B.local", "k_i_i.i", -1],
["compute_at", "B.local", "B", "i.o"], ["compute_at", "B.local.rf", "B", "i.o"], ["reorder", "B.local.rf", ["k_o", "i", "k_i"]],
["vectorize", "B.local.rf", "k_i"], ["compute_at", "B.local.rf_1", "B", "i.o"], ["reorder", "B.local.rf_1", ["k_i_o", "i", "k_i_i"]],
["vectorize", "B.local.rf_1", "k_i_i"], ["unroll", "B.local.rf_1", "k_i_o"], ["compute_at", "B.local.rf_2", "B", "i.o"],
["reorder", "B.local.rf_2", ["k_i_i_o", "i", "k_i_i_i"]], ["vectorize", "B.local.rf_2", "k_i_i_i"], ["unroll", "B.local.rf_2", "k_i_i_o"]]"""


def test_records_of_chained_rfactors_replay():
    """Halves by rfactor, as automatic spaces had them, add in the order of the lanes, from the outermost half down to two."""
    A = te.placeholder((8, 37), name="A")
    k = te.reduce_axis((0, 37), name="k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = tw.Schedule.from_steps(B, CHAIN)
    a = uneven((8, 37))
    expected = [across(row, 8, np.add, np.float32(0)) for row in a]
    assert run(s, [A, B], [a], "llvm").tolist() == expected
