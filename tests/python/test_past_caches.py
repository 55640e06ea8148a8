"""What goes past the caches, and what is fetched before it is read: hints, by which no value changes."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te


def softmax(rows, columns):
    A = te.placeholder((rows, columns), name="A")
    j, k = te.reduce_axis((0, columns), name="j"), te.reduce_axis((0, columns), name="k")
    most = te.compute((rows,), lambda i: te.max(A[i, j], axis=j), name="most")
    E = te.compute((rows, columns), lambda i, j: te.exp(A[i, j] - most[i]), name="E")
    total = te.compute((rows,), lambda i: te.sum(E[i, k], axis=k), name="total")
    return A, most, E, total, te.compute((rows, columns), lambda i, j: E[i, j] / total[i], name="B")


def scheduled(hints):
    A, most, E, total, B = softmax(6, 83)
    s = te.create_schedule(B)
    i, j = s[B].op.axis
    for stage in (most, E, total):
        s[stage].compute_at(s[B], i)
    s[B].parallel(i)
    for stage in (B, E):
        s[stage].vectorize(s[stage].split(s[stage].op.axis[1], 16)[1])
    if hints:
        s[E].prefetch(A, s[E].leaf_iter_vars[-2], from_=i)
        s[B].nontemporal()
    return s, [A, B]


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64", "interp", "c"])
def test_values_are_those_without(target):
    if target.endswith("x86-64") and "x86_64" not in str(tw.Target("llvm")):
        target = "llvm"
    a = np.random.default_rng(1).standard_normal((6, 83)).astype("float32")
    results = []
    for hints in (False, True):
        out = np.full((6, 83), 7, "float32")
        s, args = scheduled(hints)
        tw.build(s, args, target=target)(a, out)
        results.append(out)
    np.testing.assert_array_equal(results[0], results[1])


def test_steps_come_back_as_data_and_as_python():
    s, (A, B) = scheduled(True)
    assert tw.Schedule.from_steps(B, s.steps).steps == s.steps
    assert ["prefetch", "E", "A", "j.o", 1, "i", "B"] in s.steps and ["nontemporal", "B"] in s.steps
    text = s.to_python()
    assert "s[E].prefetch(A, E_jo, 1, from_=(s[B], i))" in text
    stages = {t.name: t for t in softmax(6, 83)}
    again = {"te": te, **stages}
    exec(text, again)
    assert again["s"].steps == s.steps
    assert "B: output float32[6, 83], nontemporal" in str(s)
    assert "B: out nontemporal float32[6, 83]" in str(tw.lower(s, [A, B]))


def test_an_axis_that_cache_write_gave_to_two_stages():
    A = te.placeholder((8, 64), name="A")
    B = te.compute((8, 64), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 64), lambda i, j: B[i, j] * 2.0, name="C")

    def steps(place, loop):
        s = te.create_schedule(C)
        L = s.cache_write(C, "local")
        i, j = s[C].op.axis
        if place:
            s[B].compute_at(s[place(s, L)], i)
        s[B].prefetch(A, B.op.axis[1], from_=loop(s, L, i))
        assert tw.Schedule.from_steps(C, s.steps).steps == s.steps
        return s.steps[-1]

    assert steps(lambda s, L: C, lambda s, L, i: i)[-2:] == ["i", "C"]
    assert steps(lambda s, L: L, lambda s, L, i: i)[-2:] == ["i", "C.local"]
    assert steps(None, lambda s, L, i: (s[C], i))[-2:] == ["i", "C"]
    assert steps(None, lambda s, L, i: (L, i))[-2:] == ["i", "C.local"]


def test_texts_of_before_have_no_loop_to_count():
    A = te.placeholder((8, 64), name="A")
    C = te.compute((8, 64), lambda i, j: A[i, j] * 2.0, name="C")
    old = [["prefetch", "C", "A", "i", 2]]
    assert tw.Schedule.from_steps(C, old).steps == old
    new = [["prefetch", "C", "A", "j", 2, "i"]]
    assert tw.Schedule.from_steps(C, new).steps == new


def test_what_is_no_loop_around_is_refused():
    A, most, E, total, B = softmax(6, 83)
    s = te.create_schedule(B)
    s[E].prefetch(A, E.op.axis[1], from_=B.op.axis[0])
    with pytest.raises(tw.ScheduleError, match="from must be a loop around j, or j itself, not i of B") as refused:
        s.check()
    assert "s[E].prefetch(A" in str(refused.value)


def claiming(hints=True):
    A, most, E, total, B = softmax(6, 96)
    s = te.create_schedule(B)
    i = s[B].op.axis[0]
    for stage in (most, E, total):
        s[stage].compute_at(s[B], i)
    for stage in (B, E):
        s[stage].vectorize(s[stage].split(s[stage].op.axis[1], 32)[1])
    if hints:
        s[E].prefetch(B, s[E].leaf_iter_vars[-2], 0, from_=i)
    return s, [A, B]


@pytest.mark.parametrize("target, words", [
    ("llvm -mcpu=haswell", "prefetchw"), ("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", "pstl1keep"), ("c", "__builtin_prefetch(address, 1, near)")])  # fmt: skip
def test_lines_are_claimed_for_writing(target, words):
    text = tw.build(*claiming(), target=target).source("c" if target == "c" else "asm")
    assert words in text
    assert words not in tw.build(*claiming(False), target=target).source("c" if target == "c" else "asm")


def test_claimed_lines_change_no_value():
    a = np.random.default_rng(1).standard_normal((6, 96)).astype("float32")
    results = []
    for hints in (False, True):
        out = np.full((6, 96), 7, "float32")
        tw.build(*claiming(hints))(a, out)
        results.append(out)
    np.testing.assert_array_equal(results[0], results[1])
    s, (_, B) = claiming()
    assert "s[E].prefetch(B, E_jo, 0, from_=(s[B], i))" in s.to_python()
    assert tw.Schedule.from_steps(B, s.steps).steps == s.steps


@pytest.mark.parametrize("read_again", [False, True])
def test_rows_from_memory_are_fetched_whoever_reads_them_again(read_again):
    A, _, _, _, B = softmax(4096, 1024)
    outputs = [B, te.compute(B.shape, lambda i, j: B[i, j] * 2.0, name="C")] if read_again else [B]
    steps = tw.default_schedule([A, *outputs], target="llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server").steps
    assert {(step[1], step[2]) for step in steps if step[0] == "prefetch"} == ({("E", "A")} if read_again else {("E", "A"), ("E", "B")})
