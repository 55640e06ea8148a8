"""The tables of docs/dtypes.md hold."""

import pathlib

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

TEXT = (pathlib.Path(__file__).resolve().parents[2] / "docs/dtypes.md").read_text()


def table(heading):
    section = TEXT.split(heading)[1]
    lines = [line for line in section[section.index("|") :].split("\n\n")[0].splitlines() if line.startswith("|")]
    rows = [[cell.strip(" *`") for cell in line.strip("|").split("|")] for line in lines]
    return rows[0], rows[2:]


HEADER, ROWS = table("## Mixed operands")
PAIRS = [(row[0], other, cell) for row in ROWS for other, cell in zip(HEADER[1:], row[1:], strict=True)]
NUMBERS = table("## Python numbers")[1]


def element(dtype):
    return te.placeholder((), dtype, "x")()


def test_the_table_is_whole():
    assert len(PAIRS) == 11 * 11


@pytest.mark.parametrize("a, b, expected", PAIRS)
def test_mixed_operands(a, b, expected):
    if expected == "refused":
        with pytest.raises(tw.DTypeError, match="numbers"):
            element(a) + element(b)
        return
    assert (element(a) + element(b)).dtype == expected
    assert te.max(element(a), element(b)).dtype == expected
    assert te.if_then_else(True, element(a), element(b)).dtype == expected
    assert (element(a) < element(b)).dtype == "bool"


@pytest.mark.parametrize("dtype, with_int, with_float", NUMBERS)
def test_python_numbers(dtype, with_int, with_float):
    for one in (1, np.int8(1), np.int64(1), np.array(1)):
        assert (element(dtype) + one).dtype == with_int
        assert (one + element(dtype)).dtype == with_int
    for two in (2.0, np.float16(2), np.float32(2), np.float64(2)):
        assert (element(dtype) * two).dtype == with_float
        assert (two * element(dtype)).dtype == with_float


def test_large_int_is_int64():
    assert (element("int32") + 2**31).dtype == "int64"
    with pytest.raises(tw.DTypeError, match="64 bits"):
        element("int32") + 2**63
    with pytest.raises(tw.DTypeError, match="float32"):
        element("float32") + 1e300


def test_indices_are_int32():
    seen = []
    C = te.compute((4, 4), lambda i, j: seen.extend([i, i + j, i * 2.0, i + element("int64"), i + element("int8")]) or i * j)
    assert [e.dtype for e in seen] == ["int32", "int32", "float32", "int64", "int32"]
    assert C.dtype == "int32"
    assert te.compute((4,), lambda i: i < 2).dtype == "bool"


def test_const():
    assert te.const(1).dtype == "int32"
    assert te.const(2**40).dtype == "int64"
    assert te.const(1.5).dtype == "float32"
    assert te.const(True).dtype == "bool"
    assert te.const(np.float16(1)).dtype == "float16"
    assert te.const(3, np.float64).dtype == "float64"
    assert te.const(3, np.dtype("uint8")).dtype == "uint8"
    assert str(te.const(2**64 - 1, "uint64")) == f"{2**64 - 1}u64"
    for value, dtype in ((300, "uint8"), (-1, "uint16"), (2.5, "int32"), (1e6, "float16"), ("1", "int32"), (2**64, "uint64")):
        with pytest.raises(tw.DTypeError):
            te.const(value, dtype)


@pytest.mark.parametrize("name", ["int", "float", "uint"])
def test_short_names(name):
    assert te.placeholder((1,), name).dtype == name + "32"


@pytest.mark.parametrize("name", ["flaot32", "int7", "index", "flaot32x4", "float32x", "", "complex64"])
def test_unknown_dtype(name):
    with pytest.raises(tw.DTypeError, match="dtype must be"):
        te.placeholder((1,), name)


def test_reductions_keep_the_dtype():
    for dtype in ("int8", "uint16", "float16", "float64"):
        A = te.placeholder((4,), dtype)
        k = te.reduce_axis((0, 4))
        for reducer in (te.sum, te.prod, te.max, te.min):
            assert te.compute((), lambda: reducer(A[k], axis=k)).dtype == dtype


def test_integer_division():
    i32, u8 = element("int32"), element("uint8")
    with pytest.raises(tw.DTypeError, match="truncdiv"):
        i32 / i32
    with pytest.raises(tw.DTypeError, match="truncdiv"):
        i32 / 2
    assert (u8 / u8).dtype == "uint8"
    assert (i32 / 2.0).dtype == "float32"
    with pytest.raises(tw.ExprError, match="divisor must not be 0"):
        i32 // 0
    with pytest.raises(tw.DTypeError, match="integers"):
        element("float32") // 2


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sigmoid", "erf", "sqrt", "rsqrt"])
def test_functions_of_floats(name):
    f = getattr(te, name)
    assert f(element("float16")).dtype == "float16"
    with pytest.raises(tw.DTypeError, match=f"{name}: expected a float, not .* of int32"):
        f(element("int32"))


def test_functions_of_integers():
    for f in (te.floor, te.ceil, te.round, te.trunc, te.abs):
        assert f(element("int8")).dtype == "int8"
        assert f(element("float64")).dtype == "float64"
    assert str(te.abs(element("uint8"))) == "x[]"
    assert (element("int32") ** 2).dtype == "int32" and te.power(element("uint8"), element("int64")).dtype == "int64"
    with pytest.raises(tw.DTypeError, match="power: expected numbers, not bool"):
        te.power(element("bool"), element("bool"))


def test_logic():
    c, d, n = element("bool"), element("bool"), element("int32")
    assert str(c & ~c) == "x[] and not x[]"
    assert (c ^ d).dtype == "bool" and (n & 3).dtype == "int32" and (~n).dtype == "int32"
    for wrong in (lambda: te.all(c, n), lambda: te.any(n), lambda: te.if_then_else(n, 1, 2), lambda: ~element("float32")):
        with pytest.raises(tw.DTypeError):
            wrong()
    with pytest.raises(tw.ExprError):
        te.all()
