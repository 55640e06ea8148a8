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
