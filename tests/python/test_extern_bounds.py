"""Subscripts in statements of te.extern: reads outside are refused or clamped, stores outside refused or left out."""

import numpy as np
import pytest
from test_out_of_bounds import refused, run

import tensorwright as tw
from tensorwright import te

TARGETS = ["llvm", "c", "interp"]


def stage(shape, inputs, body, dtype="float32"):
    """``body(ib, *buffers)`` makes the statement: inputs, then the output."""

    def statement(ins, outs):
        ib = te.ir_builder.create()
        body(ib, *(ib.buffer_ptr(b) for b in [*ins, *outs]))
        return ib.get()

    return te.extern(shape, inputs, statement, name="T", dtype=dtype)


def over(n, element, kind="serial"):
    """A loop of ``n`` around ``element(i, *buffers)``."""

    def body(ib, *buffers):
        with ib.for_range(0, n, name="i", kind=kind) as i:
            element(i, *buffers)

    return body


def set_to(target, at, value):
    target[at] = value


def test_outside_for_all_sizes_is_refused():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    text = refused(r"extern T: index out of bounds: A\[i \+ 1\] reads 1..n \+ 1 of 0..n",
                   lambda: stage((n,), [A], over(n, lambda i, a, t: set_to(t, i, a[i + 1]))))
    assert "test_extern_bounds.py" in text and "ib.if_scope" in text
    refused(r"T\[i - 1\] writes", lambda: stage((n,), [A], over(n, lambda i, a, t: set_to(t, i - 1, a[i]))))
    B = te.placeholder((8,), name="B")
    refused(r"B\[i\] reads 8 of 0..8 at i = 8", lambda: stage((9,), [B], over(9, lambda i, b, t: set_to(t, i, b[i]))))
    refused(r"T\[i\] writes 8 of 0..8 at i = 8", lambda: stage((8,), [B], over(9, lambda i, b, t: set_to(t, i, b[0]))))
    refused(r"T\[5 : 4\] writes 8 of 0..8", lambda: stage(
        (8,), [B], lambda ib, b, t: ib.emit(t.buffer.vstore(5, b.buffer.vload(0, "float32x4")))))


@pytest.mark.parametrize("target", TARGETS)
def test_sizes_decide(target):
    n, m = te.var("n"), te.var("m")
    A, S = te.placeholder((n,), name="A"), te.placeholder((m,), name="S")
    read = stage((m,), [A, S], over(m, lambda i, a, s, t: set_to(t, i, a[i] + s[i])))
    written = stage((n,), [A, S], over(m, lambda i, a, s, t: set_to(t, i, s[i])))
    a, s = np.arange(6, dtype="float32"), np.ones(4, "float32")
    for x, y, out in run([A, S, read], [a, s, np.zeros(4, "float32")], target):
        assert np.array_equal(out, a[:4] + 1)
    for x, y, out in run([A, S, written], [a, s, np.zeros(6, "float32")], target):
        assert np.array_equal(out[:4], s)
    with pytest.raises(tw.ArgumentError, match=r"m <= n: extern T reads A\[i\]"):
        tw.build([A, S, read], target=target)(np.zeros(3, "float32"), s, np.zeros(4, "float32"))
    with pytest.raises(tw.ArgumentError, match=r"m <= n: extern T writes T\[i\]"):
        tw.build([A, S, written], target=target)(np.zeros(3, "float32"), s, np.zeros(3, "float32"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["serial", "vectorize", "parallel"])
def test_what_data_says_is_clamped_or_left_out(target, kind):
    A, I = te.placeholder((8,), name="A"), te.placeholder((16,), "int32", name="I")
    gather = stage((16,), [A, I], over(16, lambda i, a, at, t: set_to(t, i, a[at[i]]), kind))
    a, at = np.arange(8, dtype="float32"), np.array([0, -1, 7, 8, -(2**31), 2**31 - 1, 3, 100] * 2, "int32")
    for x, y, out in run([A, I, gather], [a, at, np.zeros(16, "float32")], target):
        assert np.array_equal(out, a[np.clip(at, 0, 7)])

    def scatter(ib, a, at, t):
        with ib.for_range(0, 8, name="i") as i:
            t[i] = -1.0
        with ib.for_range(0, 16, name="i", kind="serial" if kind == "parallel" else kind) as i:
            t[at[i] * 3] = a[te.floormod(i, 8)]

    expected = np.full(8, -1, "float32")
    for i, where in enumerate(at.astype("int64") * 3):
        if 0 <= where < 8:
            expected[where] = a[i % 8]
    T = stage((8,), [A, I], scatter)
    assert "not stored outside of 0..8" in str(te.create_schedule(T).explain()) and "to 0..8" in str(te.create_schedule(gather).explain())
    for x, y, out in run([A, I, T], [a, at, np.zeros(8, "float32")], target):
        assert np.array_equal(out, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_conditions_and_elements_by_number_are_understood(target):
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")

    def body(ib, a, t):
        with ib.for_range(0, n, name="i") as i:
            with ib.for_range(0, m, name="j") as j:
                with ib.if_scope(j > 0):
                    t[i, j] = a[i, j - 1]
                with ib.else_scope():
                    t[i, j] = a[i, j]

    T = stage((n, m), [A], body)
    assert "clamped" not in str(te.create_schedule(T).explain())
    B = te.placeholder((4, 6), name="B")
    flat = stage((4, 6), [B], over(24, lambda i, b, t: set_to(t, i, b[23 - i])))
    assert "clamped" not in str(te.create_schedule(flat).explain())
    a = np.arange(24, dtype="float32").reshape(4, 6)
    for x, out in run([B, flat], [a, np.zeros((4, 6), "float32")], target):
        assert np.array_equal(out.reshape(-1), a.reshape(-1)[::-1])


@pytest.mark.parametrize("target", TARGETS)
def test_a_condition_over_what_changes_says_nothing(target):
    P = te.placeholder((1,), "int32", name="P")

    def body(ib, p, t):
        at = ib.allocate("int32", (1,), name="at")
        at[0] = p[0]
        with ib.for_range(0, 4, name="i") as i:
            t[i] = 0
        with ib.if_scope(te.all(at[0] >= 0, at[0] < 4)):
            at[0] = at[0] + 1000000
            t[at[0]] = 1
            t[0] = t[at[0]] + 5

    T = stage((4,), [P], body, "int32")
    for p, out in run([P, T], [np.array([2], "int32"), np.zeros(4, "int32")], target):
        assert out.tolist() == [5, 0, 0, 0]


def rows_of_a_triangle(n, read, kind="serial"):
    """Of row i the element `read(i)`, by way of memory of i + 1 rows of 2 i + 1 elements."""
    def body(ib, a, t):
        with ib.for_range(0, n, name="i", kind=kind) as i:
            row = ib.allocate("float32", (i + 1, 2 * i + 1), name="row")
            with ib.for_range(0, i + 1, name="j") as j, ib.for_range(0, 2 * i + 1, name="k") as k:
                row[j, k] = a[j] + k.astype("float32")
            t[i] = row[read(i)]

    A = te.placeholder((n,), name="A")
    return [A, stage((n,), [A], body)]


@pytest.mark.parametrize("kind", ["serial", "parallel", "unroll"])
@pytest.mark.parametrize("target", TARGETS)
def test_memory_as_long_as_the_loop_around_it_says(target, kind):
    a = np.arange(8, dtype="float32")
    for _, out in run(rows_of_a_triangle(8, lambda i: (i, 2 * i), kind), [a, np.zeros(8, "float32")], target):
        assert out.tolist() == (3 * a).tolist()
    if kind != "unroll":
        n = te.var("n")
        tensors = rows_of_a_triangle(n, lambda i: (0, i), kind)
        out = np.zeros(8, "float32")
        tw.build(te.create_schedule(tensors[1]), [*tensors, n], target=target)(a, out, 8)
        assert out.tolist() == a.tolist()


@pytest.mark.parametrize("n", [8, te.var("n")])
def test_memory_that_a_loop_leaves_empty(n):
    def body(ib, a, t):
        with ib.for_range(0, n, name="i") as i:
            row = ib.allocate("float32", (i,), name="row")
            t[i] = row[0]

    A = te.placeholder((n,), name="A")
    refused(r"extern T: index out of bounds: row\[0\] reads 0 of 0..i", lambda: stage((n,), [A], body))


@pytest.mark.parametrize("target", TARGETS)
def test_loops_whose_length_is_data(target):
    ends, A = te.placeholder((5,), "int32", name="ends"), te.placeholder((8,), name="A")

    def sums(ib, end, a, t):
        with ib.for_range(0, 4, name="r") as r:
            t[r] = 0.0
            with ib.for_range(0, end[r + 1] - end[r], name="k") as k:
                t[r] = t[r] + a[end[r] + k]

    T = stage((4,), [ends, A], sums)
    a = np.arange(1, 9, dtype="float32")
    for e, x, out in run([ends, A, T], [np.array([0, 3, 3, 7, 10], "int32"), a, np.zeros(4, "float32")], target):
        assert out.tolist() == [6, 0, 22, 8 + 8 + 8]


@pytest.mark.parametrize("target", TARGETS)
def test_neighbours(target):
    A, I = te.placeholder((16,), name="A"), te.placeholder((2,), "int32", name="I")

    def body(ib, a, at, t):
        with ib.for_range(0, 8, name="i") as i:
            t[i] = -1.0
        with ib.for_range(0, 2, name="i") as i:
            ib.emit(t.buffer.vstore(at[i], a.buffer.vload(at[i] * 2, "float32x4")))

    T = stage((8,), [A, I], body)
    a = np.arange(16, dtype="float32")
    for x, at, out in run([A, I, T], [a, np.array([6, -2], "int32"), np.zeros(8, "float32")], target):
        assert out.tolist() == [0, 0, -1, -1, -1, -1, 12, 13]


@pytest.mark.parametrize("target", TARGETS)
def test_uint64_beyond_what_an_index_holds(target):
    at = np.array([1, 2**63 + 1, 2**64 - 1, 2, 2**63 - 1], "uint64")
    I = te.placeholder(at.shape, "uint64", name="I")
    clear, hit = over(4, lambda k, i, t: set_to(t, k, 0.0)), over(5, lambda k, i, t: set_to(t, i[k], 1.0))
    T = stage((4,), [I], lambda ib, *buffers: (clear(ib, *buffers), hit(ib, *buffers)))
    for _, out in run([I, T], [at, np.zeros(4, "float32")], target):
        assert out.tolist() == [0, 1, 1, 0]
