"""Arithmetic as functions, with division in each of its forms."""

from .. import _core

__all__ = [
    "add",
    "div",
    "divide",
    "floordiv",
    "floormod",
    "indexdiv",
    "indexmod",
    "multiply",
    "subtract",
    "truncdiv",
    "truncmod",
]


def floordiv(a, b, span=None):
    """Integer division towards minus infinity: ``a // b``.

    >>> te.compute((4,), lambda i: te.floordiv(i, 2)).dtype
    'int32'
    """
    return _core.floordiv(a, b)


def floormod(a, b, span=None):
    """The remainder of floordiv, with the sign of b: ``a % b``.

    >>> te.compute((4,), lambda i: te.floormod(i, 2)).dtype
    'int32'
    """
    return _core.floormod(a, b)


def truncdiv(a, b, span=None):
    """Integer division towards zero, as in C.

    >>> te.truncdiv(te.const(-7), 2)
    -3i32
    """
    return _core.truncdiv(a, b)


def truncmod(a, b, span=None):
    """The remainder of truncdiv, with the sign of a.

    >>> te.truncmod(te.const(-7), 2)
    -1i32
    """
    return _core.truncmod(a, b)


def indexdiv(a, b, span=None):
    """Division of indices: the same as floordiv.

    >>> te.compute((4, 2), lambda i, j: A[te.indexdiv(i, 2), j]).op.body[0]
    A[i // 2, j]
    """
    return _core.floordiv(a, b)


def indexmod(a, b, span=None):
    """The remainder of indexdiv: the same as floormod.

    >>> te.compute((8, 2), lambda i, j: A[te.indexmod(i, 4), j]).op.body[0]
    A[i % 4, j]
    """
    return _core.floormod(a, b)


def div(a, b, span=None):
    """``a / b`` of floats; integers divide towards zero.

    >>> te.div(te.const(7), 2)
    3i32
    """
    return _core.divide(a, b)


divide = div


def add(a, b, span=None):
    """``a + b``."""
    return _core.add(a, b)


def subtract(a, b, span=None):
    """``a - b``."""
    return _core.subtract(a, b)


def multiply(a, b, span=None):
    """``a * b``."""
    return _core.multiply(a, b)
