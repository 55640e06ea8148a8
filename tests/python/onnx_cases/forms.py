"""Programs that many mappings are made of."""

import itertools

import numpy as np

import tensorwright as tw
from tensorwright import te


def extents(tensor):
    return tuple(int(extent) for extent in tensor.shape)


def const(value, dtype):
    return te.const(value, dtype)


def element(tensor, at, shape):
    """The element of a tensor that is repeated to a shape, as NumPy repeats it."""
    own = extents(tensor)
    at = at[len(shape) - len(own) :]
    return tensor(*(0 if n == 1 else i for n, i in zip(own, at, strict=True)))


def elementwise(function, *tensors, shape=None):
    """``function`` of an element of each, which are repeated to one shape; it may give several values."""
    shape = tuple(np.broadcast_shapes(*(extents(t) for t in tensors))) if shape is None else shape
    return te.compute(shape, lambda *i: function(*(element(t, i, shape) for t in tensors)))


def cast(tensor, dtype):
    return tensor if tensor.dtype == dtype else elementwise(lambda x: x.astype(dtype), tensor)


def axis_of(axis, rank):
    return axis + rank if axis < 0 else axis


def axes_of(axes, rank):
    return [axis_of(int(axis), rank) for axis in axes]


def reshape(tensor, shape):
    """The elements in their order, in another shape."""
    return tw.ops.reshape(tensor, tuple(int(n) for n in shape))


def reduced(reduce, shape, extents_of_reduction, body):
    """``reduce`` of ``body(at, by)`` over all points ``by``."""
    by = [te.reduce_axis((0, int(n)), name=f"r{d}") for d, n in enumerate(extents_of_reduction)]
    return te.compute(tuple(shape), lambda *i: reduce(body(i, by), axis=by) if by else body(i, ()))


def points(shape):
    return itertools.product(*(range(int(n)) for n in shape))


def select(*cases):
    """The value of the first condition that holds: ``select((c, v), (d, w), else)``."""
    *pairs, value = cases
    for condition, taken in reversed(pairs):
        value = te.select(condition, taken, value)
    return value


def row_major(at, shape):
    """The number of an element, counted along the rows."""
    number = 0
    for i, n in zip(at, shape, strict=True):
        number = number * int(n) + i
    return number


def split_index(number, shape):
    """The subscripts of element ``number``."""
    at = []
    for n in reversed([int(n) for n in shape]):
        at.append(number % n)
        number = number // n
    return at[::-1]
