"""Constants of a dtype, and how far a dtype goes."""

from .. import _core
from ._numpy import dtype_name

__all__ = ["const", "max_value", "min_value"]


def const(value, dtype=None, span=None):
    """A constant of a dtype; by default int32 or int64 for an int, float32 for a float, the scalar's own for a NumPy scalar.

    >>> te.const(1, "int8")
    1i8
    """
    if dtype is None:
        dtype = _dtype_of(value)
    return _core.const(value, dtype_name(dtype))


def _dtype_of(value):
    if hasattr(value, "dtype"):
        return str(value.dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32" if -(2**31) <= value < 2**31 else "int64"
    return "float32"


def min_value(dtype, span=None):
    """The smallest finite value of a dtype.

    >>> te.min_value("int8")
    -128i8
    """
    return _core.min_value(dtype_name(dtype))


def max_value(dtype, span=None):
    """The largest finite value of a dtype.

    >>> te.max_value("uint8")
    255u8
    """
    return _core.max_value(dtype_name(dtype))
