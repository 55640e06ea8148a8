"""Products of matrices.

Dtypes: floats with floats or integers with integers. float16, bfloat16 and float8 are added up in float32, integers of at most
32 bits in int32, of 64 bits in int64. ``out_dtype`` (default: what is added up in) is converted to once, at the end. With
``tf32=True`` factors of float32 are rounded to 11 bits by ``te.tf32``, on every target; a GPU then multiplies them by its tensor
cores. Without it products of float32 are those of float32.
"""

from .. import _core

__all__ = ["dense", "matmul"]


def matmul(a, b, *, transpose_a=False, transpose_b=False, out_dtype=None, tf32=False, name="matmul"):
    """``out[..., i, j] = sum over k of a[..., i, k] * b[..., k, j]``, as ``a @ b``.

    Parameters: a ``[..., M, K]`` (with transpose_a ``[..., K, M]``); b ``[..., K, N]`` (with transpose_b ``[..., N, K]``); the
    dimensions in front are a batch, repeated where one of them is 1 or missing.
    Returns: ``[..., M, N]`` of out_dtype.
    Raises: ExprError where ranks, K or the batch do not agree; DTypeError where one is of floats and the other is not, and
    for tf32 of others than float32.

    >>> A, B = te.placeholder((12, 7, 64), "bfloat16", "A"), te.placeholder((1, 64, 9), "bfloat16", "B")
    >>> tw.ops.matmul(A, B)
    Tensor(matmul: float32[12, 7, 9])
    """
    return _core.op_matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, out_dtype=out_dtype, tf32=tf32, name=name)


def _matmul_of(a, b):
    """``a @ b`` of whole tensors is ``matmul(a, b)``."""
    return matmul(a, b) if isinstance(b, _core.Tensor) else NotImplemented


_core.Tensor.__matmul__ = _matmul_of


def dense(x, w, *, transpose_w=False, bias=None, activation=None, out_dtype=None, tf32=False, name="dense"):
    """``out[..., j] = activation(sum over k of x[..., k] * w[k, j] + bias[j])``.

    Parameters: x ``[..., K]`` of at least 2 dimensions; w ``[K, N]`` (with transpose_w ``[N, K]``, as PyTorch keeps it); bias
    ``[N]``; activation, a name such as "relu" or "gelu".
    Returns: ``[..., N]`` of out_dtype.
    Raises: ExprError where shapes do not agree; DTypeError for dtypes that do not go together; ArgumentError for an
    activation that does not exist.

    >>> X, W = te.placeholder((32, 64), name="X"), te.placeholder((64, 10), name="W", param=True)
    >>> tw.ops.dense(X, W, bias=te.placeholder((10,), name="bias"), activation="relu")
    Tensor(dense: float32[32, 10])
    """
    return _core.op_dense(x, w, transpose_w=transpose_w, bias=bias, activation=activation, out_dtype=out_dtype, tf32=tf32, name=name)
