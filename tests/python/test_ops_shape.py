"""Operators that move elements, and elements by index, against NumPy and PyTorch."""

import numpy as np
import pytest
from stock import close, needs_torch, normal, run, torch

import tensorwright as tw
from tensorwright import te

ops = tw.ops
RNG = np.random.default_rng(1)


def numbers(*shape, dtype="float32"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def test_transpose_and_reshape():
    for shape, axes in [((3, 5), None), ((2, 3, 5), (0, 2, 1)), ((2, 3, 4, 5), (3, 1, 0, 2)), ((7,), None), ((2, 3, 4), (-1, 0, 1))]:
        x = numbers(*shape)
        close(run(lambda a, axes=axes: ops.transpose(a, axes), x), x.transpose(axes))
    for shape, new in [((4, 6), (3, 8)), ((4, 6), (-1,)), ((2, 3, 4), (2, 12)), ((2, 3, 4), (6, -1, 1)), ((24,), (2, 1, 3, 4)), ((5, 0), (0, 7)), ((1,), ())]:
        x = numbers(*shape, dtype="int32")
        close(run(lambda a, new=new: ops.reshape(a, new), x), x.reshape(new))


def test_concat_stack_and_split():
    a, b, c = normal(RNG, 3, 5), normal(RNG, 3, 1), normal(RNG, 3, 7)
    close(run(lambda *xs: ops.concat(xs, 1), a, b, c), np.concatenate([a, b, c], 1))
    close(run(lambda *xs: ops.concat(xs), a, a), np.concatenate([a, a]))
    close(run(lambda *xs: ops.concat(xs, -1), a), a)
    for axis in (0, 1, 2, -1):
        close(run(lambda *xs, axis=axis: ops.stack(xs, axis), a, a + 1, a + 2), np.stack([a, a + 1, a + 2], axis))
    x = numbers(4, 12)
    for got, expected in zip(run(lambda t: ops.split(t, 3, axis=1), x), np.split(x, 3, 1), strict=True):
        close(got, expected)
    for got, expected in zip(run(lambda t: ops.split(t, at=(1, 5), axis=-1), x), np.split(x, (1, 5), 1), strict=True):
        close(got, expected)


def test_strided_slice():
    x = numbers(7, 9)
    for begin, end, strides, expected in [
        ((1, 2), (5, 8), None, x[1:5, 2:8]),
        ((0, -1), (None, None), (3, -2), x[::3, ::-2]),
        ((-3,), (None,), (1,), x[-3:]),
        ((5, 100), (2, -100), (-1, -4), x[5:2:-1, 100:-100:-4]),
        ((6,), (3,), (2,), x[6:3:2]),
    ]:
        got = run(lambda a, b=begin, e=end, s=strides: ops.strided_slice(a, b, e, s), x)
        np.testing.assert_array_equal(got, expected)


def test_pad():
    x = numbers(5, 7)
    for before, behind in [((1, 2), (3, 0)), ((0, 4), (0, 6)), ((2,), (1,))]:
        widths = [(0, 0)] * (2 - len(before)) + list(zip(before, behind, strict=True))
        for mode in ("constant", "reflect", "edge", "wrap"):
            got = run(lambda a, m=mode, b=before, e=behind: ops.pad(a, b, e, mode=m, value=9 if m == "constant" else 0), x)
            np.testing.assert_array_equal(got, np.pad(x, widths, mode, **({"constant_values": 9} if mode == "constant" else {})))
    close(run(lambda a: ops.pad(a, 1, value=-128), x.astype("int8")), np.pad(x.astype("int8"), ((0, 0), (1, 1)), constant_values=-128))


def test_where_and_broadcast():
    c, a, b = RNG.integers(0, 2, (4, 1)).astype(bool), normal(RNG, 3, 1, 5), normal(RNG, 5)
    close(run(ops.where, c, a, b), np.where(c, a, b))
    close(run(lambda x: ops.broadcast_to(x, (2, 3, 4, 5)), a), np.broadcast_to(a, (2, 3, 4, 5)))


def test_take_and_embedding():
    x = normal(RNG, 6, 9)
    at = RNG.integers(0, 6, (2, 5), "int64")
    for axis in (0, 1, -1):
        close(run(lambda t, i, axis=axis: ops.take(t, i, axis), x, at.astype("int32")), np.take(x, at, axis))
    close(run(ops.embedding, at, x), x[at])
    close(run(lambda i, t: ops.embedding(i, t, mode="fast"), at, x), x[at])
    outside = np.array([-7, -1, 0, 5, 6, 100], "int64")
    for mode in ("clip", "wrap"):
        close(run(lambda t, i, m=mode: ops.take(t, i, 0, mode=m), x, outside), np.take(x, outside, 0, mode=mode))
    far = np.array([2**62, -(2**62), 2**63 - 1, -(2**63)], "int64")
    close(run(ops.take, x, far), np.take(x, far, 0, mode="clip"))


@needs_torch
def test_gather_and_one_hot():
    x = normal(RNG, 4, 5, 6)
    for axis in (0, 1, -1):
        shape = [3, 5, 6]
        shape[axis] = 7
        at = RNG.integers(0, x.shape[axis], shape, "int64")
        close(run(lambda t, i, axis=axis: ops.gather(t, i, axis), x, at), torch.gather(torch.from_numpy(x), axis, torch.from_numpy(at)))
    at = RNG.integers(0, 5, (3, 4), "int64")
    close(run(lambda i: ops.one_hot(i, 5, dtype="int64"), at), torch.nn.functional.one_hot(torch.from_numpy(at), 5))
    close(run(lambda i: ops.one_hot(i, 5, on=2, off=-1, axis=0), at), np.where(np.arange(5)[:, None, None] == at, 2, -1).astype("float32"))


def test_extents_that_are_variables():
    n = te.var("n")
    X = te.placeholder((n, 6), name="X")
    Y = ops.softmax(ops.concat([ops.transpose(X), ops.pad(ops.transpose(X), (0, 0))]), axis=0)
    f = tw.build([X, Y])
    for rows in (1, 5):
        x = normal(RNG, rows, 6)
        y = np.zeros((12, rows), "float32")
        f(x, y)
        both = np.concatenate([x.T, x.T]).astype("float64")
        np.testing.assert_allclose(y, np.exp(both) / np.exp(both).sum(0), rtol=1e-5)
    with pytest.raises(tw.ExprError, match=r"reshape: shape must hold the n \* 6 elements of x, not be \[-1, 4\]"):
        ops.reshape(X, (-1, 4))
    Z = ops.reshape(X, (-1, 3))
    f = tw.build([X, Z])
    z = np.zeros((10, 3), "float32")
    f(numbers(5, 6), z)
    np.testing.assert_array_equal(z, numbers(10, 3))


def test_empty_tensors():
    none = np.zeros((3, 0), "float32")
    close(run(lambda a: ops.cumsum(a, 1), none), none)
    close(run(lambda a: ops.softmax(a, 1), none), none)
    close(run(lambda a: ops.sum(a, 1), none), np.zeros(3, "float32"))
    close(run(lambda a: ops.max(a, 1), none), np.full(3, -np.inf, "float32"))
    close(run(lambda a, b: ops.concat([a, b], 1), none, numbers(3, 2)), numbers(3, 2))


def test_refusals():
    x, i = te.placeholder((4, 6), name="x"), te.placeholder((3,), "int32", "i")
    with pytest.raises(tw.ExprError, match=r"transpose: axes must name all 2 axes of x, not 1"):
        ops.transpose(x, (0,))
    with pytest.raises(tw.ExprError, match=r"reshape: shape must hold the 24 elements of x, not be \[5, 5\]"):
        ops.reshape(x, (5, 5))
    with pytest.raises(tw.ExprError, match=r"reshape: shape must hold the 24 elements of x, not be \[-1, 7\]"):
        ops.reshape(x, (-1, 7))
    with pytest.raises(tw.ExprError, match=r"concat: xs\[1\] must have the shape of xs\[0\] but for axis 1, not \[3\]"):
        ops.concat([x, te.placeholder((3,))], 1)
    with pytest.raises(tw.DTypeError, match=r"concat: xs\[1\] must be of float32, not int32"):
        ops.concat([x, te.placeholder((4, 6), "int32")])
    with pytest.raises(tw.ArgumentError, match=r"stack: xs must hold at least one tensor"):
        ops.stack([])
    with pytest.raises(tw.ArgumentError, match=r"split: sections must divide the extent of axis 0, 4, not be 3"):
        ops.split(x, 3)
    with pytest.raises(tw.ArgumentError, match=r"split: exactly one of sections and at must be given"):
        ops.split(x)
    with pytest.raises(tw.ArgumentError, match=r"strided_slice: strides must not be 0"):
        ops.strided_slice(x, (0,), (1,), (0,))
    with pytest.raises(tw.ExprError, match=r"pad: axis 1 of x must have more elements for reflect of 6, not 6"):
        ops.pad(x, (0, 6), mode="reflect")
    with pytest.raises(tw.ArgumentError, match=r"pad: value must be of int32, as x, not 0.5"):
        ops.pad(i, (1,), value=0.5)
    with pytest.raises(tw.DTypeError, match=r"where: condition must be of bool, not float32"):
        ops.where(x, x, x)
    with pytest.raises(tw.ExprError, match=r"where: shapes must agree, or be 1 to be repeated, not 5 and 6"):
        ops.where(te.placeholder((5,), "bool"), x, x)
    with pytest.raises(tw.DTypeError, match=r"take: indices must be of integers, not float32"):
        ops.take(x, x)
    with pytest.raises(tw.ArgumentError, match=r"take: mode must be"):
        ops.take(x, i, mode="raise")
    with pytest.raises(tw.ExprError, match=r"gather: indices must have 2 dimensions, not 1"):
        ops.gather(x, i)
    with pytest.raises(tw.ArgumentError, match=r"one_hot: depth must be a positive integer, not 0"):
        ops.one_hot(i, 0)


WIDE = [("int64", 2**53 + 1), ("int64", 2**63 - 1), ("int64", -(2**63)), ("int64", -(2**53) - 1), ("uint64", 2**64 - 1), ("uint64", 2**63)]


@pytest.mark.parametrize("dtype, number", WIDE)
def test_numbers_of_options_keep_64_bits(dtype, number):
    info = np.iinfo(dtype)
    x = np.array([0, 1, info.max, info.min, info.max - 1, info.min + 1, 2**53 + 2, 2**53], dtype)
    close(run(lambda a: ops.pad(a, (2,), (1,), value=number), x), np.pad(x, (2, 1), constant_values=np.array(number, dtype)))
    close(run(lambda a: ops.clip(a, highest=number), x), np.minimum(x, np.array(number, dtype)))
    close(run(lambda a: ops.clip(a, np.array(number, dtype)[()]), x), np.maximum(x, np.array(number, dtype)))
    on_off = np.array([0, number, 0], dtype)
    close(run(lambda i: ops.one_hot(i, 3, on=number, dtype=dtype), np.array([1], "int64")), on_off[None])
    off_on = np.array([number, 0, number], dtype)
    close(run(lambda i: ops.one_hot(i, 3, on=0, off=number, dtype=dtype), np.array([1], "int64")), off_on[None])


def test_numbers_that_a_dtype_does_not_hold():
    x = te.placeholder((4,), "int64", "x")
    for number in (2**63, -(2**63) - 1, 2**64, 1e300, float("inf"), float("nan")):
        with pytest.raises(tw.ArgumentError, match="pad: value must be of int64, as x, not"):
            ops.pad(x, (1,), value=number)
    i = te.placeholder((4,), "int32", "i")
    with pytest.raises(tw.ArgumentError, match="one_hot: on must be of int8, not 300"):
        ops.one_hot(i, 3, on=300, dtype="int8")
    with pytest.raises(tw.ArgumentError, match="one_hot: off must be of uint8, not -1"):
        ops.one_hot(i, 3, off=-1, dtype="uint8")
