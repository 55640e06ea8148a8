"""Mathematical functions of single values. docs/math.md states their errors."""

from .. import _core

__all__ = ["abs", "ceil", "erf", "exp", "floor", "log", "power", "round", "rsqrt", "sigmoid", "sqrt", "tanh", "trunc"]


def exp(x):
    """e to the power of x, of floats; <= 4 ulp in float32, as log, tanh, sigmoid, erf and power."""
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


def power(x, y, span=None):
    """x to the power of y, of floats: ``x ** y``."""
    return _core.power(x, y)
