"""Arrays of 4-bit integers, which NumPy does not have: two to a byte, the first in the low half.

>>> import numpy as np
>>> import tensorwright as tw
>>> from tensorwright import te
>>> A = te.placeholder((5,), "int4", name="A")
>>> f = tw.build([A, te.compute((5,), lambda i: A[i].astype("float32") * 0.5, name="B")])
>>> a, b = tw.pack_int4([-8, 7, 1, 0, -1]), np.zeros(5, "float32")
>>> f(a, b)
>>> b.tolist()
[-4.0, 3.5, 0.5, 0.0, -0.5]
"""
import numpy as np

from .errors import ArgumentError, DTypeError

__all__ = ["Int4Array", "pack_int4", "unpack_int4"]

_RANGES = {"int4": (-8, 7), "uint4": (0, 15)}


class Int4Array:
    """What a kernel takes for a tensor of int4 or uint4: ``tw.pack_int4`` makes one.

    ``bytes`` is a uint8 array of ``ceil(n / 2)`` elements for the n of ``shape``; element i of all of them, counted along the
    rows, is the low half of byte ``i // 2`` where i is even and the high half where it is odd. Rows of an odd length share a
    byte. ``dtype`` is "int4" or "uint4".
    """

    __slots__ = ("bytes", "shape", "dtype")
    __tw_int4__ = True

    def __init__(self, bytes, shape, dtype="int4"):
        if dtype not in _RANGES:
            raise DTypeError(f"Int4Array: dtype must be 'int4' or 'uint4', not {dtype!r}")
        shape = tuple(int(extent) for extent in shape)
        count = (int(np.prod(shape, dtype=np.int64)) + 1) // 2
        if not isinstance(bytes, np.ndarray) or bytes.dtype != np.uint8 or bytes.shape != (count,):
            raise ArgumentError(f"Int4Array: bytes must be a uint8 array of shape ({count},) for {dtype} of shape {shape}")
        self.bytes, self.shape, self.dtype = bytes, shape, dtype

    def __repr__(self):
        return f"Int4Array({self.dtype}, shape={self.shape})"

    def __array__(self, dtype=None, copy=None):
        values = unpack_int4(self)
        return values if dtype is None else values.astype(dtype)


def pack_int4(values, dtype="int4"):
    """Integers as an array of 4-bit integers.

    Parameters: values, an array (or nested lists) of integers, one of ``ml_dtypes.int4`` included; dtype, "int4" (-8..7) or
    "uint4" (0..15).
    Returns: an ``Int4Array`` of the same shape.
    Raises: DTypeError for another dtype and for values that are no integers, ArgumentError for values out of range.

    >>> packed = pack_int4([1, -1, 7])
    >>> packed.bytes.tolist(), unpack_int4(packed).tolist()
    ([241, 7], [1, -1, 7])
    """
    if dtype not in _RANGES:
        raise DTypeError(f"pack_int4: dtype must be 'int4' or 'uint4', not {dtype!r}")
    array = np.asarray(values)
    if array.dtype.name in _RANGES:
        array = array.astype("int8")
    if array.dtype.kind not in "iu":
        raise DTypeError(f"pack_int4: expected integers, not {array.dtype}", "round them first: np.rint(x).astype('int8')")
    low, high = _RANGES[dtype]
    if array.size and not (low <= array.min() and array.max() <= high):
        raise ArgumentError(f"pack_int4: values must be in {low}..{high}, not {array.min()}..{array.max()}")
    halves = np.zeros((array.size + 1) // 2 * 2, "uint8")
    halves[: array.size] = array.reshape(-1).astype("uint8") & 15
    return Int4Array(halves[0::2] | halves[1::2] << 4, array.shape, dtype)


def unpack_int4(packed):
    """The values of an ``Int4Array`` as int8, of "uint4" as uint8.

    >>> unpack_int4(pack_int4([[15, 0], [3, 4]], "uint4")).tolist()
    [[15, 0], [3, 4]]
    """
    if not isinstance(packed, Int4Array):
        raise ArgumentError(f"unpack_int4: expected an Int4Array, not {type(packed).__name__}", "tw.pack_int4(x) makes one")
    count = int(np.prod(packed.shape, dtype=np.int64))
    halves = np.empty(packed.bytes.size * 2, "uint8")
    halves[0::2], halves[1::2] = packed.bytes & 15, packed.bytes >> 4
    values = halves[:count].reshape(packed.shape)
    return values if packed.dtype == "uint4" else ((values ^ 8).astype("int8") - np.int8(8))
