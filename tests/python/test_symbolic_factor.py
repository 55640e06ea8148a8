"""Splits whose factor is a te.var: one kernel for every factor."""

import itertools
import pickle
import subprocess

import numpy as np
import pytest

import tensorwright as tw
from programs import needs_llvm
from tensorwright import te

SIZES = (0, 1, 2, 7, 16, 33, 100)
FACTORS = (1, 2, 3, 5, 16, 33, 64, 1000)
on_each_target = pytest.mark.parametrize("target", ["interp", "c", pytest.param("llvm", marks=needs_llvm)])
TAILS = ["auto", "guard", "mask", "peel", "shift_inward"]


def values(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).integers(-8, 9, shape).astype("float32")


def poisoned(*shape):
    return np.full(shape, 77, "float32")


def pointwise(extent=None):
    n, f = te.var("n"), te.var("f")
    A = te.placeholder((extent or n,), name="A")
    C = te.compute((extent or n,), lambda i: A[i] * 2 + 1, name="C")
    return f, A, C, te.create_schedule(C)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("how", ["factor", "nparts"])
@on_each_target
def test_any_factor_of_any_size(target, how, tail):
    for extent in (None, 100):
        f, A, C, s = pointwise(extent)
        io, ii = s[C].split(C.op.axis[0], **{how: f}, tail=tail)
        assert (ii if how == "factor" else io).extent == f
        k = tw.build(s, [A, f, C], target=target)
        for size, factor in itertools.product(SIZES if extent is None else (extent,), FACTORS):
            a, c = values(size), poisoned(size)
            k(a, factor, c)
            assert np.array_equal(c, a * 2 + 1), (size, factor)


@pytest.mark.parametrize("how", ["factor", "nparts"])
@on_each_target
def test_other_factors_are_refused_by_the_call(target, how):
    f, A, C, s = pointwise()
    s[C].split(C.op.axis[0], **{how: f})
    k = tw.build(s, [A, C, f], target=target, name="parts")
    a, c = values(9), poisoned(9)
    for factor in (0, -1, -(2**63)):
        with pytest.raises(tw.errors.ArgumentError, match=rf"(?s)parts: requires 1 <= f: C.split\(i, {how}=f, tail=auto\).*f = {factor}"):
            k(a, c, factor)
    with pytest.raises(tw.errors.ArgumentError, match="requires"):  # more than any array has
        k(a, c, 2**63 - 1)
    assert (c == 77).all()
    k(a, c, 4)
    assert np.array_equal(c, a * 2 + 1)


@needs_llvm
def test_callers_in_c_are_checked_too(tmp_path):
    f, A, C, s = pointwise()
    s[C].split(C.op.axis[0], f)
    tw.build(s, [A, C, f], name="parts").save(str(tmp_path / "parts.o"))
    assert "requires 1 <= f: C.split(i, factor=f, tail=auto); else it returns TW_ERROR_SIZES" in (tmp_path / "parts.h").read_text()
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "parts.h"\n'
        "int main(void) {\n  float a[3] = {1, 2, 3}, c[3] = {9, 9, 9};\n"
        "  int wrong = parts_run(a, c, 0, 3), untouched = c[0] == 9, fine = parts_run(a, c, 2, 3);\n"
        "  const struct tw_kernel_descriptor* d = &tw_parts_descriptor;\n"
        '  printf("%d %d %d %g %g %g\\n%s\\n", wrong == TW_ERROR_SIZES, untouched, fine, c[0], c[1], c[2], d->requirements[0].text);\n'
        "  return 0;\n}\n"
    )
    program = tmp_path / "main"
    subprocess.run(["cc", "-std=c99", "-o", program, tmp_path / "main.c", tmp_path / "parts.o"], check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert said == "1 1 0 3 5 7\n1 <= f: C.split(i, factor=f, tail=auto)\n"


def product():
    n, m, f, g = te.var("n"), te.var("m"), te.var("f"), te.var("g")
    A, B = te.placeholder((n, 24), name="A"), te.placeholder((24, m), name="B")
    k = te.reduce_axis((0, 24), "k")
    P = te.compute((n, 24), lambda i, k: A[i, k] + 1, name="P")
    C = te.compute((n, m), lambda i, j: te.sum(P[i, k] * B[k, j], k), name="C")
    return f, g, A, B, P, C, te.create_schedule(C)


def tiled(s, P, C, f, g):
    s[C].tile(*C.op.axis, f, g)


def attached(s, P, C, f, g):
    io, jo, ii, ji = s[C].tile(*C.op.axis, f, g)
    s[P].compute_at(s[C], io)


def inside(s, P, C, f, g):
    io, jo, ii, ji = s[C].tile(*C.op.axis, f, g)
    ko, ki = s[C].split(C.op.reduce_axis[0], f)
    s[C].reorder(io, jo, ko, ii, ki, ji)
    s[P].compute_at(s[C], ko)


def shared(s, P, C, f, g):
    io, ii = s[C].split(C.op.axis[0], nparts=f)
    s[C].parallel(io)
    s[P].compute_at(s[C], io)


def fused(s, P, C, f, g):
    whole = s[C].fuse(*C.op.axis)
    outer, inner = s[C].split(whole, f)
    again = s[C].split(inner, g)
    s[P].compute_at(s[C], outer)
    s[C].unroll(s[C].split(again[1], 4)[1])


def lanes(s, P, C, f, g):
    jo, ji = s[C].split(C.op.axis[1], g)
    s[C].vectorize(s[C].split(ji, 8)[1])
    s[P].compute_inline()


def cached(s, P, C, f, g):
    io, ii = s[C].split(C.op.axis[0], f)
    W = s.cache_write(C, "local")
    s[P].compute_at(s[W], s[W].leaf_iter_vars[0])
    jo, ji = s[C].split(C.op.axis[1], g)
    s[W].compute_at(s[C], jo)


def cached_part(s, P, C, f, g):
    W = s.cache_write(C, "local")
    io, jo, ii, ji = s[C].tile(*C.op.axis, f, g)
    s[W].compute_at(s[C], jo)
    R = s.cache_read(P, "local", [W])
    s[R].compute_at(s[W], s[W].op.reduce_axis[0])
    s[P].compute_at(s[C], io)


def factored(s, P, C, f, g):
    ko, ki = s[C].split(C.op.reduce_axis[0], f)
    s.rfactor(C, ki)


@pytest.mark.parametrize("how", [tiled, attached, inside, shared, fused, lanes, cached, cached_part, factored])
@on_each_target
def test_with_other_steps(target, how):
    f, g, A, B, P, C, s = product()
    how(s, P, C, f, g)
    k = tw.build(s, [A, B, C, f, g], target=target)
    for (rows, columns), (one, other) in itertools.product([(1, 1), (5, 7), (16, 9), (0, 3), (33, 34)], [(1, 1), (3, 4), (8, 16), (40, 50)]):
        a, b, c = values(rows, 24), values(24, columns), poisoned(rows, columns)
        k(a, b, c, one, other)
        assert np.array_equal(c, (a + 1) @ b), (rows, columns, one, other)


@on_each_target
def test_expressions_over_extents(target):
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[i] * 2, name="C")
    s = te.create_schedule(C)
    io, ii = s[C].split(C.op.axis[0], n // 4 + 1)
    s[C].split(ii, nparts=te.max(n // 8, te.const(1)))
    k = tw.build(s, [A, C], target=target)
    for size in SIZES:
        a, c = values(size), poisoned(size)
        k(a, c)
        assert np.array_equal(c, a * 2), size
    assert "requires" not in str(tw.lower(s, [A, C]))
    s = te.create_schedule(C)
    s[C].split(C.op.axis[0], n // 4)
    k = tw.build(s, [A, C], target=target)
    k(values(9), poisoned(9))
    with pytest.raises(tw.errors.ArgumentError, match="requires 1 <= n // 4"):
        k(values(3), poisoned(3))


def test_to_python_keeps_the_names_of_sizes():
    n = te.var("n")
    A = te.placeholder((n, 8), name="A")
    C = te.compute((n, 8), lambda n, j: A[n, j] + 1, name="C")
    s = te.create_schedule(C)
    s[C].reorder(C.op.axis[1], C.op.axis[0])
    s[C].split(C.op.axis[1], factor=n)
    scope = {"te": te, "tw": tw, "C": C, "n": n}
    exec(s.to_python(), scope)
    assert scope["s"].steps == s.steps


def test_an_extent_of_an_argument_that_nothing_reads():
    f, A, C, s = pointwise()
    s[C].split(C.op.axis[0], f)
    k = tw.build(s, [A, te.placeholder((f,), name="F"), C])
    a, c = values(20), poisoned(20)
    k(a, values(6), c)
    assert np.array_equal(c, a * 2 + 1)


def test_a_producer_computes_what_a_part_reads():
    """Of a known extent too, where the part is none: work is counted, not timed."""
    f = te.var("f")
    A = te.placeholder((1000,), name="A")
    P = te.compute((1000,), lambda i: te.exp(A[i]), name="P")
    C = te.compute((1000,), lambda i: P[i] * 2, name="C")
    s = te.create_schedule(C)
    io, ii = s[C].split(C.op.axis[0], f)
    s[P].compute_at(s[C], io)
    assert "computed whole" not in str(s)
    text = str(tw.lower(s, [A, C, f], "interp", plain=True))
    assert "if " not in text and "in 0..1000:" not in text, text


def test_steps_are_data():
    f, A, C, s = pointwise()
    io, ii = s[C].split(C.op.axis[0], te.min(f, 8))
    s[C].split(ii, nparts=f)
    s[C].parallel(io)
    assert s.steps[0] == ["split", "C", "i", "min(f, 8)", None, "auto"]
    assert "io, ii = s[C].split(i, factor=te.min(f, 8))" in s.to_python()
    scope = {"te": te, "C": C, "f": f}
    exec(s.to_python(), scope)
    again = tw.Schedule.from_steps(C, s.steps)
    other = te.load_json(te.save_json(s))
    pickled = pickle.loads(pickle.dumps(s))
    for made in (scope["s"], again, other, pickled):
        assert made.steps == s.steps and str(made) == str(s)
        (output,) = made.outputs
        k = tw.build(made, [*output.op.input_tensors, output, f])
        for size, factor in itertools.product(SIZES, (1, 3, 50)):
            a, c = values(size), poisoned(size)
            k(a, c, factor)
            assert np.array_equal(c, a * 2 + 1), (size, factor)


def test_relations_and_extents():
    f, A, C, s = pointwise()
    io, ii = s[C].split(C.op.axis[0], f)
    made = s[C].relations[0]
    assert made.factor == f and made.nparts is None and ii.extent == f
    n = A.shape[0]
    assert str(io.extent) == "(n + f - 1) // f" and io.extent != n
    assert "for i.i in 0..f" in str(s)
    s.explain()


def refused(match, act):
    with pytest.raises(tw.errors.ScheduleError, match=match):
        act()


def test_where_a_number_is_needed():
    f, A, C, s = pointwise()
    P = s.cache_read(A, "local", [C])
    io, ii = s[C].split(C.op.axis[0], f)
    before = s.steps
    refused(r"vectorize: axis must have a known number of iterations, not f(.|\n)*split", lambda: s[C].vectorize(ii))
    refused(r"unroll: axis must have a known number of iterations, not f", lambda: s[C].unroll(ii))
    refused(r"unroll: factor must be a positive integer, not f: the copies", lambda: s[C].unroll(io, f))
    refused(r"split: tail must be guard, mask, peel or shift_inward where a size is no number, as f is", lambda: s[P].split(P.op.axis[0], f, tail="pad"))
    refused(r"factor must be a positive integer, or an expression over te.vars, not sqrt", lambda: s[C].split(io, te.sqrt(te.var("x", "float32"))))
    refused(r"factor must be .* not x", lambda: s[C].split(io, te.var("x", "float32")))
    refused(r"factor must be a positive integer, not 0", lambda: s[C].split(io, f - f))
    refused(r"there are two f", lambda: s[C].split(io, te.var("f")))
    refused(r"there are two n", lambda: s[C].split(io, nparts=te.var("n")))
    refused(r"names that a Step can hold", lambda: s[C].split(io, te.var("a b")))
    refused(r"factor must be .* not i", lambda: s[C].split(io, C.op.axis[0].var))
    assert s.steps == before
    with pytest.raises(tw.errors.ArgumentError, match=r"(?s)the variable f, which C.split\(i, factor=f, tail=auto\) uses, has no value.*name it among"):
        tw.build(s, [A, C])
