"""Reductions over axes of a tensor, and running ones along an axis.

axis is one axis, several, or None for all; keepdims leaves an extent of 1 in the place of each. All raise ExprError for axes that do
not exist and DTypeError for dtypes.
"""

from .. import _core

__all__ = ["argmax", "argmin", "cumprod", "cumsum", "logsumexp", "max", "mean", "min", "prod", "std", "sum", "var"]


def sum(x, axis=None, *, keepdims=False, dtype=None, name="sum"):
    """The sum. Of integers and bool in int64 (uint64 stays), or in dtype; halves are added up in float32 and rounded once.

    >>> tw.ops.sum(A, axis=1)
    Tensor(sum: float32[64])
    """
    return _core.op_sum(x, axis=axis, keepdims=keepdims, dtype=dtype, name=name)


def prod(x, axis=None, *, keepdims=False, dtype=None, name="prod"):
    """The product; dtypes as those of sum.

    >>> tw.ops.prod(te.placeholder((3, 4), "int8", name="X"))
    Tensor(prod: int64[])
    """
    return _core.op_prod(x, axis=axis, keepdims=keepdims, dtype=dtype, name=name)


def mean(x, axis=None, *, keepdims=False, name="mean"):
    """The mean, of floats; over nothing NaN.

    >>> tw.ops.mean(A, axis=(0, 1), keepdims=True)
    Tensor(mean: float32[1, 1])
    """
    return _core.op_mean(x, axis=axis, keepdims=keepdims, name=name)


def max(x, axis=None, *, keepdims=False, name="max"):
    """The largest number; NaN where one is met; over nothing -inf, of integers the smallest of the dtype.

    >>> tw.ops.max(A, axis=-1)
    Tensor(max: float32[64])
    """
    return _core.op_max(x, axis=axis, keepdims=keepdims, name=name)


def min(x, axis=None, *, keepdims=False, name="min"):
    """The smallest number; NaN where one is met; over nothing inf, of integers the largest of the dtype.

    >>> tw.ops.min(A, axis=-1)
    Tensor(min: float32[64])
    """
    return _core.op_min(x, axis=axis, keepdims=keepdims, name=name)


def logsumexp(x, axis=None, *, keepdims=False, name="logsumexp"):
    """``log(sum(exp(x)))`` of floats, without overflow.

    >>> tw.ops.logsumexp(A, axis=1)
    Tensor(logsumexp: float32[64])
    """
    return _core.op_logsumexp(x, axis=axis, keepdims=keepdims, name=name)


def var(x, axis=None, *, keepdims=False, correction=1, name="var"):
    """The variance of floats: ``sum((x - mean)**2) / (count - correction)``, by two passes.

    Parameters: correction, 1 for what a sample tells of all, as PyTorch's default; 0 of the values themselves, as NumPy's.
    NaN or inf where the divisor is not above 0.
    Raises: ArgumentError where correction is negative.

    >>> tw.ops.var(A, axis=0, correction=0)
    Tensor(var: float32[64])
    """
    return _core.op_var(x, axis=axis, keepdims=keepdims, correction=correction, name=name)


def std(x, axis=None, *, keepdims=False, correction=1, name="std"):
    """The square root of var.

    >>> tw.ops.std(A)
    Tensor(std: float32[])
    """
    return _core.op_std(x, axis=axis, keepdims=keepdims, correction=correction, name=name)


def argmax(x, axis=-1, *, keepdims=False, dtype="int32", name="argmax"):
    """The index of the largest number along an axis; of several equal ones the first; the first NaN where there is one.

    Parameters: dtype, "int32" or "int64".
    Raises: ExprError for an empty axis.

    >>> tw.ops.argmax(A, axis=0)
    Tensor(argmax: int32[64])
    """
    return _core.op_argmax(x, axis=axis, keepdims=keepdims, dtype=dtype, name=name)


def argmin(x, axis=-1, *, keepdims=False, dtype="int32", name="argmin"):
    """The index of the smallest number along an axis; as argmax.

    >>> tw.ops.argmin(A, dtype="int64")
    Tensor(argmin: int64[64])
    """
    return _core.op_argmin(x, axis=axis, keepdims=keepdims, dtype=dtype, name=name)


def cumsum(x, axis=-1, *, exclusive=False, reverse=False, dtype=None, name="cumsum"):
    """``out[i] = x[0] + ... + x[i]`` along an axis, in this order; dtypes as those of sum.

    Parameters: exclusive, without x[i] itself; reverse, from the end.

    >>> tw.ops.cumsum(A, axis=0)
    Tensor(cumsum: float32[64, 64])
    """
    return _core.op_cumsum(x, axis=axis, exclusive=exclusive, reverse=reverse, dtype=dtype, name=name)


def cumprod(x, axis=-1, *, exclusive=False, reverse=False, dtype=None, name="cumprod"):
    """``out[i] = x[0] * ... * x[i]`` along an axis; as cumsum.

    >>> tw.ops.cumprod(A, exclusive=True)
    Tensor(cumprod: float32[64, 64])
    """
    return _core.op_cumprod(x, axis=axis, exclusive=exclusive, reverse=reverse, dtype=dtype, name=name)
