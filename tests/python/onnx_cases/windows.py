"""Convolutions and pools: data channels first."""

import math


import tensorwright as tw
from tensorwright import te

from .case import Unmapped
from .forms import const, elementwise, extents, reduced, row_major, split_index

ops = tw.ops
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def listed(value, count, default):
    return [int(v) for v in value] if value is not None else [default] * count


def geometry(c, kernel, size):
    """stride, dilation and padding (all before, then all behind) of a node."""
    count = len(kernel)
    stride = listed(c.attribute("strides"), count, 1)
    dilation = listed(c.attribute("dilations"), count, 1)
    padding = listed(c.attribute("pads"), 2 * count, 0)
    auto = c.attribute("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        whole = [
            max((math.ceil(n / s) - 1) * s + (k - 1) * d + 1 - n, 0) for n, k, s, d in zip(size, kernel, stride, dilation, strict=True)
        ]
        less, more = [w // 2 for w in whole], [w - w // 2 for w in whole]
        padding = less + more if auto == "SAME_UPPER" else more + less
    elif auto == "VALID":
        padding = [0] * (2 * count)
    return stride, dilation, padding


def rank_of(c):
    count = len(extents(c[0])) - 2
    if count not in LAYOUTS:
        raise Unmapped(f"windows of {count} dimensions")
    return count


def conv(c):
    count = rank_of(c)
    stride, dilation, padding = geometry(c, extents(c[1])[2:], extents(c[0])[2:])
    operator = {1: ops.conv1d, 2: ops.conv2d, 3: ops.conv3d}[count]
    return operator(
        c[0], c[1], stride=tuple(stride), padding=tuple(padding), dilation=tuple(dilation), groups=c.attribute("group", 1),
        layout=LAYOUTS[count], bias=c[2], out_dtype=c[0].dtype,
    )  # fmt: skip


def conv_transpose(c):
    count = rank_of(c)
    kernel, size = extents(c[1])[2:], extents(c[0])[2:]
    stride, dilation, padding = geometry(c, kernel, size)
    extra = listed(c.attribute("output_padding"), count, 0)
    auto, wanted = c.attribute("auto_pad", "NOTSET"), c.attribute("output_shape")
    if wanted is None and auto.startswith("SAME"):
        wanted = [n * s for n, s in zip(size, stride, strict=True)]
    behind = list(extra)
    if wanted is not None:
        whole = [
            s * (n - 1) + e + (k - 1) * d + 1 - w
            for s, n, e, k, d, w in zip(stride, size, extra, kernel, dilation, wanted[-count:], strict=True)
        ]
        behind = [e + max(-w, 0) for e, w in zip(extra, whole, strict=True)]
        whole = [max(w, 0) for w in whole]
        less, more = [w // 2 for w in whole], [w - w // 2 for w in whole]
        padding = less + more if auto == "SAME_UPPER" else more + less
    operator = {1: ops.conv1d_transpose, 2: ops.conv2d_transpose, 3: ops.conv3d_transpose}[count]
    return operator(
        c[0], c[1], stride=tuple(stride), padding=tuple(padding), output_padding=tuple(behind), dilation=tuple(dilation),
        groups=c.attribute("group", 1), layout=LAYOUTS[count], bias=c[2], out_dtype=c[0].dtype,
    )  # fmt: skip


def pool_options(c):
    kernel = [int(k) for k in c.attribute("kernel_shape")]
    stride, dilation, padding = geometry(c, kernel, extents(c[0])[2:])
    options = dict(stride=tuple(stride), padding=tuple(padding), dilation=tuple(dilation), layout=LAYOUTS[rank_of(c)])
    return tuple(kernel), options | {"ceil_mode": bool(c.attribute("ceil_mode", 0))}


def average_pool(c):
    kernel, options = pool_options(c)
    operator = {1: ops.avg_pool1d, 2: ops.avg_pool2d, 3: ops.avg_pool3d}[len(kernel)]
    return operator(c[0], kernel, count_include_pad=bool(c.attribute("count_include_pad", 0)), **options)


def max_pool(c):
    kernel, options = pool_options(c)
    operator = {1: ops.max_pool1d, 2: ops.max_pool2d, 3: ops.max_pool3d}[len(kernel)]
    if not c.wants(1):
        return operator(c[0], kernel, **options)
    largest, places = operator(c[0], kernel, indices=True, **options)
    _, channels, *size = extents(c[0])

    def flat(*i):
        at = split_index(places(*i), size)
        column_major = c.attribute("storage_order", 0)
        number = row_major(at[::-1], size[::-1]) if column_major else row_major(at, size)
        return number + (i[0] * channels + i[1]).astype("int64") * math.prod(size)

    return [largest, te.compute(extents(largest), flat)]


def lp_pool(c):
    kernel = [int(k) for k in c.attribute("kernel_shape")]
    size = extents(c[0])[2:]
    stride, dilation, padding = geometry(c, kernel, size)
    p, x = c.attribute("p", 2), c[0]

    def term(i, by):
        at = [k * s + r * d - a for k, s, r, d, a in zip(i[2:], stride, by, dilation, padding, strict=False)]
        inside = [bound for k, n in zip(at, size, strict=True) for bound in (k >= 0, k < n)]
        return te.select(te.all(*inside), raised(x(*i[:2], *at), p), const(0, x.dtype))

    return rooted(reduced(te.sum, c.expected[0].shape, kernel, term), p)


def raised(x, p):
    size = te.abs(x)
    return size if p == 1 else size * size if p == 2 else te.power(size, const(p, x.dtype))


def rooted(total, p):
    if p == 1:
        return total
    return elementwise(te.sqrt if p == 2 else lambda t: te.power(t, const(1 / p, t.dtype)), total)


def global_pool(operator):
    return lambda c: operator(c[0], 1, layout=LAYOUTS[rank_of(c)])


def max_unpool(c):
    """Each element of the result looks for the number whose place it is."""
    x, places = c[0], c[1]
    shape, (_, _, *size) = c.expected[0].shape, extents(c[0])
    kernel = [int(k) for k in c.attribute("kernel_shape")]
    stride = listed(c.attribute("strides"), len(kernel), 1)
    padding = listed(c.attribute("pads"), 2 * len(kernel), 0)
    own = [
        (n - 1) * s - a - b + k
        for n, s, a, b, k in zip(size, stride, padding[: len(kernel)], padding[len(kernel) :], kernel, strict=True)
    ]
    counted = list(extents(x)[:2]) + own
    by = [te.reduce_axis((0, n), name=f"r{d}") for d, n in enumerate(size)]

    def value(*i):
        here = row_major(i, shape) if c.has(2) and tuple(counted) == tuple(shape) else row_major(i, counted)
        inside = [k < n for k, n in zip(i[2:], own, strict=True)]
        hit = te.all(*inside, places(*i[:2], *by).equal(here))
        return te.sum(te.select(hit, x(*i[:2], *by), const(0, x.dtype)), axis=by)

    return te.compute(shape, value)


def col2im(c):
    """The sum of all columns' elements that lie at a place."""
    x = c[0]
    image, block = [int(n) for n in c.value(1)], [int(n) for n in c.value(2)]
    count = len(image)
    stride = listed(c.attribute("strides"), count, 1)
    dilation = listed(c.attribute("dilations"), count, 1)
    padding = listed(c.attribute("pads"), 2 * count, 0)
    blocks = [
        (n + a + b - d * (k - 1) - 1) // s + 1
        for n, a, b, d, k, s in zip(image, padding[:count], padding[count:], dilation, block, stride, strict=True)
    ]

    def term(i, by):
        start = [k + a - r * d for k, a, r, d in zip(i[2:], padding, by, dilation, strict=False)]
        at = [k // s for k, s in zip(start, stride, strict=True)]
        fits = [
            condition
            for k, s, b, n in zip(start, stride, at, blocks, strict=True)
            for condition in ((k % s).equal(0), b >= 0, b < n)
        ]
        return te.select(te.all(*fits), x(i[0], row_major([i[1], *by], [1, *block]), row_major(at, blocks)), const(0, x.dtype))

    return reduced(te.sum, c.expected[0].shape, block, term)


def bilinear(read, dtype, y, x, h, w):
    """The value between four neighbours; those outside are 0."""
    y0, x0 = te.floor(y), te.floor(x)

    def at(yy, xx):
        inside = te.all(yy >= const(0, dtype), yy <= const(h - 1, dtype), xx >= const(0, dtype), xx <= const(w - 1, dtype))
        return te.select(inside, read(yy.astype("int32"), xx.astype("int32")), const(0, dtype))

    one = const(1, dtype)
    fy, fx = y - y0, x - x0
    top = at(y0, x0) * (one - fx) + at(y0, x0 + one) * fx
    low = at(y0 + one, x0) * (one - fx) + at(y0 + one, x0 + one) * fx
    return top * (one - fy) + low * fy


def deform_conv(c):
    x, w, offset = c[0], c[1], c[2]
    n, channels, h, width = extents(x)
    out_channels, depth, kh, kw = extents(w)
    stride, dilation, padding = geometry(c, (kh, kw), (h, width))
    groups, offsets = c.attribute("group", 1), c.attribute("offset_group", 1)
    shape, dtype = c.expected[0].shape, x.dtype

    def column(b, channel, ky, kx, oy, ox):
        group = channel // (channels // offsets)
        tap = (group * kh + ky) * kw + kx
        y = (oy * stride[0] - padding[0] + ky * dilation[0]).astype(dtype) + offset(b, tap * 2, oy, ox)
        xx = (ox * stride[1] - padding[1] + kx * dilation[1]).astype(dtype) + offset(b, tap * 2 + 1, oy, ox)
        value = bilinear(lambda yy, xv: x(b, channel, yy, xv), dtype, y, xx, h, width)
        return value * c[4](b, tap, oy, ox) if c.has(4) else value

    columns = te.compute((n, channels, kh, kw, *shape[2:]), column)

    def term(i, by):
        first = i[1] // (out_channels // groups) * depth
        return columns(i[0], first + by[0], by[1], by[2], i[2], i[3]) * w(i[1], *by)

    out = reduced(te.sum, shape, (depth, kh, kw), term)
    return out if not c.has(3) else te.compute(shape, lambda *i: out(*i) + c[3](i[1]))


def causal_conv(c):
    """A depthwise convolution over what came before, the last values of which are kept."""
    x, w, past = c[0], c[1], c[3]
    n, channels, length = extents(x)
    taps = extents(w)[-1]
    dtype = x.dtype

    def history(b, ch, t):
        old = past(b, ch, te.max(t, 0)) if past is not None else const(0, dtype)
        return te.select(t < taps - 1, old, x(b, ch, te.max(t - (taps - 1), 0)))

    whole = te.compute((n, channels, length + taps - 1), history)
    out = reduced(te.sum, (n, channels, length), [taps], lambda i, by: whole(i[0], i[1], i[2] + by[0]) * w(i[1], 0, by[0]))
    if c.has(2):
        out = te.compute(extents(out), lambda b, ch, t, y=out: y(b, ch, t) + c[2](ch))
    if c.attribute("activation", "none") in ("silu", "swish"):
        out = ops.silu(out)
    state = te.compute((n, channels, taps - 1), lambda b, ch, t: whole(b, ch, t + length))
    return [out, state][: len(c.expected)]


OPERATORS = {
    "AveragePool": average_pool,
    "CausalConvWithState": causal_conv,
    "Col2Im": col2im,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
    "GlobalAveragePool": global_pool(ops.adaptive_avg_pool),
    "GlobalMaxPool": global_pool(ops.adaptive_max_pool),
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
}
