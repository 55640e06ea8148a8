"""Tensors of many dimensions: declared, scheduled, reduced, moved, on each target."""

import numpy as np
import pytest
from programs import array, check, on_each_target
from stock import needs_torch, normal, run, torch

import tensorwright as tw
from tensorwright import te

ops = tw.ops
SHAPES = [(2, 1, 3, 2, 2, 1, 2, 5), (2,) * 12, (1, 2) * 8]


@on_each_target
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_and_turns(shape, target):
    x = array(shape)
    X = te.placeholder(shape, name="X")
    turned = te.compute(shape[::-1], lambda *i: X[i[::-1]] * 2.0, name="turned")
    k = te.reduce_axis((0, shape[0]), name="k")
    total = te.compute(shape[1:], lambda *i: te.sum(X[(k, *i)], axis=k), name="total")
    s = te.create_schedule([turned, total])
    axes = turned.op.axis
    s[turned].vectorize(s[turned].split(s[turned].fuse(axes[-2], axes[-1]), factor=4)[1])
    s[total].reorder(*total.op.axis[::-1], k)
    check(s, {X: x}, {turned: x.transpose() * 2, total: x.sum(0)}, target)


@on_each_target
def test_an_extent_that_is_known_when_called(target):
    n = te.var("n")
    x = array((2, 2, 1, 3, 2, 2, 2, 4))
    X = te.placeholder((*x.shape[:-1], n), name="X")
    C = te.compute(X.shape, lambda *i: X[i] + i[-1], name="C")
    out = np.zeros_like(x)
    tw.build([X, C], target=target)(x, out)
    np.testing.assert_array_equal(out, x + np.arange(4, dtype="float32"))


@needs_torch
def test_operators():
    rng = np.random.default_rng(3)
    a, b = normal(rng, 2, 1, 2, 1, 2, 3, 4, 5), normal(rng, 2, 3, 1, 1, 1, 3, 5, 2)
    np.testing.assert_allclose(run(ops.matmul, a, b), a @ b, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(run(lambda x: ops.transpose(x, (7, 0, 6, 1, 5, 2, 4, 3)), a), a.transpose(7, 0, 6, 1, 5, 2, 4, 3))
    np.testing.assert_allclose(run(lambda x: ops.softmax(x, axis=4), a), torch.softmax(torch.from_numpy(a), 4).numpy(), rtol=2e-5)
    q = normal(rng, 1, 2, 1, 2, 1, 2, 4, 8)
    theirs = torch.nn.functional.scaled_dot_product_attention(*[torch.from_numpy(q)] * 3).numpy()
    np.testing.assert_allclose(run(lambda x: ops.attention(x, x, x), q), theirs, rtol=2e-5, atol=2e-6)


def test_the_most():
    te.placeholder((1,) * 16)
    with pytest.raises(tw.ExprError, match="at most 16 dimensions, not 17"):
        te.placeholder((1,) * 17)
