"""Symbolic extents and scalar arguments: one kernel for every size, 0 and 1 included."""

import re
import subprocess

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

SIZES = [*range(71), 255, 1000, 4097]
TAILS = ["auto", "guard", "mask", "peel", "shift_inward"]
TARGETS = ["llvm", "interp"]


def random(*shape, dtype="float32"):
    return np.random.default_rng(sum(shape) + len(shape)).integers(-8, 9, shape).astype(dtype)


def poisoned(*shape, dtype="float32"):
    return np.full(shape, 77, dtype)


def scaled_copy():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return n, A, te.compute((n,), lambda i: A[i] * 2 + 1, name="C")


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("parallel", [False, True])
def test_pointwise_with_each_tail(tail, parallel):
    if tail == "shift_inward" and parallel:
        pytest.skip("shift_inward revisits values, so it is refused under parallel")
    n, A, C = scaled_copy()
    s = te.create_schedule(C)
    io, ii = s[C].split(C.op.axis[0], 16, tail=tail)
    s[C].vectorize(ii)
    if parallel:
        s[C].parallel(io)
    f = tw.build(s, [A, C])
    for size in SIZES:
        a, c = random(size), poisoned(size)
        f(a, c)
        assert np.array_equal(c, a * 2 + 1), size


@pytest.mark.parametrize("target", TARGETS)
def test_default_schedules_and_plain_loops(target):
    n, A, C = scaled_copy()
    for f in (tw.build([A, C], target=target), tw.build(te.create_schedule(C), [A, C], target)):
        for size in (0, 1, 2, 15, 16, 17, 64, 70):
            a, c = random(size), poisoned(size)
            f(a, c)
            assert np.array_equal(c, a * 2 + 1), size


@pytest.mark.parametrize("tail", ["auto", "guard", "mask", "peel"])
def test_splits_into_parts_and_splits_of_splits(tail):
    n, A, C = scaled_copy()
    s = te.create_schedule(C)
    io, ii = s[C].split(C.op.axis[0], nparts=4, tail=tail)
    iio, iii = s[C].split(ii, 8, tail=tail)
    s[C].parallel(io)
    s[C].unroll(iii)
    f = tw.build(s, [A, C])
    for size in SIZES:
        a, c = random(size), poisoned(size)
        f(a, c)
        assert np.array_equal(c, a * 2 + 1), size


FUSED = {
    "as it is": lambda s, P, C, f: s[P].compute_inline(),
    "by three": lambda s, P, C, f: s[P].compute_at(s[C], s[C].split(f, 3)[1]),
    "vectorized": lambda s, P, C, f: (s[P].compute_inline(), s[C].vectorize(s[C].split(f, 8)[1])),
    "parallel": lambda s, P, C, f: (s[P].compute_inline(), s[C].parallel(s[C].split(f, 8)[0])),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("how", FUSED)
def test_fused_loops_run_along_memory(how, rank, target):
    shape = [te.var(name) for name in "nmk"[:rank]]
    A = te.placeholder(shape, name="A")
    P = te.compute(shape, lambda *at: A(*at) * 2, name="P")
    C = te.compute(shape, lambda *at: P(*at) + A(*at), name="C")
    s = te.create_schedule(C)
    FUSED[how](s, P, C, s[C].fuse(*C.op.axis))
    f = tw.build(s, [A, C], target=target)
    if target == "llvm":
        body = f.source("c").split("int32_t tw_kernel", 1)[1]
        assert not re.search("%|div|mod", body), body
    for sizes in [(3, 5, 7), (1, 1, 1), (7, 1, 5), (1, 8, 3), (5, 4, 4), (0, 3, 2), (3, 0, 2), (2, 3, 0)]:
        a, c = random(*sizes[:rank]), poisoned(*sizes[:rank])
        f(a, c)
        assert np.array_equal(c, a * 3), sizes


LEAVING = {
    "as it is": lambda s, C, f: None,
    "by three": lambda s, C, f: s[C].split(f, 3),
    "vectorized": lambda s, C, f: s[C].vectorize(s[C].split(f, 8)[1]),
    "unrolled": lambda s, C, f: s[C].unroll(s[C].split(f, 4)[1]),
    "parallel": lambda s, C, f: s[C].parallel(s[C].split(f, 8)[0]),
}


@pytest.mark.parametrize("target", [*TARGETS, "c"])
@pytest.mark.parametrize("how", LEAVING)
def test_fused_loops_that_leave_their_rows(how, target):
    n, m = te.var("n"), te.var("m")
    A, b = te.placeholder((n, m), name="A"), te.placeholder((m,), name="b")
    T = te.placeholder((m, n), name="T")
    C = te.compute((n, m), lambda i, j: A[i, j] * b[j] + T[j, i] + te.if_then_else(j > 0, A[i, j - 1], i), name="C")
    s = te.create_schedule(C)
    LEAVING[how](s, C, s[C].fuse(*C.op.axis))
    f = tw.build(s, [A, b, T, C], target=target)
    if target == "llvm" and how != "parallel":
        body = f.source("c").split("int32_t tw_kernel", 1)[1]
        assert not re.search("%|div|mod", body), body
    for sizes in [(3, 5), (1, 1), (7, 1), (1, 7), (5, 4), (9, 40), (0, 3), (3, 0)]:
        a, row, turned, c = random(*sizes), random(sizes[1]), random(*sizes[::-1]), poisoned(*sizes)
        f(a, row, turned, c)
        before = np.hstack([np.arange(sizes[0], dtype="float32")[:, None], a])[:, : sizes[1]]
        assert np.array_equal(c, a * row + turned.T + before), sizes


def test_fused_matrix_products():
    n, m, k = te.var("n"), te.var("m"), te.var("k")
    A, B = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), "r")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, r] * B[r, j], r), name="C")
    s = te.create_schedule(C)
    s[C].split(s[C].fuse(*C.op.axis), 8)
    f = tw.build(s, [A, B, C])
    for rows, columns, terms in [(3, 5, 4), (1, 1, 1), (8, 33, 7), (2, 3, 0), (0, 3, 2), (3, 0, 2)]:
        a, b, c = random(rows, terms), random(terms, columns), poisoned(rows, columns)
        f(a, b, c)
        assert np.array_equal(c, a @ b), (rows, columns, terms)


def test_fused_loops():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    C = te.compute((n, m), lambda i, j: A[i, j] + i * 100 + j, name="C")
    s = te.create_schedule(C)
    fused = s[C].fuse(*C.op.axis)
    o, i = s[C].split(fused, 8)
    s[C].parallel(o)
    s[C].vectorize(i)
    f = tw.build(s, [A, C])
    for shape in [(0, 0), (0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (5, 7), (13, 16), (70, 33)]:
        a, c = random(*shape), poisoned(*shape)
        f(a, c)
        assert np.array_equal(c, a + np.arange(shape[0])[:, None] * 100 + np.arange(shape[1])), shape


@pytest.mark.parametrize("tail", ["auto", "guard", "mask", "peel"])
def test_reductions_over_a_symbolic_axis(tail):
    n, k = te.var("n"), te.var("k")
    A = te.placeholder((n, k), "int32", name="A")
    r = te.reduce_axis((0, k), "r")
    C = te.compute((n,), lambda i: te.sum(A[i, r], r), name="C")
    s = te.create_schedule(C)
    ro, ri = s[C].split(r, 4, tail=tail)
    io, ii = s[C].split(C.op.axis[0], 3, tail=tail)
    s[C].reorder(io, ro, ii, ri)
    f = tw.build(s, [A, C])
    for rows in (0, 1, 2, 3, 4, 7, 30):
        for size in (0, 1, 3, 4, 5, 8, 70):
            a, c = random(rows, size, dtype="int32"), poisoned(rows, dtype="int32")
            f(a, c)
            assert np.array_equal(c, a.sum(axis=1)), (rows, size)


def test_reductions_that_begin_late():
    n = te.var("n")
    A = te.placeholder((n,), "int32", name="A")
    r = te.reduce_axis((1, n - 1), "r")
    C = te.compute((1,), lambda i: te.sum(A[r], r), name="C")
    f = tw.build([A, C])
    for size in range(12):
        a, c = random(size, dtype="int32"), poisoned(1, dtype="int32")
        f(a, c)
        assert c[0] == a[1:-1].sum(), size


@pytest.mark.parametrize("at", ["outer", "inner", "root", "inline"])
def test_stencils_with_producers_inside(at):
    n = te.var("n")
    A = te.placeholder((n + 4,), "int32", name="A")
    P = te.compute((n + 2,), lambda i: A[i] + A[i + 1] + A[i + 2], name="P")
    C = te.compute((n,), lambda i: P[i] - P[i + 2], name="C")
    s = te.create_schedule(C)
    io, ii = s[C].split(C.op.axis[0], 8)
    if at == "inline":
        s[P].compute_inline()
    elif at != "root":
        s[P].compute_at(s[C], io if at == "outer" else ii)
    f = tw.build(s, [A, C])
    for size in SIZES:
        a, c = random(size + 4, dtype="int32"), poisoned(size, dtype="int32")
        f(a, c)
        p = a[:-2] + a[1:-1] + a[2:]
        assert np.array_equal(c, p[:-2] - p[2:]), size


def test_padded_stencils_lose_their_conditions():
    n = te.var("n")
    A = te.placeholder((n,), "int32", name="A")
    left = lambda i: te.if_then_else(i >= 1, A[i - 1], 0)
    right = lambda i: te.if_then_else(i < n - 1, A[i + 1], 0)
    C = te.compute((n,), lambda i: left(i) + A[i] + right(i), name="C")
    s = te.create_schedule(C)
    f = tw.build(s, [A, C])
    for size in SIZES:
        a, c = random(size, dtype="int32"), poisoned(size, dtype="int32")
        f(a, c)
        padded = np.pad(a, 1)
        assert np.array_equal(c, padded[:-2] + a + padded[2:]), size


def matmul(m, n, k, dtype="float32"):
    A, B = te.placeholder((m, k), dtype, name="A"), te.placeholder((k, n), dtype, name="B")
    r = te.reduce_axis((0, k), "k")
    return A, B, te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], r), name="C")


def tiled(C):
    s = te.create_schedule(C)
    i, j = C.op.axis
    (k,) = C.op.reduce_axis
    io, jo, ii, ji = s[C].tile(i, j, 6, 32)
    s[C].reorder(io, jo, k, ii, ji)
    s[C].unroll(ii)
    s[C].vectorize(ji)
    s[C].parallel(io)
    return s


SHAPES = [(0, 0, 0), (0, 5, 3), (5, 0, 3), (5, 3, 0), (1, 1, 1), (6, 32, 4), (7, 33, 5), (5, 31, 70), (13, 70, 1), (64, 64, 64), (67, 129, 35)]


def test_matmuls_of_all_shapes():
    A, B, C = matmul(te.var("m"), te.var("n"), te.var("k"))
    packed = te.create_schedule(C)
    io, jo, ii, ji = packed[C].tile(*C.op.axis, 4, 16)
    packed[C].reorder(io, jo, *C.op.reduce_axis, ii, ji)
    P = packed.cache_read(B, "global", [C])
    packed[P].compute_at(packed[C], jo)
    for f in (tw.build([A, B, C]), tw.build(tiled(C), [A, B, C]), tw.build(packed, [A, B, C])):
        for m, n, k in SHAPES:
            a, b, c = random(m, k), random(k, n), poisoned(m, n)
            f(a, b, c)
            assert np.array_equal(c, a @ b), (m, n, k)


def test_softmax_rows():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    r = te.reduce_axis((0, m), "r")
    M = te.compute((n,), lambda i: te.max(A[i, r], r), name="M")
    E = te.compute((n, m), lambda i, j: te.exp(A[i, j] - M[i]), name="E")
    r2 = te.reduce_axis((0, m), "r2")
    S = te.compute((n,), lambda i: te.sum(E[i, r2], r2), name="S")
    C = te.compute((n, m), lambda i, j: E[i, j] / S[i], name="C")
    s = te.create_schedule(C)
    for t in (S, E, M):
        s[t].compute_at(s[C], C.op.axis[0])
    s[C].parallel(C.op.axis[0])
    _, e = s[E].split(E.op.axis[1], 16)
    s[E].vectorize(e)
    for f in (tw.build(s, [A, C]), tw.build([A, C])):
        for shape in [(0, 0), (0, 4), (4, 0), (1, 1), (3, 17), (9, 64), (70, 33)]:
            a, c = random(*shape), poisoned(*shape)
            f(a, c)
            e_ = np.exp(a - a.max(axis=1, keepdims=True, initial=-np.inf))
            assert np.allclose(c, e_ / e_.sum(axis=1, keepdims=True), rtol=1e-5), shape


def test_concatenation():
    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n,), "int32", name="A"), te.placeholder((m,), "int32", name="B")
    C = te.compute((n + m,), lambda i: te.if_then_else(i < n, A[i], B[i - n]), name="C")
    s = te.create_schedule(C)
    o, i = s[C].split(C.op.axis[0], 8)
    s[C].vectorize(i)
    for f in (tw.build(s, [A, B, C]), tw.build([A, B, C])):
        for x in (0, 1, 7, 8, 9, 30):
            for y in (0, 1, 8, 23):
                a, b, c = random(x, dtype="int32"), random(y, dtype="int32"), poisoned(x + y, dtype="int32")
                f(a, b, c)
                assert np.array_equal(c, np.concatenate([a, b])), (x, y)


@pytest.mark.parametrize("target", TARGETS)
def test_scalar_arguments(target):
    n, shift = te.var("n"), te.var("shift")
    alpha, flag, count = te.var("alpha", "float32"), te.var("flag", "bool"), te.var("count", "int8")
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: te.if_then_else(flag, A[te.max(te.min(i + shift, n - 1), 0)] * alpha, count.astype("float32")), name="C")
    f = tw.build([alpha, A, shift, C, flag, count], target=target)
    a, c = random(20), poisoned(20)
    f(np.float32(1.5), a, -3, c, True, 7)
    assert np.array_equal(c, a[np.clip(np.arange(20) - 3, 0, 19)] * np.float32(1.5))
    f(2, a, np.int64(5), c, False, -128)
    assert np.array_equal(c, np.full(20, -128))
    with pytest.raises(tw.ArgumentError, match="int8 holds"):
        f(2.0, a, 5, c, False, 128)
    with pytest.raises(tw.DTypeError, match="argument 3 .shift.: must be an integer"):
        f(2.0, a, 5.0, c, False, 1)
    with pytest.raises(tw.DTypeError, match="argument 1 .alpha.: must be a number"):
        f("2", a, 5, c, False, 1)
    with pytest.raises(tw.ArgumentError, match="takes 6 arguments .alpha, A, shift, C, flag, count., not 2"):
        f(a, c)


def test_a_size_may_be_passed_besides():
    n = te.var("n")
    A = te.placeholder((n,), "int32", name="A")
    C = te.compute((n,), lambda i: A[i] + n, name="C")
    f = tw.build([n, A, C])
    a, c = random(5, dtype="int32"), poisoned(5, dtype="int32")
    f(5, a, c)
    assert np.array_equal(c, a + 5)
    with pytest.raises(tw.ArgumentError, match="dimension 0 must be n = 4, not 5"):
        f(4, a, c)


def test_shapes_are_checked_against_each_other():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.placeholder((2, n * 2 - 3), name="B")
    C = te.compute((n,), lambda i: A[i] + B[0, 0], name="C")
    f = tw.build([A, B, C])
    f(random(4), random(2, 5), poisoned(4))
    with pytest.raises(tw.ArgumentError, match=r"argument 2 \(B\): dimension 1 must be n \* 2 - 3 = 5, not 6") as error:
        f(random(4), random(2, 6), poisoned(4))
    assert "n = 4 of argument 1 (A)" in str(error.value)
    with pytest.raises(tw.ArgumentError, match="must not be negative: -1"):
        f(random(1), random(2, 5), poisoned(1))
    with pytest.raises(tw.ArgumentError, match="rank must be 2, not 1"):
        f(random(4), random(5), poisoned(4))
    with pytest.raises(tw.ArgumentError, match=r"argument 3 \(C\): dimension 0 must be n = 4, not 3"):
        f(random(4), random(2, 5), poisoned(3))


def test_strides_may_be_symbolic():
    n, ld = te.var("n"), te.var("ld")
    A = te.placeholder((n, 4), "int32", name="A", strides=(ld, 1))
    C = te.compute((n, 4), lambda i, j: A[i, j] * 2, name="C")
    f = tw.build([A, ld, C])
    whole = random(6, 9, dtype="int32")
    c = poisoned(6, 4, dtype="int32")
    f(whole[:, :4], 9, c)
    assert np.array_equal(c, whole[:, :4] * 2)
    with pytest.raises(tw.ArgumentError, match="strided as declared"):
        f(whole[:, :4], 8, c)


def test_variables_without_a_value_are_refused():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n * 2,), name="A")
    C = te.compute((n * 2,), lambda i: A[i] + m, name="C")
    with pytest.raises(tw.ArgumentError, match="the variable n, which A uses, has no value"):
        tw.build([A, C])
    with pytest.raises(tw.ArgumentError, match="the variable m, which C uses, has no value"):
        tw.build([n, A, C])
    f = tw.build([n, m, A, C])
    c = poisoned(6)
    f(3, 4, np.zeros(6, "float32"), c)
    assert (c == 4).all()
    with pytest.raises(tw.ArgumentError, match="scalar must be named once"):
        tw.build([n, n, m, A, C])
    with pytest.raises(tw.ArgumentError, match="not the axis"):
        tw.build([n, m, C.op.axis[0].var, A, C])


def test_primitives_that_need_numbers_say_so():
    n, A, C = scaled_copy()
    s = te.create_schedule(C)
    with pytest.raises(tw.ScheduleError, match="known number of iterations, not n") as error:
        s[C].vectorize(C.op.axis[0])
    assert "split the axis" in str(error.value)
    with pytest.raises(tw.ScheduleError, match="known number of iterations, not n"):
        s[C].unroll(C.op.axis[0])
    assert "for i in 0..n" in str(s)
    s[C].split(C.op.axis[0], 16)
    assert "for i.o in 0..(n + 15) // 16" in str(s)


def test_extents_of_other_things_are_refused():
    A = te.placeholder((4,), "int32", name="A")
    with pytest.raises(tw.ExprError, match="the extent of dimension 0 must be an integer or an expression of te.var"):
        te.placeholder((A[0],))
    with pytest.raises(tw.ExprError, match=r"ends must be integers or expressions of te.var and axes, not index"):
        te.compute((4,), lambda i: te.sum(A[i], te.reduce_axis((0, A[i]), "k")))


def test_sizes_that_no_memory_holds():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    P = te.compute((n, n, n, n), lambda i, j, k, l: A[i] + A[j] + A[k] + A[l], name="P")
    r = te.reduce_axis((0, n), "r")
    C = te.compute((1,), lambda i: te.sum(P[r, 0, 0, 0], r), name="C")
    f = tw.build(te.create_schedule(C), [A, C])
    c = poisoned(1)
    f(np.ones(3, "float32"), c)
    assert c[0] == 12
    with pytest.raises(tw.ArgumentError, match="no memory for its scratch"):
        f(np.ones(1 << 17, "float32"), c)


@pytest.fixture(scope="module")
def saxpy():
    n, alpha = te.var("n"), te.var("alpha", "float64")
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[i] * alpha.astype("float32"), name="C")
    s = te.create_schedule(C)
    o, i = s[C].split(C.op.axis[0], 16)
    s[C].vectorize(i)
    return tw.build(s, [A, alpha, C], name="saxpy")


def test_saved_kernels_keep_their_symbols(saxpy, tmp_path):
    saxpy.save(str(tmp_path / "saxpy.so"))
    f = tw.load(str(tmp_path / "saxpy.so"))
    for size in SIZES:
        a, c = random(size), poisoned(size)
        f(a, 3.0, c)
        assert np.array_equal(c, a * 3)
    with pytest.raises(tw.ArgumentError, match=r"argument 3 \(C\): dimension 0 must be n = 4, not 5"):
        f(random(4), 1.0, poisoned(5))


def test_exported_objects_run_in_c(saxpy, tmp_path):
    saxpy.save(str(tmp_path / "saxpy.o"))
    (tmp_path / "main.c").write_text(
        '#include "saxpy.h"\n'
        "int main(void) {\n"
        "  float a[100], c[100];\n"
        "  for (int64_t n = 0; n < 100; ++n) {\n"
        "    for (int i = 0; i < 100; ++i) a[i] = (float)i, c[i] = -1;\n"
        "    if (saxpy_run(a, 2.0, c, n) != 0) return 1;\n"
        "    for (int i = 0; i < 100; ++i)\n"
        "      if (c[i] != (i < n ? 2.0f * (float)i : -1)) return 2;\n"
        "  }\n"
        "  if (saxpy_run(a, 2.0, c, -1) != TW_ERROR_SIZES) return 4;\n"
        "  return tw_saxpy_descriptor.scalar_count == 2 && tw_saxpy_descriptor.extents[0][0] == 's' ? 0 : 3;\n"
        "}\n"
    )
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "main.c", "saxpy.o", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 0


def test_tasks_of_unknown_size_are_refused():
    @tw.autotune.template("test_symbolic_copy")
    def copy(cfg):
        n, A, C = scaled_copy()
        return te.create_schedule(C), [A, C]

    with pytest.raises(tw.TuneError, match="known extents"):
        tw.autotune.Task(copy, args=())
