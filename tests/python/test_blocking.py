"""Blocks of k, split-K and packing at several levels: large schedules of a product of matrices, against NumPy."""

import numpy as np
import pytest
from cuda_scripts import product

import tensorwright as tw
from tensorwright import te

TAILS = ["auto", "guard", "mask", "peel"]


def agrees(s, args):
    f = tw.build(s, args)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, t.shape).astype(t.dtype) for t in args[:2])  # sums of these are exact
    c = np.full(args[2].shape, 77, args[2].dtype)
    f(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def packed_at_two_levels(C, A, B, tail):
    s = te.create_schedule(C)
    block = s.cache_read(B, "global", [C])
    panel = s.cache_read(block, "local", [C])
    rows = s.cache_read(A, "local", [C])
    (i, j), (k,) = s[C].op.axis, s[C].op.reduce_axis
    jc, jb = s[C].split(j, 64, tail=tail)
    kc, kb = s[C].split(k, 48, tail=tail)
    ic, ib = s[C].split(i, 6, tail=tail)
    jr, jv = s[C].split(jb, 16, tail=tail)
    s[C].reorder(jc, kc, ic, jr, kb, ib, jv)
    s[C].vectorize(jv)
    s[block].compute_at(s[C], kc)
    s[rows].compute_at(s[C], ic)
    s[panel].compute_at(s[C], jr)
    s[panel].vectorize(s[panel].leaf_iter_vars[-1])
    return s


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("shape", [(12, 64, 96), (13, 71, 101), (1, 1, 1), (5, 130, 7)], ids=str)
def test_packing_at_two_levels_and_blocks_of_k(shape, tail):
    A, B, C = product(*shape)
    agrees(packed_at_two_levels(C, A, B, tail), [A, B, C])


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("shape", [(8, 16, 64), (7, 19, 65), (3, 1, 2)], ids=str)
def test_split_k_over_threads(shape, tail):
    A, B, C = product(*shape)
    s = te.create_schedule(C)
    ko, ki = s[C].split(s[C].op.reduce_axis[0], nparts=4, tail=tail)
    CR = s.rfactor(C, ko)
    part, i, j = s[CR].op.axis
    s[CR].reorder(part, i, s[CR].op.reduce_axis[0], j)
    s[CR].parallel(part)
    s[CR].vectorize(j)
    s[C].vectorize(s[C].op.axis[1])
    agrees(s, [A, B, C])


@pytest.mark.parametrize("shape", [(24, 64, 32), (25, 67, 33)], ids=str)
def test_tiles_of_an_intermediate_are_padded(shape):
    A, B, C = product(*shape)
    D = te.compute(C.shape, lambda i, j: te.max(C[i, j], 0.0), name="D")
    s = te.create_schedule(D)
    (i, j), (k,) = s[C].op.axis, s[C].op.reduce_axis
    io, jo, ii, ji = s[C].tile(i, j, 6, 16, tail="pad")
    s[C].reorder(io, jo, k, ii, ji)
    s[C].vectorize(ji)
    f = tw.build(s, [A, B, D])
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, t.shape).astype("float32") for t in (A, B))
    d = np.zeros(D.shape, "float32")
    f(a, b, d)
    np.testing.assert_array_equal(d, np.maximum(a @ b, 0))
