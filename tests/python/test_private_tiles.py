"""Reductions that come back to a tile whose rows lie 4 KB apart: lowering copies the tile, and no value changes."""
import random

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from programs import needs_llvm


def product(m=24, n=1024, k=40):
    a, b, r = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B"), te.reduce_axis((0, k), name="k")
    return a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")


def in_random_order(seed):
    rng = random.Random(seed)
    a, b, c = product()
    s = te.create_schedule(c)
    i, j = s[c].op.axis
    (k,) = s[c].op.reduce_axis
    io, ii = s[c].split(i, rng.choice([12, 24, 16]), tail=rng.choice(["guard", "peel", "shift_inward"]))
    jo, ji = s[c].split(j, rng.choice([16, 32, 64, 60]))
    ko, ki = s[c].split(k, rng.choice([1, 2, 4]))
    inner = [ki, ii, ji]
    rng.shuffle(inner)
    s[c].reorder(io, jo, ko, *inner)
    if inner[-1] is ji and rng.random() < 0.7:
        s[c].vectorize(ji)
    if rng.random() < 0.3:
        s[c].parallel(jo if rng.random() < 0.5 else io)
    return s, [a, b, c]


@needs_llvm
@pytest.mark.parametrize("seed", range(24))
def test_every_order_gives_the_sum_in_order(seed):
    a, b = np.random.default_rng(seed).standard_normal((2, 40 * 1024), dtype="float32")
    a, b = a[:24 * 40].reshape(24, 40), b.reshape(40, 1024)
    expected, found = np.empty((24, 1024), "float32"), np.full((24, 1024), np.nan, "float32")
    tensors = product()
    tw.build(te.create_schedule(tensors[-1]), list(tensors))(a, b, expected)
    tw.build(*in_random_order(seed))(a, b, found)
    assert np.array_equal(expected, found)


@needs_llvm
def test_some_of_these_orders_copy():
    sources = [tw.build(*in_random_order(seed), target="llvm -mcpu=x86-64-v3").source("c") for seed in range(24)]
    assert 4 <= sum("C_tile" in text for text in sources) <= 20
