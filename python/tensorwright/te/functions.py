"""Mathematical functions of single values. docs/math.md states their errors."""

from .. import _core

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "floor",
    "fma",
    "fmod",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "log",
    "log10",
    "log1p",
    "log2",
    "nearbyint",
    "nextafter",
    "popcount",
    "power",
    "reinterpret",
    "rint",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tf32",
    "trunc",
]


def exp(x):
    """e to the power of x, of floats; <= 4 ulp, as the other functions of real numbers here."""
    return _core.exp(x)


def log(x):
    """The natural logarithm of a float."""
    return _core.log(x)


def tanh(x):
    """The hyperbolic tangent of a float."""
    return _core.tanh(x)


def sigmoid(x):
    """1 / (1 + exp(-x)) of a float."""
    return _core.sigmoid(x)


def erf(x):
    """The error function of a float."""
    return _core.erf(x)


def sqrt(x):
    """The square root of a float, correctly rounded."""
    return _core.sqrt(x)


def rsqrt(x):
    """1 / sqrt(x) of a float."""
    return _core.rsqrt(x)


def abs(x, span=None):
    """The absolute value."""
    return _core.abs(x)


def floor(x, span=None):
    """Rounded towards minus infinity; integers stay as they are."""
    return _core.floor(x)


def ceil(x, span=None):
    """Rounded towards plus infinity; integers stay as they are."""
    return _core.ceil(x)


def round(x, span=None):
    """The nearest whole number, halves away from zero (NumPy's round goes to even); integers stay as they are."""
    return _core.round(x)


def trunc(x, span=None):
    """Rounded towards zero; integers stay as they are."""
    return _core.trunc(x)


def nearbyint(x, span=None):
    """The nearest whole number, halves to the even one, as NumPy's rint; integers stay as they are."""
    return _core.nearbyint(x)


def rint(x, span=None):
    """The nearest whole number, halves to the even one: ``nearbyint``."""
    return _core.nearbyint(x)


def power(x, y, span=None):
    """x to the power of y: ``x ** y``. A power that the dtype holds is exact; of integers it is an integer, and wraps.

    >>> te.power(te.const(9.0, "float64"), 3)
    pow(9.0f64, 3.0f64)
    """
    return _core.power(x, y)


def sin(x):
    """The sine of a float, in radians; all its values, however large, are reduced exactly."""
    return _core.sin(x)


def cos(x):
    """The cosine of a float, in radians."""
    return _core.cos(x)


def tan(x):
    """The tangent of a float, in radians."""
    return _core.tan(x)


def atan(x):
    """The arc tangent of a float, in -pi/2 .. pi/2."""
    return _core.atan(x)


def log2(x):
    """The logarithm to base 2 of a float; exact for powers of two."""
    return _core.log2(x)


def exp2(x):
    """2 to the power of x, of floats; exact for whole x."""
    return _core.exp2(x)


def log10(x):
    """The logarithm to base 10 of a float."""
    return _core.log10(x)


def expm1(x):
    """exp(x) - 1 of a float, without cancellation near 0."""
    return _core.expm1(x)


def log1p(x):
    """log(1 + x) of a float, without cancellation near 0."""
    return _core.log1p(x)


def cbrt(x):
    """The cube root of a float, of any sign."""
    return _core.cbrt(x)


def tf32(x):
    """A float32 rounded to the nearest of 11 bits, of two as near to the one further from zero; infinities and NaN stay.

    A sum of ``te.tf32(a) * te.tf32(b)`` is what tensor cores compute where PyTorch has ``allow_tf32``: "mma.m16n8k8.tf32" is it,
    and spaces for GPUs choose that for such sums alone.
    """
    return _core.tf32(x)


def asin(x):
    """The arc sine of a float, in -pi/2 .. pi/2; NaN outside of -1 .. 1."""
    return _core.asin(x)


def acos(x):
    """The arc cosine of a float, in 0 .. pi; NaN outside of -1 .. 1."""
    return _core.acos(x)


def atan2(y, x):
    """The angle of the point (x, y) of floats, in -pi .. pi."""
    return _core.atan2(y, x)


def sinh(x):
    """The hyperbolic sine of a float."""
    return _core.sinh(x)


def cosh(x):
    """The hyperbolic cosine of a float."""
    return _core.cosh(x)


def asinh(x):
    """The inverse of sinh, of a float."""
    return _core.asinh(x)


def acosh(x):
    """The inverse of cosh, of a float; NaN below 1."""
    return _core.acosh(x)


def atanh(x):
    """The inverse of tanh, of a float; NaN outside of -1 .. 1."""
    return _core.atanh(x)


def exp10(x):
    """10 to the power of x, of floats; exact where the dtype holds it."""
    return _core.exp10(x)


def hypot(x, y):
    """The root of x * x + y * y, of floats, without an overflow on the way."""
    return _core.hypot(x, y)


def fmod(x, y):
    """x - n * y for the whole n that leaves the sign of x, exact; of integers ``truncmod``.

    >>> te.fmod(te.const(5.5), 2.0).dtype
    'float32'
    """
    return _core.fmod(x, y)


def copysign(x, y):
    """The magnitude of x with the sign of y, of floats."""
    return _core.copysign(x, y)


def nextafter(x, y):
    """The float next to x on the way to y, in their common dtype."""
    return _core.nextafter(x, y)


def ldexp(x, n):
    """x * 2^n of a float and an integer, rounded once."""
    return _core.ldexp(x, n)


def fma(x, y, z):
    """x * y + z of floats, rounded once; operands of several dtypes are promoted.

    >>> te.fma(te.const(2.0), 3.0, 1.0)
    fma(2.0, 3.0, 1.0)
    """
    return _core.fma(x, y, z)


def isnan(x, span=None):
    """Whether a float is NaN: a bool. Integers never are."""
    return _core.isnan(x)


def isinf(x, span=None):
    """Whether a float is an infinity: a bool."""
    return _core.isinf(x)


def isfinite(x, span=None):
    """Whether a float is neither NaN nor an infinity: a bool."""
    return _core.isfinite(x)


def popcount(x):
    """The number of ones in the bits of an integer, of its dtype."""
    return _core.popcount(x)


def clz(x):
    """The number of zeros above the highest one in the bits of an integer, as an int32; of 0 the width."""
    return _core.clz(x)


def reinterpret(dtype, value, span=None):
    """The bits of a number as another dtype of the same width.

    >>> te.reinterpret("int32", te.const(1.0)).dtype
    'int32'
    """
    return _core.reinterpret(dtype, value)
