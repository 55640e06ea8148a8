"""Elements by indices that are data, integers.

mode says what an index outside of 0..n means: "clip" takes the nearest inside, "wrap" counts modulo n, "fast" leaves it to the caller:
reading elsewhere is what may happen. All raise ExprError for shapes, DTypeError for indices that are no integers, ArgumentError for mode.
"""

from .. import _core

__all__ = ["embedding", "gather", "one_hot", "take"]


def take(x, indices, axis=0, *, mode="clip", name="take"):
    """``out[.., i.., ..] = x[.., indices[i..], ..]``: the shape of indices in the place of the axis, as numpy.take.

    >>> tw.ops.take(A, te.placeholder((2, 3), "int32", name="indices"), axis=1)
    Tensor(take: float32[64, 2, 3])
    """
    return _core.op_take(x, indices, axis=axis, mode=mode, name=name)


def gather(x, indices, axis=0, *, mode="clip", name="gather"):
    """``out[i, j] = x[indices[i, j], j]`` (axis 0): one index for each element, as torch.gather.

    Parameters: indices, of the rank of x, along other axes at most its extents.

    >>> tw.ops.gather(A, te.placeholder((64, 5), "int64", name="indices"), axis=1)
    Tensor(gather: float32[64, 5])
    """
    return _core.op_gather(x, indices, axis=axis, mode=mode, name=name)


def embedding(indices, table, *, mode="clip", name="embedding"):
    """``out[i.., j] = table[indices[i..], j]``: rows of a table ``[rows, columns]``.

    >>> tw.ops.embedding(te.placeholder((2, 7), "int64", name="indices"), A)
    Tensor(embedding: float32[2, 7, 64])
    """
    return _core.op_embedding(indices, table, mode=mode, name=name)


def one_hot(indices, depth, *, on=1, off=0, axis=-1, dtype="float32", name="one_hot"):
    """``out[i.., j] = on`` where ``indices[i..]`` is j, else off; axis is the new one, of so many indices.

    >>> tw.ops.one_hot(te.placeholder((2, 7), "int64", name="indices"), 10, dtype="int8")
    Tensor(one_hot: int8[2, 7, 10])
    """
    return _core.op_one_hot(indices, depth=depth, on=on, off=off, axis=axis, dtype=dtype, name=name)
