"""Operators that move elements and calculate nothing; dtypes stay.

All raise ExprError for shapes and axes that do not agree, ArgumentError for options.
"""

from .. import _core

__all__ = ["broadcast_to", "concat", "pad", "reshape", "split", "stack", "strided_slice", "transpose", "where"]

_TO_THE_FIRST = -(2**63)  # what an end that is left out means going backwards


def transpose(x, axes=None, *, name="transpose"):
    """Axis d of the result is axis ``axes[d]`` of x; None: all axes in reverse.

    >>> tw.ops.transpose(te.placeholder((2, 3, 5), name="X"), (0, 2, 1))
    Tensor(transpose: float32[2, 5, 3])
    """
    return _core.op_transpose(x, axes=axes, name=name)


def reshape(x, shape, *, name="reshape"):
    """The same elements in the same row-major order. One extent may be -1: what the others leave.

    >>> tw.ops.reshape(A, (8, -1))
    Tensor(reshape: float32[8, 512])
    """
    return _core.op_reshape(x, shape=shape, name=name)


def broadcast_to(x, shape, *, name="broadcast_to"):
    """As in NumPy: dimensions of 1, and those missing in front, are repeated.

    >>> tw.ops.broadcast_to(te.placeholder((5, 1), name="X"), (2, 5, 3))
    Tensor(broadcast_to: float32[2, 5, 3])
    """
    return _core.op_broadcast_to(x, shape=shape, name=name)


def concat(xs, axis=0, *, name="concat"):
    """Tensors one behind the other along an axis; all other extents, and dtypes, agree.

    >>> tw.ops.concat([A, te.placeholder((64, 3), name="B")], axis=1)
    Tensor(concat: float32[64, 67])
    """
    return _core.op_concat(xs, axis=axis, name=name)


def stack(xs, axis=0, *, name="stack"):
    """Tensors of one shape along a new axis of the result.

    >>> tw.ops.stack([A, A, A], axis=-1)
    Tensor(stack: float32[64, 64, 3])
    """
    return _core.op_stack(xs, axis=axis, name=name)


def split(x, sections=None, *, at=None, axis=0, name="split"):
    """Parts along an axis: so many equal ones, or those that begin at the places ``at`` (and at 0), as numpy.split.

    Returns: a tuple of tensors, named name0, name1, ....
    Raises: ArgumentError where sections do not divide the axis, or places do not increase.

    >>> tw.ops.split(A, at=(10, 30))
    (Tensor(split0: float32[10, 64]), Tensor(split1: float32[20, 64]), Tensor(split2: float32[34, 64]))
    """
    return tuple(_core.op_split(x, sections=sections, at=at, axis=axis, name=name))


def strided_slice(x, begin, end, strides=None, *, name="strided_slice"):
    """``x[begin:end:stride, ...]`` as in Python, of the first axes; one number for each, None in ``end`` for "to the end".

    >>> tw.ops.strided_slice(A, (1, -1), (10, None), (2, -1))
    Tensor(strided_slice: float32[5, 64])
    """
    steps = strides if strides is not None else [1] * len(begin)
    last = [(_TO_THE_FIRST if step < 0 else 2**63 - 1) if e is None else e for e, step in zip(end, steps, strict=True)]
    return _core.op_strided_slice(x, begin=begin, end=last, strides=strides, name=name)


def pad(x, before, behind=None, *, mode="constant", value=0, name="pad"):
    """Elements around x: one number for each axis, or for the last ones; behind is as before where it is None.

    Parameters: mode, "constant" for value, "reflect" for what lies mirrored at the edge, "edge" for the edge's element,
    "wrap" for what lies at the other end, as on a circle (PyTorch's "circular"). Zeros that a sum multiplies may be left out
    (semantics.md).
    Raises: ExprError where x has too few elements to reflect.

    >>> tw.ops.pad(A, (1, 0), (2, 0), mode="reflect")
    Tensor(pad: float32[67, 64])
    """
    return _core.op_pad(x, before=before, behind=before if behind is None else behind, mode=mode, value=value, name=name)


def where(condition, a, b, *, name="where"):
    """``a`` where condition, a tensor of bool, holds, else ``b``; all three are repeated as by broadcast_to.

    Raises: DTypeError where condition is not of bool, or a and b differ.

    >>> tw.ops.where(te.placeholder((64,), "bool", name="C"), A, A)
    Tensor(where: float32[64, 64])
    """
    return _core.op_where(condition, a, b, name=name)
