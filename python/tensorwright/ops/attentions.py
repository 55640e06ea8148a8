"""Scaled dot-product attention."""

from .. import _core

__all__ = ["attention"]


def attention(q, k, v, *, mask=None, causal=False, scale=None, name="attention"):
    """``softmax(scale * q @ k.T + mask) @ v``, for each head.

    Parameters: q ``[.., S, D]``, k ``[.., T, D]``, v ``[.., T, E]``, of floats; the dimensions in front are the same, but
    that k and v may have fewer heads, the last of them, which divide those of q: neighbouring heads share them. mask, of bool, True
    for what takes part, or of floats that are added to the scores, repeated to ``[.., S, T]``; causal, whether position t takes part
    in s only where ``t <= s``; scale, by default ``1 / sqrt(D)``.
    Returns: ``[.., S, E]``; 0 where nothing takes part. Halves are calculated with in float32 and rounded once.
    Raises: ExprError where shapes do not agree, DTypeError where a tensor is not of floats.

    >>> Q = te.placeholder((2, 8, 10, 64), name="Q")
    >>> K, V = (te.placeholder((2, 2, 16, 64), name=name) for name in "KV")
    >>> tw.ops.attention(Q, K, V, causal=True)
    Tensor(attention: float32[2, 8, 10, 64])
    """
    return _core.op_attention(q, k, v, mask=mask, causal=causal, scale=scale, name=name)
