"""Quantized numbers: what they are made from, and products of them."""


import tensorwright as tw
from tensorwright import te

from .case import DTYPES, Unmapped
from .conversions import EIGHT_BITS, saturated, target
from .forms import axis_of, cast, elementwise, extents
from .products import multiplied
from .windows import LAYOUTS, geometry, rank_of

ops = tw.ops


def spread(c, i, x):
    """Input i by the index of an element of x: one number, one for each of a channel, or one for each block."""
    tensor = c[i]
    if tensor is None:
        return None
    shape, own = extents(x), extents(tensor)
    if own in ((), (1,)):
        return lambda at: tensor(*([0] * len(own)))
    axis, block = axis_of(c.attribute("axis", 1), len(shape)), c.attribute("block_size", 0)
    if len(own) == 1:
        return lambda at: tensor(at[axis])
    return lambda at: tensor(*(k // block if d == axis else k for d, k in enumerate(at)))


def quantize(c):
    x, scale, zero = c[0], spread(c, 1, c[0]), spread(c, 2, c[0])
    dtype = str(c.arrays[2].dtype) if c.has(2) else target(c.attribute("output_dtype")) if c.attribute("output_dtype", 0) else "uint8"
    if dtype not in DTYPES:
        raise Unmapped(f"te has no {dtype}")
    if c.attribute("precision", 0) not in (0, 1):
        raise Unmapped("a precision of its own")
    real = lambda *i: x(*i).astype("float32") / scale(i).astype("float32")  # noqa: E731
    if dtype in EIGHT_BITS:
        return te.compute(extents(x), lambda *i: saturated(real(*i) + (zero(i).astype("float32") if zero else 0.0), dtype))
    if plain(c, dtype):
        return by_stock(c, dtype)
    return te.compute(extents(x), lambda *i: (te.rint(real(*i)) + (zero(i).astype("float32") if zero else 0.0)).astype(dtype))


def plain(c, dtype):
    """What the stock operator takes: a scale and a zero point that are numbers, or one for each channel."""
    if dtype not in ("int8", "uint8", "int16", "uint16") or c.arrays[0].ndim == 0:
        return False
    axis = axis_of(c.attribute("axis", 1), c.arrays[0].ndim) if c.arrays[1].ndim else 0
    return c.arrays[1].ndim == 0 or c.arrays[1].shape == (c.arrays[0].shape[axis],)


def numbers(c, i, dtype):
    """Input i as a number, or a tensor of the dtype that the stock operators take."""
    if not c.has(i):
        return 0
    return c.arrays[i].item() if c.arrays[i].ndim == 0 else cast(c[i], dtype)


def by_stock(c, dtype):
    axis = c.attribute("axis", 1) if c.arrays[1].ndim else -1
    return ops.quantize(c[0], numbers(c, 1, "float32"), numbers(c, 2, "int32"), axis=axis, dtype=dtype)


def dequantize(c):
    x, scale, zero = c[0], spread(c, 1, c[0]), spread(c, 2, c[0])
    dtype = target(c.attribute("output_dtype")) if c.attribute("output_dtype", 0) else str(c.arrays[1].dtype)
    if x.dtype not in EIGHT_BITS and x.dtype not in ("int4", "uint4") and plain(c, x.dtype):
        axis = c.attribute("axis", 1) if c.arrays[1].ndim else -1
        return ops.dequantize(x, numbers(c, 1, "float32"), numbers(c, 2, "int32"), axis=axis, dtype=dtype)
    wide = "float32" if x.dtype in EIGHT_BITS else "int32"

    def value(*i):
        number = x(*i).astype(wide)
        number = number - zero(i).astype(wide) if zero else number
        return (number.astype("float32") * scale(i).astype("float32")).astype(dtype)

    return te.compute(extents(x), value)


def dynamic(c):
    """Scale and zero point from the least and the largest number, 0 among them."""
    x = c[0]
    rank = len(extents(x))
    least, most = (ops.min(x), ops.max(x)) if rank else (x, x)
    scale = elementwise(lambda a, b: (te.max(b, 0.0) - te.min(a, 0.0)) / 255.0, least, most)
    zero = elementwise(lambda a, s: te.rint(0.0 - te.min(a, 0.0) / s).astype("uint8"), least, scale)
    y = elementwise(lambda v, s, z: (te.rint(v / s) + z.astype("float32")).astype("uint8"), x, scale, zero)
    return [y, scale, zero]


def whole(c, i, zero, rows):
    """Numbers less their zero point, which may be one for each row (or column) of the last two axes."""
    x = cast(c[i], "int32")
    if not c.has(zero):
        return x
    z = cast(c[zero], "int32")
    own = extents(z)
    if len(own) == 1 and own != (1,) and rows:
        return te.compute(extents(x), lambda *at: x(*at) - z(at[-2]))
    return elementwise(lambda v, w: v - w, x, z)


def matmul_integer(c):
    return multiplied(whole(c, 0, 2, True), whole(c, 1, 3, False), "int32")


def requantized(c, acc, scales, out_scale, out_zero, channel=None):
    a, b = c[scales[0]], c[scales[1]]
    s, z = c[out_scale], c[out_zero]
    dtype = str(c.arrays[out_zero].dtype)

    def read(tensor, i):
        own = extents(tensor)
        if not own or own == (1,):
            return tensor(*([0] * len(own)))
        return tensor(i[channel]) if len(own) == 1 else tensor(*(0 if n == 1 else k for n, k in zip(own, i[-len(own) :], strict=True)))

    def value(*i):
        factor = read(a, i).astype("float32") * read(b, i).astype("float32") / read(s, i).astype("float32")
        real = te.rint(acc(*i).astype("float32") * factor) + read(z, i).astype("float32")
        return real.astype(dtype)

    return te.compute(extents(acc), value)


def qlinear_matmul(c):
    acc = multiplied(whole(c, 0, 2, True), whole(c, 3, 5, False), "int32")
    return requantized(c, acc, (1, 4), 6, 7, channel=-1)


def integer_conv(c, x, w, x_zero, w_zero, groups):
    count = rank_of(c)
    stride, dilation, padding = geometry(c, extents(c[w])[2:], extents(c[x])[2:])
    operator = {1: ops.conv1d, 2: ops.conv2d, 3: ops.conv3d}[count]
    weights = cast(c[w], "int32")
    if c.has(w_zero):
        z = cast(c[w_zero], "int32")
        own = extents(z)
        each = own not in ((), (1,))
        weights = te.compute(extents(weights), lambda *i, t=weights: t(*i) - (z(i[0]) if each else z(*([0] * len(own)))))
    return operator(
        whole(c, x, x_zero, False), weights, stride=tuple(stride), padding=tuple(padding), dilation=tuple(dilation),
        groups=groups, layout=LAYOUTS[count], out_dtype="int32",
    )  # fmt: skip


def conv_integer(c):
    return integer_conv(c, 0, 1, 2, 3, c.attribute("group", 1))


def qlinear_conv(c):
    acc = integer_conv(c, 0, 3, 2, 5, c.attribute("group", 1))
    if c.has(8):
        acc = te.compute(extents(acc), lambda *i, t=acc: t(*i) + c[8](i[1]))
    return requantized(c, acc, (1, 4), 6, 7, channel=1)


OPERATORS = {
    "ConvInteger": conv_integer,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic,
    "MatMulInteger": matmul_integer,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
    "QuantizeLinear": quantize,
}
