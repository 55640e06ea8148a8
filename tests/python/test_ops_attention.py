"""Attention against PyTorch: masks, shared heads, rows in which nothing takes part."""

import numpy as np
import pytest
from stock import close, needs_torch, normal, run, torch

import tensorwright as tw
from tensorwright import te

ops = tw.ops
RNG = np.random.default_rng(1)


def theirs(q, k, v, mask=None, **options):
    t = [torch.from_numpy(x).double() for x in (q, k, v)]
    if mask is not None:
        mask = torch.from_numpy(mask)
        mask = mask if mask.dtype == torch.bool else mask.double()
    return torch.nn.functional.scaled_dot_product_attention(*t, attn_mask=mask, **options).numpy().astype(q.dtype)


@needs_torch
def test_plain_causal_and_scaled():
    for front, s, t, d, e in [((2, 3), 7, 9, 8, 5), ((2,), 5, 5, 16, 16), ((1, 1), 1, 17, 3, 4), ((), 6, 4, 4, 4)]:
        q, k, v = normal(RNG, *front, s, d), normal(RNG, *front, t, d), normal(RNG, *front, t, e)
        close(run(ops.attention, q, k, v), theirs(q, k, v))
        close(run(lambda *x: ops.attention(*x, causal=True), q, k, v), theirs(q, k, v, is_causal=True))
        close(run(lambda *x: ops.attention(*x, scale=0.3), q, k, v), theirs(q, k, v, scale=0.3))


@needs_torch
def test_masks():
    q, k, v = normal(RNG, 2, 3, 6, 8), normal(RNG, 2, 3, 9, 8), normal(RNG, 2, 3, 9, 4)
    for shape in [(2, 3, 6, 9), (6, 9), (2, 1, 1, 9), (1, 9)]:
        keep = RNG.integers(0, 3, shape) > 0
        close(run(lambda *x: ops.attention(*x[:3], mask=x[3]), q, k, v, keep), theirs(q, k, v, keep))
        added = normal(RNG, *shape) * 2
        close(run(lambda *x: ops.attention(*x[:3], mask=x[3]), q, k, v, added), theirs(q, k, v, added))


@needs_torch
def test_rows_in_which_nothing_takes_part_are_zero():
    q, k, v = normal(RNG, 1, 2, 4, 8), normal(RNG, 1, 2, 5, 8), normal(RNG, 1, 2, 5, 3)
    keep = np.ones((4, 5), bool)
    keep[1] = False
    got = run(lambda *x: ops.attention(*x[:3], mask=x[3]), q, k, v, keep)
    assert not got[:, :, 1].any()
    close(got, theirs(q, k, v, keep))
    q[0, 0, 2, 0] = np.nan
    close(run(lambda *x: ops.attention(*x[:3], mask=x[3]), q, k, v, keep), theirs(q, k, v, keep))


@needs_torch
def test_shared_heads_and_halves():
    q, k, v = normal(RNG, 2, 6, 5, 8), normal(RNG, 2, 2, 7, 8), normal(RNG, 2, 2, 7, 4)
    close(run(ops.attention, q, k, v), theirs(q, k, v, enable_gqa=True))
    q, k, v = (x.astype("float16") for x in (q, np.repeat(k, 3, 1), np.repeat(v, 3, 1)))
    close(run(ops.attention, q, k, v), theirs(q, k, v), rtol=2e-3)


def plain(q, k, v, *, allowed, softcap=0.0, added=0.0):
    """The definition, in float64; rows in which nothing takes part are 0."""
    scores = q.astype("float64") @ k.astype("float64").swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    scores = np.where(allowed, scores + added, -np.inf)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = weights.sum(-1, keepdims=True)
    return (weights / np.where(total == 0, 1, total) @ v.astype("float64")).astype(q.dtype)


def reach(s, t, past=0, causal=False, window=(-1, -1)):
    row, column = np.arange(s)[:, None] + past, np.arange(t)
    allowed = column <= row if causal else np.ones((s, t), bool)
    left, right = window
    allowed &= (left < 0) | (column >= row - left)
    return allowed & ((right < 0) | (column <= row + right))


@needs_torch
def test_softcap_window_and_past():
    """Each by the definition, and by PyTorch given what takes part as a mask."""
    for s, t, options in [(6, 6, {"window": (2, 0), "causal": True}), (5, 12, {"past": 7, "causal": True}), (1, 9, {"past": 8, "causal": True}),
                          (7, 10, {"window": (1, 2), "past": 3}), (8, 8, {"window": (-1, 1)}), (8, 8, {"window": (3, -1)}),
                          (4, 9, {"past": 5, "causal": True, "window": (3, 4)}), (6, 4, {"window": (0, 0)})]:
        q, k, v = normal(RNG, 2, 3, s, 8), normal(RNG, 2, 3, t, 8), normal(RNG, 2, 3, t, 5)
        allowed = reach(s, t, **options)
        close(run(lambda *x: ops.attention(*x, **options), q, k, v), theirs(q, k, v, allowed))
        for softcap in (0.7, 30.0):
            added = normal(RNG, s, t)
            got = run(lambda *x: ops.attention(*x[:3], mask=x[3], softcap=softcap, **options), q, k, v, added)
            close(got, plain(q, k, v, allowed=allowed, softcap=softcap, added=added))


def test_a_mask_is_no_part_of_what_softcap_bounds():
    q, k, v = normal(RNG, 3, 4), normal(RNG, 5, 4), normal(RNG, 5, 2)
    keep = np.array([True, False, True, False, True])
    for mask in (keep[None], np.where(keep, 0, -np.inf).astype("float32")[None]):
        got = run(lambda *x: ops.attention(*x[:3], mask=x[3], softcap=0.5), q, k, v, mask)
        close(got, plain(q, k, v, allowed=keep, softcap=0.5))


def test_a_past_that_is_known_when_called():
    n = te.var("n")
    Q = te.placeholder((2, 3, 4), name="Q")
    K, V = (te.placeholder((2, n + 3, 4), name=name) for name in "KV")
    f = tw.build([Q, K, V, out := ops.attention(Q, K, V, causal=True, past=n, window=(4, 0)), n])
    for past in (0, 1, 9):
        q, k, v = normal(RNG, 2, 3, 4), normal(RNG, 2, past + 3, 4), normal(RNG, 2, past + 3, 4)
        got = np.zeros(q.shape, out.dtype)
        f(q, k, v, got, past)
        close(got, plain(q, k, v, allowed=reach(3, past + 3, past, True, (4, 0))))


def test_refusals():
    q, k = te.placeholder((2, 6, 5, 8), name="q"), te.placeholder((2, 4, 7, 8), name="k")
    with pytest.raises(tw.ExprError, match=r"attention: axis 1 of k and v must be that of q, 6, or divide it, not 4(.|\n)*k: float32\[2, 4, 7, 8\]"):
        ops.attention(q, k, k)
    k = te.placeholder((2, 6, 7, 9), name="k")
    with pytest.raises(tw.ExprError, match=r"attention: columns of k must be as many as columns of q, 8, not 9"):
        ops.attention(q, k, k)
    with pytest.raises(tw.DTypeError, match=r"attention: v must be of float32, not float16"):
        ops.attention(q, q, te.placeholder((2, 6, 5, 8), "float16"))
    with pytest.raises(tw.ExprError, match=r"attention: mask must have the shape of the scores, \[2, 6, 5, 5\]"):
        ops.attention(q, q, q, mask=te.placeholder((5, 4), name="mask"))
    with pytest.raises(tw.ArgumentError, match=r"attention: window must be two numbers, \(left, right\)"):
        ops.attention(q, q, q, window=(1, 2, 3))
    with pytest.raises(tw.ArgumentError, match=r"attention: past must be an integer from 0 on or an expression of te.var, not -1"):
        ops.attention(q, q, q, past=-1)
    with pytest.raises(tw.ArgumentError, match=r"attention: softcap must be a positive number"):
        ops.attention(q, q, q, softcap=-2.0)
