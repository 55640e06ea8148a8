"""Scaled dot-product attention."""

from .. import _core

__all__ = ["attention"]


def attention(q, k, v, *, mask=None, causal=False, past=0, window=None, softcap=None, scale=None, name="attention"):
    """``softmax(scale * q @ k.T + mask) @ v``, for each head.

    Parameters: q ``[.., S, D]``, k ``[.., T, D]``, v ``[.., T, E]``, of floats; the dimensions in front are the same, but
    that k and v may have fewer heads, the last of them, which divide those of q: neighbouring heads share them. mask, of bool, True
    for what takes part, or of floats that are added to the scores, repeated to ``[.., S, T]``; causal, whether position t takes part
    in s only where ``t <= s + past``; past, how many positions of k and v come before those of q, an int or an expression of te.var;
    window, a pair: t takes part where ``s + past - left <= t <= s + past + right``, -1 is no end; softcap, a number c:
    ``c * tanh(score / c)`` instead of each score, before the mask; scale, by default ``1 / sqrt(D)``.
    Returns: ``[.., S, E]``; 0 where nothing takes part. Halves are calculated with in float32 and rounded once,
    but for weights of bfloat16, which are rounded to it before they multiply v.
    Raises: ExprError where shapes do not agree, DTypeError where a tensor is not of floats.

    >>> Q = te.placeholder((2, 8, 10, 64), name="Q")
    >>> K, V = (te.placeholder((2, 2, 16, 64), name=name) for name in "KV")
    >>> tw.ops.attention(Q, K, V, causal=True)
    Tensor(attention: float32[2, 8, 10, 64])
    >>> n = te.var("n")
    >>> K, V = (te.placeholder((2, 2, n + 10, 64), name=name) for name in "KV")
    >>> tw.ops.attention(Q, K, V, causal=True, past=n, window=(1024, 0), softcap=50.0)
    Tensor(attention: float32[2, 8, 10, 64])
    """
    return _core.op_attention(q, k, v, mask=mask, causal=causal, past=past, window=window, softcap=softcap, scale=scale, name=name)
