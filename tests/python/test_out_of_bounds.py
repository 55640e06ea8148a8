"""Reads outside of an array: refused, or clamped; foreign memory is never touched."""
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from fenced import fenced

import tensorwright as tw
from programs import needs_llvm
from tensorwright import ops, te

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from bench.pattern_rows import ROWS as PATTERNS  # noqa: E402
from bench.tune_rows import ROWS as TUNED  # noqa: E402

TARGETS = ["llvm", "c", "interp"]


def refused(match, f):
    with pytest.raises(tw.errors.ExprError, match=match) as caught:
        f()
    return str(caught.value)


def run(args, arrays, target="llvm", scalars=()):
    """The kernel on fenced arrays, flush with the page behind and then with the page before."""
    f = tw.build(args, target=target)
    for at_end in (True, False):
        given = [fenced(a, at_end) for a in arrays]
        f(*given, *scalars)
        yield given


def test_outside_for_all_sizes_is_refused():
    m = te.var("m")
    A = te.placeholder((m,), name="A")
    text = refused(r"index out of bounds: A\[i \+ 1\] reads 1..m \+ 1 of 0..m", lambda: te.compute((m,), lambda i: A[i + 1], name="C"))
    assert "test_out_of_bounds.py" in text and "compute C" in text
    refused(r"A\[i \+ m\]", lambda: te.compute((m,), lambda i: A[i + m]))
    refused(r"A\[i - m\] reads", lambda: te.compute((m,), lambda i: A[i - m]))
    k = te.reduce_axis((0, m), "k")
    refused(r"A\[k \+ 1\]", lambda: te.compute((), lambda: te.sum(A[k + 1], axis=k)))
    refused(r"A\[i \+ 1\]", lambda: te.compute((m,), lambda i: te.if_then_else(i >= 0, A[i + 1], 0.0)))
    back = te.compute((m,), lambda i: A[i - 1], name="back")
    refused(r"A\[i - 1\]", lambda: te.create_schedule(back))


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_not_proved_is_clamped(target):
    A = te.placeholder((16,), name="A")
    C = te.compute((20000,), lambda i: A[te.if_then_else(te.floormod(i * i, 9973) == 7262, 30000000, 0)], name="C")
    a, i = np.arange(16, dtype="float32"), np.arange(20000)
    for x, c in run([A, C], [a, np.zeros(20000, "float32")], target):
        assert np.array_equal(c, a[np.where(i * i % 9973 == 7262, 15, 0)])


@pytest.mark.parametrize("target", TARGETS)
def test_data(target):
    m, n = te.var("m"), te.var("n")
    A, at = te.placeholder((m,), name="A"), te.placeholder((n,), "int32", name="at")
    C = te.compute((n,), lambda i: A[at[i]], name="C")
    a, where = np.arange(1, 8, dtype="float32"), np.array([0, -1, 6, 7, 2**31 - 1, -(2**31), 3], "int32")
    for x, y, c in run([A, at, C], [a, where, np.zeros(7, "float32")], target):
        assert np.array_equal(c, a[np.clip(where, 0, 6)])


@pytest.mark.parametrize("target", TARGETS)
def test_subscripts_whose_arithmetic_wraps(target):
    A = te.placeholder((16,), name="A")
    n, m = 70000, 20000
    C = te.compute((n,), lambda i: A[i.astype("int32") * i.astype("int32")], name="C")
    D = te.compute((n,), lambda i: A[(i * i).astype("int32")], name="D")
    E = te.compute((m,), lambda i: A[i * i * i * i * i], name="E")
    a, i, j = np.arange(16, dtype="float32"), np.arange(n, dtype="int32"), np.arange(m, dtype="int64")
    for x, c, d, e in run([A, C, D, E], [a, *(np.zeros(k, "float32") for k in (n, n, m))], target):
        assert np.array_equal(c, a[(i * i).clip(0, 15)]) and np.array_equal(d, c)
        assert np.array_equal(e, a[(j * j * j * j * j).clip(0, 15)])


@pytest.mark.parametrize("target", TARGETS)
def test_products_and_remainders_of_symbols(target):
    m, n, k = te.var("m"), te.var("n"), te.var("k")
    A, B = te.placeholder((m,), name="A"), te.placeholder((k,), name="B")
    C = te.compute((n,), lambda i: A[i * i % k] + B[0], name="C")
    D = te.compute((n,), lambda i: A[i * k], name="D")
    a, b = np.arange(9, dtype="float32"), np.zeros(23, "float32")
    for x, y, c, d in run([A, B, C, D], [a, b, *np.zeros((2, 30), "float32")], target):
        i = np.arange(30)
        assert np.array_equal(c, a[(i * i % 23).clip(0, 8)])
        assert np.array_equal(d, a[(i * 23).clip(0, 8)])


@pytest.mark.parametrize("inline", [False, True])
def test_a_schedule_does_not_change_what_a_clamp_gives(inline):
    A, at = te.placeholder((10,), name="A"), te.placeholder((40,), "int32", name="at")
    P = te.compute((10,), lambda i: A[i] + i, name="P")
    C = te.compute((40,), lambda i: P[at[i]], name="C")
    s = te.create_schedule(C)
    if inline:
        s[P].compute_inline()
    f = tw.build(s, [A, at, C])
    a, where = np.arange(10, dtype="float32") * 3, np.arange(-20, 20, dtype="int32")
    c = fenced(np.zeros(40, "float32"))
    f(fenced(a), fenced(where), c)
    assert np.array_equal(c, (a + np.arange(10))[where.clip(0, 9)])


def required(f):
    """What the kernel of a result requires, as its text says."""
    return [line.split('"requires ')[1].split('"')[0] for line in str(tw.lower(te.create_schedule(f[-1]), f)).splitlines() if "requires" in line]


def test_what_sizes_decide_is_required():
    m, n, k = te.var("m"), te.var("n"), te.var("k")
    A, B = te.placeholder((m,), name="A"), te.placeholder((m, n), name="B")

    def of(shape, body, args=(A,)):
        return required([*args, te.compute(shape, body, name="C")])

    N = te.placeholder((n,), name="N")
    assert required([A, N, te.compute((n,), lambda i: A[i] + N[i], name="C")]) == ["n <= m: compute C reads A[i]"]
    assert of((n,), lambda i: A[i + 1] + N[i], (A, N)) == ["n + 1 <= m or n == 0: compute C reads A[i + 1]"]
    assert of((n,), lambda i: A[2 * i] + N[i], (A, N)) == ["n * 2 <= m + 1: compute C reads A[2 * i]"]
    assert of((n,), lambda i: A[i // 2] + N[i], (A, N)) == ["n <= m * 2: compute C reads A[i // 2]"]
    assert of((n,), lambda i: A[i + 1] + A[i] + N[i], (A, N)) == ["n + 1 <= m or n == 0: compute C reads A[i + 1]"]
    assert of((n, m), lambda i, j: B[i, j], (B,)) == ["n <= m or m == 0: compute C reads B[i, j]", "m <= n or n == 0: compute C reads B[i, j]"]
    assert of((n,), lambda i: te.if_then_else(i < 5, A[i], N[i]), (A, N)) == ["n <= m or 5 <= m: compute C reads A[i]"]
    r = te.reduce_axis((0, n), "r")
    assert of((n,), lambda i: te.sum(A[r] * N[i], axis=r), (A, N)) == ["n <= m: compute C reads A[r]"]
    assert of((m,), lambda i: te.if_then_else(i + 2 < m, A[i + 2], 0.0)) == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_call_checks_what_is_required(target, tmp_path):
    m, n = te.var("m"), te.var("n")
    A, N = te.placeholder((m,), name="A"), te.placeholder((n,), name="N")
    C = te.compute((n,), lambda i: A[i] + N[i], name="C")
    f = tw.build([A, N, C], target=target, name="shifted")
    a, ones, c = np.arange(5, dtype="float32"), np.ones(7, "float32"), np.full(7, 9, "float32")
    f(fenced(a), fenced(ones[:5]), fenced(c[:5]))
    f(fenced(a), fenced(ones[:0]), fenced(c[:0]))
    with pytest.raises(tw.errors.ArgumentError, match=r"(?s)shifted: requires n <= m: compute C reads A\[i\].*m = 5, n = 7"):
        f(fenced(a), fenced(ones), c)
    assert (c == 9).all()
    if target != "interp":
        f.save(str(tmp_path / "shifted.so"))
        assert "requires n <= m: compute C reads A[i]; else it returns TW_ERROR_SIZES" in (tmp_path / "shifted.h").read_text()


ELSEWHERE = """
import sys
import numpy as np
import tensorwright as tw

f = tw.runtime.load(sys.argv[1])
a, ones, c = np.arange(5, dtype="float32"), np.ones(7, "float32"), np.full(7, 9, "float32")
try:
    f(a, ones, c)
except tw.errors.ArgumentError as error:
    print(error)
assert (c == 9).all()
f(a, ones[:5], c[:5])
assert (c[:5] == a + 1).all() and (c[5:] == 9).all()
"""


@pytest.mark.parametrize("target", [t for t in TARGETS if t != "interp"])
def test_a_loader_names_what_is_required(target, tmp_path):
    m, n = te.var("m"), te.var("n")
    A, N = te.placeholder((m,), name="A"), te.placeholder((n,), name="N")
    C = te.compute((n,), lambda i: te.if_then_else(i < 6, A[i], 0.0) + N[i], name="C")
    tw.build([A, N, C], target=target, name="part").save(str(tmp_path / "part.so"))
    said = subprocess.run([sys.executable, "-c", ELSEWHERE, tmp_path / "part.so"], capture_output=True, text=True, check=True).stdout
    assert "part: requires n <= m or 6 <= m: compute C reads A[i]" in said
    assert "given: m = 5, n = 7" in said


@needs_llvm
def test_callers_in_c_are_checked_too(tmp_path):
    m, n = te.var("m"), te.var("n")
    A, N = te.placeholder((m,), name="A"), te.placeholder((n,), name="N")
    C = te.compute((n,), lambda i: A[i] + N[i], name="C")
    tw.build([A, N, C], name="shifted").save(str(tmp_path / "shifted.o"))
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "shifted.h"\n'
        "int main(void) {\n  float a[2] = {1, 2}, n[3] = {1, 1, 1}, c[3] = {9, 9, 9};\n"
        "  int wrong = shifted_run(a, n, c, 2, 3), untouched = c[0] == 9, large = shifted_run(a, n, c, INT64_MAX, 1);\n"
        '  int fine = shifted_run(a, n, c, 2, 2);\n'
        "  const struct tw_kernel_descriptor* d = &tw_shifted_descriptor;\n"
        '  printf("%d %d %d %d %g %g\\n", wrong == TW_ERROR_SIZES, untouched, large, fine, c[0], c[1]);\n'
        '  for (uint32_t r = 0; r < d->requirement_count; ++r) printf("%s | %s\\n", d->requirements[r].condition, d->requirements[r].text);\n'
        "  return 0;\n}\n"
    )
    program = tmp_path / "main"
    subprocess.run(["cc", "-std=c99", "-o", program, tmp_path / "main.c", tmp_path / "shifted.o"], check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "1 1 2 0 2 3\ns1 < s0 + 1 | n <= m: compute C reads A[i]\n"


def test_scalars_that_users_pass_are_checked_too():
    n, k = te.var("n"), te.var("k")
    A = te.placeholder((n,), name="A")
    C = te.compute((4,), lambda i: A[i + k], name="C")
    f = tw.build([A, k, C])
    a, c = fenced(np.arange(9, dtype="float32")), fenced(np.zeros(4, "float32"))
    for at in (0, 3, 5):
        f(a, at, c)
        assert np.array_equal(c, a[at : at + 4])
    for at in (-1, 6, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)):
        with pytest.raises(tw.errors.ArgumentError, match="requires"):
            f(a, at, c)


def test_an_empty_array_is_not_clamped_into():
    m, n = te.var("m"), te.var("n")
    A, at = te.placeholder((m,), name="A"), te.placeholder((n,), "int32", name="at")
    f = tw.build([A, at, te.compute((n,), lambda i: A[at[i]], name="C")])
    empty, index = np.zeros(0, "float32"), np.zeros(3, "int32")
    with pytest.raises(tw.errors.ArgumentError, match="requires 1 <= m or n == 0: compute C reads A"):
        f(fenced(empty), fenced(index), fenced(np.zeros(3, "float32")))
    f(fenced(empty), fenced(index[:0]), fenced(empty))


def test_explain_shows_clamps_and_what_is_required():
    m, n = te.var("m"), te.var("n")
    A, at = te.placeholder((m,), name="A"), te.placeholder((n,), "int32", name="at")
    text = te.create_schedule(te.compute((n,), lambda i: A[at[i]] + A[i], name="C")).explain()
    text = str(text)
    assert "clamped  C: A[index(at[i])]: dimension 0 to 0..m" in text
    assert "required n <= m: compute C reads A[i]" in text


def bodies_without_clamps():
    n, m, h, w, c = (te.var(name) for name in "nmhwc")
    A, B = te.placeholder((n,), name="A"), te.placeholder((m,), name="B")
    X, Y, Z = te.placeholder((h, w), name="X"), te.placeholder((h * w,), name="Y"), te.placeholder((c, h, w), name="Z")
    W, at = te.placeholder((3, 3), name="W"), te.placeholder((n,), "int32", name="at")
    T = te.placeholder((16,), name="T")
    padded = te.compute((h + 2, w + 2), lambda i, j: te.if_then_else(te.all(i >= 1, i < h + 1, j >= 1, j - 1 < w), X[i - 1, j - 1], 0.0), name="padded")
    p, q = te.reduce_axis((0, 3), "p"), te.reduce_axis((0, 3), "q")
    yield "transpose", (w, h), lambda i, j: X[j, i]
    yield "flip", (n,), lambda i: A[n - 1 - i]
    yield "roll", (n,), lambda i: A[(i + 1) % n]
    yield "roll back", (n,), lambda i: A[(i - 3) % n]
    yield "flatten", (h * w,), lambda i: X[i // w, i % w]
    yield "flatten of three", (c * h * w,), lambda i: Z[i // (h * w), i // w % h, i % w]
    yield "three to two", (c * h, w), lambda i, j: Z[i // h, i % h, j]
    yield "unflatten", (h, w), lambda i, j: Y[i * w + j]
    yield "split in rows of 4", ((n + 3) // 4, 4), lambda i, j: te.if_then_else(i * 4 + j < n, A[i * 4 + j], 0.0)
    yield "pad", (n + 5,), lambda i: te.if_then_else(te.all(i >= 2, i < n + 2), A[i - 2], 0.0)
    yield "pad by select", (n + 5,), lambda i: te.select(te.any(i < 2, i >= n + 2), 0.0, A[i - 2])
    yield "edge", (n + 2,), lambda i: A[te.max(te.min(i - 1, n - 1), 0)]
    yield "reflect", (n,), lambda i: te.if_then_else(i < n // 2, A[i], A[n - 1 - i])
    yield "concat", (n + m,), lambda i: te.if_then_else(i < n, A[i], B[i - n])
    yield "concat of three", (n + m + n,), lambda i: te.if_then_else(i < n, A[i], te.if_then_else(i < n + m, B[i - n], A[i - n - m]))
    yield "tile", (n * 3,), lambda i: A[i % n]
    yield "repeat", (n * 3,), lambda i: A[i // 3]
    yield "even", ((n + 1) // 2,), lambda i: A[i * 2]
    yield "odd", (n // 2,), lambda i: A[i * 2 + 1]
    yield "interleave", (2 * n,), lambda i: te.if_then_else(i % 2 == 0, A[i // 2], 0.0)
    yield "differences", (n - 1,), lambda i: A[i + 1] - A[i]
    yield "toeplitz", (n, n), lambda i, j: te.if_then_else(i >= j, A[i - j], 0.0)
    yield "convolution", (h, w), lambda i, j: te.sum(padded[i + p, j + q] * W[p, q], axis=[p, q])
    yield "strided", ((h - 1) // 2 + 1, (w - 1) // 2 + 1), lambda i, j: te.sum(padded[2 * i + p, 2 * j + q], axis=[p, q])
    yield "dilated", (h - 4, w - 4), lambda i, j: te.sum(X[i + 2 * p, j + 2 * q], axis=[p, q])
    yield "im2col", (9, h * w), lambda k, i: padded[i // w + k // 3, i % w + k % 3]
    yield "where", (h, w), lambda i, j: te.sum(X[i + p, j], axis=[p, q], where=i + p < h)
    yield "table", (n,), lambda i: T[te.floormod(at[i], 16)]
    yield "guarded data", (n,), lambda i: te.if_then_else(te.all(at[i] >= 0, at[i] < 16), T[at[i]], 0.0)
    yield "clipped data", (n,), lambda i: T[te.max(te.min(at[i], 15), 0)]


@pytest.mark.parametrize("body", bodies_without_clamps(), ids=lambda body: body[0])
def test_what_is_proved_stays(body):
    _, shape, definition = body
    seen = []

    def defined(*axes):
        seen.append(definition(*axes))
        return seen[0]

    result = te.compute(shape, defined)
    assert str(result.op.body[0]) == str(seen[0])


def clamps(out):
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    return [line for line in str(te.create_schedule(outs).explain()).splitlines() if line.startswith(("clamped", "required"))]


@pytest.mark.parametrize("row", PATTERNS, ids=lambda row: row.name)
def test_patterns_need_no_clamps(row):
    data = "gather" in row.name or "embedding" in row.name or "lookup" in row.name
    assert bool(clamps(row.tensors()[-1])) == data


@pytest.mark.parametrize("row", TUNED, ids=lambda row: row.name)
def test_tuned_rows_need_no_clamps(row):
    assert clamps(row.tensors()[-1]) == []


GIVEN = {"M": 19, "N": 23, "K": 17, "B": 2, "C": 8, "F": 8, "H": 19, "W": 23, "rows": 40}


@pytest.mark.parametrize("name", ops.kernels())
def test_stock_operators_need_no_clamps(name):
    given = {p: GIVEN.get(p, 3) for p, default in ops.kernels()[name].items() if default is None}
    args = ops.kernel(name, **given)
    assert clamps([t for t in args if t.op.input_tensors]) == []  # embedding clips by itself


def test_symbolic_operators_need_no_clamps():
    n, c, h, w = (te.var(name) for name in "nchw")
    image, rows, square = te.placeholder((n, c, h, w), name="image"), te.placeholder((n, w), name="rows"), te.placeholder((w, w), name="square")
    for out in (ops.softmax(rows), ops.layer_norm(rows), ops.matmul(rows, square), ops.transpose(image, (0, 2, 3, 1)), ops.sum(rows, axis=1)):
        assert clamps(out) == []


@pytest.mark.parametrize("target", [*TARGETS, "c -mcpu=native"])
def test_terms_of_a_sum_that_a_guard_leaves_out(target):
    """What stands behind the last one of six is not read, whatever vectors a compiler makes of four terms."""
    A, B = te.placeholder((1, 6), "int32", name="A"), te.placeholder((6,), "int32", name="B")
    k = te.reduce_axis((0, 6), name="k")
    C = te.compute((1,), lambda i: te.sum(A[i, k] * B[k], axis=k), name="C")
    s = te.create_schedule(C)
    s[C].split(k, 4, tail="guard")
    f = tw.build(s, [A, B, C], target=target)
    values = np.arange(6, dtype="int32")
    for at_end in (True, False):
        a, b, c = (fenced(x, at_end) for x in (values.reshape(1, 6), values, np.zeros(1, "int32")))
        f(a, b, c)
        assert c[0] == 55


BEYOND_INDEX = np.array([0, 3, 4, 2**40, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1], "uint64")


@pytest.mark.parametrize("target", TARGETS)
def test_uint64_beyond_what_an_index_holds(target):
    """As an index it is negative: what is known of the data says nothing about the subscript."""
    A, I = te.placeholder((4,), name="A"), te.placeholder(BEYOND_INDEX.shape, "uint64", name="I")
    signed = BEYOND_INDEX.astype("int64")
    wraps = {
        "plain": (lambda i: A[I[i]], signed),
        "largest": (lambda i: A[te.max(I[i], te.const(2**40, "uint64"))], np.maximum(BEYOND_INDEX, 2**40).astype("int64")),
        "from int64": (lambda i: A[I[i].astype("int64").astype("uint64")], signed),
        "sum": (lambda i: A[I[i] + te.const(2**63, "uint64")], (BEYOND_INDEX + np.uint64(2**63)).astype("int64")),
        "known to be": (lambda i: A[te.if_then_else(I[i] >= te.const(2**63, "uint64"), I[i], te.const(2, "uint64"))],
                        np.where(signed < 0, signed, 2)),
    }
    a = np.arange(4, dtype="float32") + 5
    for name, (body, at) in wraps.items():
        C = te.compute(BEYOND_INDEX.shape, body, name="C")
        for _, _, c in run([A, I, C], [a, BEYOND_INDEX, np.zeros(9, "float32")], target):
            np.testing.assert_array_equal(c, a[at.clip(0, 3)], err_msg=name)
    guarded = te.compute(BEYOND_INDEX.shape, lambda i: te.if_then_else(I[i] < 4, A[I[i]], 0.0), name="C")
    for _, _, c in run([A, I, guarded], [a, BEYOND_INDEX, np.zeros(9, "float32")], target):
        np.testing.assert_array_equal(c, np.where(BEYOND_INDEX < 4, a[signed.clip(0, 3)], 0))


@pytest.mark.parametrize("target", TARGETS)
def test_stock_operators_bring_uint64_inside(target):
    A, I = te.placeholder((4,), name="A"), te.placeholder(BEYOND_INDEX.shape, "uint64", name="I")
    a = np.arange(4, dtype="float32") + 5
    for mode, at in (("clip", np.minimum(BEYOND_INDEX, 3)), ("wrap", BEYOND_INDEX % 4)):
        C = ops.take(A, I, 0, mode=mode)
        for _, _, c in run([A, I, C], [a, BEYOND_INDEX, np.zeros(9, "float32")], target):
            np.testing.assert_array_equal(c, a[at.astype("int64")], err_msg=mode)
