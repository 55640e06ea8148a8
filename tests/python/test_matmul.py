"""Matrix products as tvm people schedule them, for several targets, against NumPy."""

import pytest

from programs import array, check, matmul, on_each_target
from tensorwright import te


def plain(s, C):
    pass


def blocked(s, C):
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    (k,) = s[C].op.reduce_axis
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(xo, yo, ko, ki, xi, yi)


def vectorized(s, C):
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    ko, ki = s[C].split(s[C].op.reduce_axis[0], factor=4)
    s[C].reorder(xo, yo, ko, ki, xi, yi)
    s[C].vectorize(yi)


def permuted(s, C):
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    ko, ki = s[C].split(s[C].op.reduce_axis[0], factor=4)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    s[C].vectorize(yi)
    s[C].unroll(ki)
    s[C].parallel(xo)


def write_cached(s, C):
    CC = s.cache_write(C, "global")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    s[CC].compute_at(s[C], yo)
    xc, yc = s[CC].op.axis
    (k,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(k, factor=4)
    s[CC].reorder(ko, xc, ki, yc)
    s[CC].unroll(ki)
    s[CC].vectorize(yc)
    s[C].parallel(xo)


def read_cached(s, C):
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 6, 16, )
    ko, ki = s[C].split(s[C].op.reduce_axis[0], nparts=3)
    s[C].reorder(yo, xo, ko, ki, xi, yi)
    A, B = C.op.input_tensors
    BB = s.cache_read(B, "global", [C])
    s[BB].compute_at(s[C], yo)
    AA = s.cache_read(A, "local", [C])
    s[AA].compute_at(s[C], ko)
    s[C].vectorize(yi)
    s[C].unroll(xi)
    s[C].parallel(yo)


def fused(s, C):
    ij = s[C].fuse(*C.op.axis)
    o, i = s[C].split(ij, 48)
    s[C].reorder(o, s[C].op.reduce_axis[0], i)
    s[C].vectorize(i)
    s[C].parallel(o)


def reduction_outside(s, C):
    (k,) = C.op.reduce_axis
    s[C].reorder(k, *C.op.axis)
    s[C].vectorize(C.op.axis[1])


def outer_lanes(s, C):
    i, j = C.op.axis
    io, ii = s[C].split(i, 8)
    s[C].reorder(io, j, ii, s[C].op.reduce_axis[0])
    s[C].vectorize(ii)


RECIPES = [plain, blocked, vectorized, permuted, write_cached, read_cached, fused, reduction_outside, outer_lanes]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: r.__name__)
@on_each_target
def test_matmul_recipes(recipe, target):
    A, B, C, a, b, expected = matmul()
    s = te.create_schedule(C.op)
    recipe(s, C)
    check(s, {A: a, B: b}, {C: expected}, target)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("recipe", [None, permuted, write_cached, read_cached], ids=lambda r: getattr(r, "__name__", "default"))
@on_each_target
def test_matmul_transposes(ta, tb, recipe, target):
    A, B, C, a, b, expected = matmul(ta, tb, 35, 50, 19)
    s = recipe and te.create_schedule(C)
    if recipe:
        recipe(s, C)
    check(s, {A: a, B: b}, {C: expected}, target)


@pytest.mark.parametrize("index", ["//", "indexdiv", "floordiv"])
@on_each_target
def test_array_packing(index, target):
    m, n, depth, bn = 64, 96, 40, 32
    A, B = te.placeholder((m, depth), name="A"), te.placeholder((depth, n), name="B")
    k = te.reduce_axis((0, depth), "k")
    packed = te.compute((n // bn, depth, bn), lambda bigN, k, littleN: B[k, bigN * bn + littleN], name="packedB")
    div, mod = {
        "//": (lambda a, b: a // b, lambda a, b: a % b),
        "indexdiv": (te.indexdiv, te.indexmod),
        "floordiv": (te.floordiv, te.floormod),
    }[index]
    C = te.compute((m, n), lambda i, j: te.sum(A[i, k] * packed[div(j, bn), k, mod(j, bn)], axis=k), name="C")
    s = te.create_schedule(C)
    CC = s.cache_write(C, "global")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[CC].compute_at(s[C], yo)
    xc, yc = s[CC].op.axis
    ko, ki = s[CC].split(CC.op.reduce_axis[0], factor=4)
    s[CC].reorder(ko, xc, ki, yc)
    s[CC].unroll(ki)
    s[CC].vectorize(yc)
    s[C].parallel(xo)
    bigN, _, littleN = s[packed].op.axis
    s[packed].vectorize(littleN)
    s[packed].parallel(bigN)
    a, b = array(A.shape), array(B.shape)
    check(s, {A: a, B: b}, {C: a @ b}, target)
