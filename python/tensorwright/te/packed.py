"""4-bit integers: stored two to a byte, in uint8 tensors, the first in the low half.

A byte is one element, so no schedule can split one between two threads or two lanes.
"""

from ..errors import DTypeError, ExprError
from .conditions import if_then_else
from .constants import const
from .tensors import compute

__all__ = ["pack_int4", "unpack_int4"]


def _rank(what, tensor):
    shape = getattr(tensor, "shape", None)
    if shape is None:
        raise ExprError(f"{what}: expected a tensor, not {type(tensor).__name__}")
    if len(shape) == 0:
        raise ExprError(f"{what}: expected a tensor of at least one dimension, along which numbers are packed")
    return shape


def unpack_int4(packed, dtype="int4", name="unpacked"):
    """The 4-bit integers of a uint8 tensor: element ``2 * j`` in the low half of byte ``j``, ``2 * j + 1`` in the high half.

    Parameters: packed, a uint8 tensor of shape (..., n); dtype, "int4" (-8..7) or "uint4" (0..15); name.
    Returns: a tensor of shape (..., 2 * n), of int8 or uint8. ``s[U].compute_inline()`` leaves no copy of it.
    Raises: DTypeError for another dtype of either, ExprError for a tensor without dimensions.

    >>> P = te.placeholder((8,), "uint8", name="P")
    >>> U = te.unpack_int4(P)
    >>> U.shape, U.dtype
    ((16,), 'int8')
    """
    shape = _rank("unpack_int4", packed)
    if dtype not in ("int4", "uint4"):
        raise DTypeError(f"unpack_int4: dtype must be 'int4' or 'uint4', not {dtype!r}")
    if packed.dtype != "uint8":
        raise DTypeError(f"unpack_int4: expected a uint8 tensor, not {packed.dtype}")

    def value(*at):
        byte = packed(*at[:-1], at[-1] // 2)
        if dtype == "uint4":
            return (byte >> (at[-1] % 2 * 4).astype("uint8")) & const(15, "uint8")
        return (byte.astype("int8") << (4 - at[-1] % 2 * 4).astype("int8")) >> const(4, "int8")

    return compute((*shape[:-1], shape[-1] * 2), value, name=name)


def pack_int4(values, name="packed"):
    """4-bit integers, two to a byte, as unpack_int4 reads them; higher bits are dropped, a missing last one is 0.

    Parameters: values, a tensor of integers of shape (..., n); name.
    Returns: a uint8 tensor of shape (..., ceil(n / 2)).
    Raises: DTypeError unless values are integers, ExprError for a tensor without dimensions.

    >>> te.pack_int4(te.placeholder((3, 5), "int8", name="A")).shape
    (3, 3)
    """
    shape = _rank("pack_int4", values)
    if "int" not in values.dtype:
        raise DTypeError(f"pack_int4: expected a tensor of integers, not {values.dtype}")
    n = shape[-1]

    def half(at, j):
        value = values(*at[:-1], j).astype("uint8") & const(15, "uint8")
        return value if isinstance(n, int) and n % 2 == 0 else if_then_else(j < n, value, const(0, "uint8"))

    def byte(*at):
        return half(at, at[-1] * 2) | (half(at, at[-1] * 2 + 1) << const(4, "uint8"))

    return compute((*shape[:-1], (n + 1) // 2), byte, name=name)
