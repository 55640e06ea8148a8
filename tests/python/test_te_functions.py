"""Functions of values: against NumPy, special values as C99's Annex F has them, on every target."""

import math

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

INF, NAN = math.inf, math.nan
TARGETS = ["interp", "llvm", "llvm -mcpu=x86-64", "c"]


def apply(function, *arrays, target="llvm"):
    """function of the elements of arrays, vectorized."""
    n = len(arrays[0])
    tensors = [te.placeholder((n,), a.dtype, name=f"A{k}") for k, a in enumerate(arrays)]
    C = te.compute((n,), lambda i: function(*(A[i] for A in tensors)), name="C")
    s = te.create_schedule(C)
    inner = s[C].split(C.op.axis[0], factor=8)[1]
    s[C].vectorize(inner)
    out = np.zeros(n, C.dtype)
    tw.build(s, [*tensors, C], target=target)(*arrays, out)
    return out


SPECIAL = {
    "exp2": [(3.0, 8.0), (-1074.0, 5e-324), (0.0, 1.0), (-INF, 0.0), (INF, INF), (NAN, NAN)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (-INF, -1.0), (INF, INF), (NAN, NAN), (1000.0, INF), (-1000.0, -1.0)],
    "log": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (NAN, NAN)],
    "log2": [(8.0, 3.0), (5e-324, -1074.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (NAN, NAN), (1.0, 0.0)],
    "log10": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (NAN, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN), (1e-300, 1e-300)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (5e-324, 5e-324)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (NAN, NAN), (1.0, math.pi / 4)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (27.0, 3.0), (-8.0, -2.0)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.0, math.pi / 2), (-1.0, -math.pi / 2), (1.5, NAN), (-INF, NAN), (NAN, NAN), (5e-324, 5e-324)],
    "acos": [(1.0, 0.0), (-1.0, math.pi), (0.0, math.pi / 2), (-0.0, math.pi / 2), (1.5, NAN), (INF, NAN), (NAN, NAN)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (5e-324, 5e-324), (711.0, INF), (-711.0, -INF)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (-711.0, INF)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (-5e-324, -5e-324)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN), (NAN, NAN), (5e-324, 5e-324)],
    "exp10": [(0.0, 1.0), (2.0, 100.0), (22.0, 1e22), (-INF, 0.0), (INF, INF), (NAN, NAN), (309.0, INF), (-400.0, 0.0)],
    "nearbyint": [(0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (-2.5, -2.0), (1e300, 1e300), (INF, INF), (NAN, NAN)],
    "rint": [(0.5, 0.0), (3.5, 4.0), (-0.2, -0.0)],
    "round": [(0.5, 1.0), (-0.5, -1.0), (2.5, 3.0), (-0.2, -0.0)],
    "exp": [(0.0, 1.0), (-0.0, 1.0), (-INF, 0.0), (INF, INF), (NAN, NAN)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)],
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_special_values(name, target):
    x, expected = (np.array(column) for column in zip(*SPECIAL[name]))
    got = apply(getattr(te, name), x, target=target)
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


TINY, LARGEST = 5e-324, 1.7976931348623157e308
SPECIAL_PAIRS = {
    "atan2": [(0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, math.pi), (-0.0, -0.0, -math.pi), (0.0, -1.0, math.pi), (1.0, 0.0, math.pi / 2),
              (-1.0, -0.0, -math.pi / 2), (INF, INF, math.pi / 4), (INF, -INF, 3 * math.pi / 4), (-INF, -INF, -3 * math.pi / 4),
              (1.0, INF, 0.0), (-1.0, INF, -0.0), (1.0, -INF, math.pi), (INF, 1.0, math.pi / 2), (NAN, 1.0, NAN), (1.0, NAN, NAN),
              (LARGEST, LARGEST, math.pi / 4), (TINY, TINY, math.pi / 4), (TINY, LARGEST, 0.0), (LARGEST, -TINY, math.pi / 2)],
    "hypot": [(3.0, 4.0, 5.0), (-3.0, 4.0, 5.0), (0.0, -0.0, 0.0), (INF, NAN, INF), (NAN, -INF, INF), (NAN, 1.0, NAN), (LARGEST, 0.0, LARGEST),
              (3 * 2.0**1000, 4 * 2.0**1000, 5 * 2.0**1000), (3 * TINY, 4 * TINY, 5 * TINY), (LARGEST, LARGEST, INF), (1.0, TINY, 1.0)],
    "fmod": [(5.5, 2.0, 1.5), (-5.5, 2.0, -1.5), (5.5, -2.0, 1.5), (6.0, 2.0, 0.0), (-6.0, 2.0, -0.0), (1.0, INF, 1.0), (-1.0, -INF, -1.0),
             (INF, 1.0, NAN), (1.0, 0.0, NAN), (NAN, 1.0, NAN), (1.0, NAN, NAN), (-0.0, 1.0, -0.0), (LARGEST, TINY, 0.0), (TINY, LARGEST, TINY),
             (LARGEST, 3 * TINY, math.fmod(LARGEST, 3 * TINY)), (LARGEST, 3.7, math.fmod(LARGEST, 3.7)), (1e300, 1e-300, math.fmod(1e300, 1e-300))],
    "copysign": [(1.5, -2.0, -1.5), (-1.5, 0.0, 1.5), (0.0, -0.0, -0.0), (INF, -1.0, -INF), (-INF, 1.0, INF), (TINY, -INF, -TINY)],
    "nextafter": [(1.0, 2.0, 1 + 2.0**-52), (1.0, 0.0, 1 - 2.0**-53), (0.0, -1.0, -TINY), (-0.0, 1.0, TINY), (0.0, -0.0, -0.0), (TINY, 0.0, 0.0),
                  (-TINY, 1.0, -0.0), (LARGEST, INF, INF), (INF, 0.0, LARGEST), (-INF, INF, -LARGEST), (1.0, 1.0, 1.0), (NAN, 1.0, NAN), (1.0, NAN, NAN)],
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(SPECIAL_PAIRS))
def test_special_values_of_two(name, target):
    x, y, expected = (np.array(column) for column in zip(*SPECIAL_PAIRS[name]))
    got = apply(getattr(te, name), x, y, target=target)
    if name == "atan2":
        np.testing.assert_allclose(got, expected, rtol=4e-16, atol=0)
    else:
        np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


def patterns(rng, dtype, n):
    """Floats of all exponents, NaN and infinities among them."""
    width = np.dtype(dtype).itemsize
    return np.frombuffer(rng.bytes(n * width), dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_exact_functions_of_two_floats(dtype, target):
    rng = np.random.default_rng(8)
    x, y = patterns(rng, dtype, 3000), patterns(rng, dtype, 3000)
    near = (x * rng.uniform(-0.01, 0.01, 3000).astype(dtype)).astype(dtype)
    bits = f"int{8 * x.dtype.itemsize}"
    with np.errstate(all="ignore"):
        for a, b in ((x, y), (x, near), (near, x)):
            np.testing.assert_array_equal(apply(te.fmod, a, b, target=target), np.fmod(a, b))
            np.testing.assert_array_equal(apply(te.nextafter, a, b, target=target), np.nextafter(a, b))
            fine = ~(np.isnan(a) | np.isnan(b))
            np.testing.assert_array_equal(apply(te.copysign, a, b, target=target).view(bits)[fine], np.copysign(a, b).view(bits)[fine])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ldexp_rounds_once(dtype, target):
    rng = np.random.default_rng(9)
    x = patterns(rng, dtype, 4000)
    ends = [0, 1, -1, 2**31 - 1, -(2**31), 1023, 1024, -1022, -1023, 2046, 2098, -2098]
    n = np.concatenate([rng.integers(-2150, 2150, 2000), rng.integers(-60, 60, 4000 - 2000 - len(ends)), ends]).astype("int32")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(apply(te.ldexp, x, n, target=target), np.ldexp(x, n))
    wide = np.array([2**63, 5, 2**64 - 1, 0] * 2, "uint64")
    np.testing.assert_array_equal(apply(te.ldexp, np.ones(8, dtype), wide, target=target), np.array([INF, 32, INF, 1] * 2, dtype))


def test_fmod_of_integers_and_refusals_of_two():
    a, b = np.array([7, -7, 7, -7, 5, 0, 9, 9], "int32"), np.array([3, 3, -3, -3, 0, 4, 9, 10], "int32")
    np.testing.assert_array_equal(apply(te.fmod, a, b), [1, -1, 1, -1, 0, 0, 0, 9])
    n, x = te.placeholder((), "int32", "n")(), te.placeholder((), "float32", "x")()
    assert te.atan2(n, x).dtype == "float32" and te.hypot(x, te.const(1, "float64")).dtype == "float64"
    for wrong in (lambda: te.atan2(n, n), lambda: te.hypot(n, 1), lambda: te.copysign(n, n), lambda: te.nextafter(n, 2)):
        with pytest.raises(tw.DTypeError, match="expected floats, not int32"):
            wrong()
    with pytest.raises(tw.DTypeError, match="ldexp: expected a float and an integer, not float32 and float32"):
        te.ldexp(x, x)
    with pytest.raises(tw.DTypeError, match="exp10: expected a float"):
        te.exp10(n)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_the_hardest_arguments(name):
    """The float64 next to a multiple of pi/2, and neighbours of large multiples."""
    x = np.array([6381956970095103.0 * 2.0**797, 2.0**1023, 1e22, 3 * math.pi / 4, math.pi, math.pi / 2, 710.0, -1e300])
    got = apply(getattr(te, name), x)
    exact = getattr(np, name)(x.astype("longdouble"))  # glibc's own float64 is 8 units off at the first
    np.testing.assert_allclose(got, exact.astype("float64"), rtol=6e-16)
    single = np.array([16367173.0 * 2.0**72, 1e38, 1e10, math.pi, math.pi / 2], "float32")
    exact = [getattr(math, name)(float(v)) for v in single]
    np.testing.assert_allclose(apply(getattr(te, name), single), exact, rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan", "exp2", "expm1", "cbrt", "log1p", "log2", "log10", "atan", "sinh", "cosh",
                                  "asinh", "acosh", "atanh", "asin", "acos", "exp10"])
def test_every_float(name, dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    low, high = {"acosh": (1, 8), "atanh": (0.1, 0.9), "asin": (0.1, 0.9), "acos": (0.1, 0.9), "exp10": (-4, 4)}.get(name, (0.1, 8))
    x = np.random.default_rng(2).uniform(low, high, 200).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    numpy_name = "arc" + name[1:] if name[0] == "a" else name
    wide = x.astype("float64")
    exact = 10.0**wide if name == "exp10" else getattr(np, numpy_name)(wide)
    ulps = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-21, "float64": 2**-50}[dtype]
    np.testing.assert_allclose(apply(getattr(te, name), x).astype("float64"), exact, rtol=ulps)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_bits(dtype, target):
    info = np.iinfo(dtype)
    x = np.array([0, 1, 2, 3, 64, 100, info.max, info.max // 2 + 1, info.min, 85], dtype)
    bits = [bin(int(v) & (2**info.bits - 1))[2:] for v in x]
    ones = apply(te.popcount, x, target=target)
    assert ones.dtype == dtype and ones.tolist() == [b.count("1") for b in bits]
    zeros = apply(te.clz, x, target=target)
    assert zeros.dtype == np.int32 and zeros.tolist() == [info.bits - len(b) if b != "0" else info.bits for b in bits]
    amounts = np.array([0, 1, 2, 3, info.bits - 1, 4, 1, 1, 1, 2], dtype)
    np.testing.assert_array_equal(apply(lambda a, b: a << b, x, amounts, target=target), x << amounts)
    np.testing.assert_array_equal(apply(lambda a, b: a >> b, x, amounts, target=target), x >> amounts)
    np.testing.assert_array_equal(apply(lambda a, b: (a & b) | (a ^ ~b), x, amounts, target=target), (x & amounts) | (x ^ ~amounts))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_kinds_of_floats(dtype, target):
    x = np.array([0, -0.0, 1, INF, -INF, NAN, -NAN, np.finfo(dtype).max], dtype)
    np.testing.assert_array_equal(apply(te.isnan, x, target=target), np.isnan(x))
    np.testing.assert_array_equal(apply(te.isinf, x, target=target), np.isinf(x))
    np.testing.assert_array_equal(apply(te.isfinite, x, target=target), np.isfinite(x))


def test_integers_are_finite():
    x = te.placeholder((), "int32")()
    assert str(te.isnan(x)) == "false" == str(te.isinf(x)) and str(te.isfinite(x)) == "true"


@pytest.mark.parametrize("target", TARGETS)
def test_fma_rounds_once(target):
    a = np.array([1 + 2.0**-12, 3.0, 1e38, INF, 2.0**-100], "float32")
    b = np.array([1 - 2.0**-12, 5.0, 10.0, 0.0, 2.0**-49], "float32")
    c = np.array([-1.0, 7.0, -INF, 1.0, 2.0**-149], "float32")
    np.testing.assert_array_equal(apply(te.fma, a, b, c, target=target), np.array([-(2.0**-24), 22.0, -INF, NAN, 2.0**-148], "float32"))


@pytest.mark.parametrize("target", ["llvm -mcpu=x86-64", "c -mcpu=x86-64"])
def test_fma_of_float64_needs_the_instruction(target):
    x = te.placeholder((8,), "float64", name="x")
    C = te.compute((8,), lambda i: te.fma(x[i], x[i], x[i]))
    with pytest.raises(tw.TargetError, match="fma"):
        tw.build(te.create_schedule(C), [x, C], target=target)


@pytest.mark.parametrize("target", TARGETS)
def test_reinterpret(target):
    x = np.array([0, 1.5, -2.5, INF], "float32")
    np.testing.assert_array_equal(apply(lambda a: te.reinterpret("int32", a), x, target=target), x.view("int32"))
    np.testing.assert_array_equal(apply(lambda a: te.reinterpret("float32", a), x.view("int32"), target=target), x)
    h = np.array([0, 1.5, -2.5, 7], "float16")
    np.testing.assert_array_equal(apply(lambda a: te.reinterpret("uint16", a), h, target=target), h.view("uint16"))


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: te.sin(x), "sin: expected a float"),
        (lambda x: te.fma(x, x, x), "fma: expected floats"),
        (lambda x: te.popcount(x.astype("float32")), "popcount: expected an integer"),
        (lambda x: te.clz(x > 0), "clz: expected an integer"),
        (lambda x: te.reinterpret("float64", x), "reinterpret: dtype must be a number as wide as int32"),
        (lambda x: te.reinterpret("int4", x), "dtype must be one that tensors have"),
        (lambda x: x.astype("float8_e5m2") + 1, "expected numbers to calculate with"),
        (lambda x: te.exp(x.astype("float8_e5m2")), "expected a float"),
    ],
)
def test_refusals(function, message):
    with pytest.raises(tw.DTypeError, match=message):
        function(te.placeholder((), "int32", name="x")())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_powers_that_the_dtype_holds_are_exact(dtype, target):
    """Each b^e of whole numbers and of halves of them, each 1 / b^e and each 2^k b^e that is a number of the dtype."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy_dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    info = ml_dtypes.finfo(numpy_dtype)
    digits, top, low = info.nmant + 1, int(info.maxexp), int(info.minexp) - info.nmant
    cases = []
    for b in range(2, 100):
        for e in range(1, 1100):
            odd = b >> (b & -b).bit_length() - 1
            if (odd**e).bit_length() > digits:
                break
            shift = (b & -b).bit_length() - 1
            for s in {0, -1, -shift, (top - 1) // e - b.bit_length(), 30 - shift, low // e + 1}:
                if low <= e * (s + shift) and (odd**e).bit_length() + e * (s + shift) <= top and low <= s + shift:
                    if odd.bit_length() <= digits and odd.bit_length() + s + shift <= top:
                        cases.append((math.ldexp(b, s), float(e), math.ldexp(odd**e, e * (s + shift))))
            if odd == 1 and low <= -e * shift:
                cases.append((float(b), float(-e), math.ldexp(1.0, -e * shift)))
    x, y, expected = (np.array(column).astype(numpy_dtype) for column in zip(*cases))
    assert len(cases) > (4000 if dtype == "float64" else 200)
    for sign in (1, -1):
        got = apply(te.power, x * x.dtype.type(sign), y, target=target)
        wanted = np.where((sign < 0) & (y.astype("float64") % 2 == 1), -expected, expected)
        wrong = got != wanted
        assert not wrong.any(), [(x[i], y[i], got[i], wanted[i]) for i in np.flatnonzero(wrong)[:5]]


def whole_power(x, n, bits, signed):
    if n < 0:
        return {1: 1, -1: 1 if n % 2 == 0 else -1}.get(x, 0)
    value = pow(x, n, 2**bits)
    return value - 2**bits if signed and value >> bits - 1 else value


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_powers_of_integers(dtype, target):
    info = np.iinfo(dtype)
    signed = info.min < 0
    bases = [0, 1, 2, 3, 7, 9, 10, 100, info.max] + ([-1, -2, -3, info.min] if signed else [])
    exponents = [0, 1, 2, 3, 5, 7, 31, 63, 100, info.max] + ([-1, -2, -3, info.min] if signed else [])
    pairs = [(x, n) for x in bases for n in exponents]
    x, n = (np.array(column, dtype) for column in zip(*pairs))
    expected = [whole_power(x, n, info.bits, signed) for x, n in pairs]
    assert apply(te.power, x, n, target=target).tolist() == expected
    for e in [0, 1, 2, 3, 10, 64] + ([-1, -2] if signed else []):
        got = apply(lambda a, e=e: a ** te.const(e, dtype), x, target=target)
        assert got.tolist() == [whole_power(v, e, info.bits, signed) for v, _ in pairs]


def test_powers_of_axes_stay_subscripts():
    A = te.placeholder((50,), name="A")
    C = te.compute((8,), lambda i: A[i**2], name="C")
    assert str(C.op.body) == "[A[i * i]]"
    D = te.compute((8,), lambda i: te.power(i, 3) + te.power(2, i), name="D")
    out = np.zeros(8, D.dtype)
    tw.build([D], target="interp")(out)
    assert out.tolist() == [i**3 + 2**i for i in range(8)]
