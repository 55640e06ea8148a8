"""Images at other places than their pixels: resize, grids, regions."""

import math

import numpy as np

import tensorwright as tw
from tensorwright import te

from .case import Unmapped
from .forms import axes_of, const, elementwise, extents, points, reduced

ops = tw.ops


def original(mode, out, n, size, scale, roi):
    """The place in the data, along one axis, of each of ``size`` elements of the result."""
    at = np.arange(size, dtype="float64")
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        return at * (n - 1) / (out - 1) if out > 1 else at * 0
    if mode == "half_pixel":
        return (at + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        shift = n / 2 * (1 - size / (scale * n))
        return shift + (at + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (at + 0.5) / scale - 0.5 if out > 1 else at * 0
    if mode == "tf_crop_and_resize":
        begin, end = roi
        if size > 1:
            return begin * (n - 1) + at * (end - begin) * (n - 1) / (size - 1)
        return np.full(size, 0.5 * (begin + end) * (n - 1))
    raise Unmapped(f"coordinates {mode}")


def nearest(place, mode):
    if mode == "floor":
        return np.floor(place)
    if mode == "ceil":
        return np.ceil(place)
    if mode == "round_prefer_ceil":
        return np.floor(place + 0.5)
    return np.ceil(place - 0.5)


def cubic(distance, a):
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def taps(place, n, mode, c, scale):
    """Subscripts and weights of what each place is made of."""
    if mode == "nearest":
        return nearest(place, c.attribute("nearest_mode", "round_prefer_floor"))[:, None].clip(0, n - 1), np.ones((len(place), 1))
    reach = 1 if mode == "linear" else 2
    stretch = min(scale, 1.0) if c.attribute("antialias", 0) else 1.0
    reach = math.ceil(reach / stretch)
    at = np.floor(place)[:, None] + np.arange(1 - reach, reach + 1)[None, :]
    distance = (place[:, None] - at) * stretch
    weight = np.maximum(1 - np.abs(distance), 0) if mode == "linear" else cubic(distance, c.attribute("cubic_coeff_a", -0.75))
    outside = (at < 0) | (at >= n)
    if c.attribute("exclude_outside", 0):
        weight = np.where(outside, 0.0, weight)
    total = weight.sum(1, keepdims=True)
    weight = weight / np.where(total == 0, 1.0, total) if c.attribute("exclude_outside", 0) or stretch < 1 else weight
    return at.clip(0, n - 1), weight


def stretched(x, axis, size, at, weight, c):
    """One axis of a tensor from its neighbours."""
    shape = list(extents(x))
    shape[axis] = size
    index, count = c.constant(at.astype("int32")), at.shape[1]

    def read(i, k):
        return x(*(index(i[axis], k) if d == axis else j for d, j in enumerate(i)))

    if count == 1:
        return te.compute(tuple(shape), lambda *i: read(i, 0))
    factor = c.constant(weight.astype("float32"))
    return reduced(te.sum, shape, [count], lambda i, by: read(i, by[0]) * factor(i[axis], by[0]))


def resize(c):
    own, shape = extents(c[0]), c.expected[0].shape
    axes = axes_of(c.attribute("axes", range(len(own))), len(own))
    mode = c.attribute("mode", "nearest")
    place_mode = c.attribute("coordinate_transformation_mode", "half_pixel")
    x, outside = c[0], []
    scales, sizes = c.value(2), c.value(3)
    roi = c.value(1)
    ratio = {}
    for place, axis in enumerate(axes):
        if scales is not None and scales.size:
            ratio[axis] = float(scales[place])
        else:
            ratio[axis] = int(sizes[place]) / own[axis]
    policy = c.attribute("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        chosen = min(ratio.values()) if policy == "not_larger" else max(ratio.values())
        ratio = dict.fromkeys(ratio, chosen)
    for place, axis in enumerate(axes):
        n, size, scale = own[axis], shape[axis], ratio[axis]
        edge = (float(roi[place]), float(roi[place + len(axes)])) if roi is not None and roi.size else None
        if n == size and scale == 1 and place_mode != "tf_crop_and_resize":
            continue
        at = original(place_mode, scale * n, n, size, scale, edge)
        if place_mode == "tf_crop_and_resize":
            outside.append((axis, c.constant(((at < 0) | (at > n - 1)).astype("bool"))))
        x = stretched(x, axis, size, *taps(at, n, mode, c, scale), c)
    if outside:
        value = const(c.attribute("extrapolation_value", 0.0), x.dtype)
        return te.compute(tuple(shape), lambda *i: te.select(te.any(*(hit(i[axis]) for axis, hit in outside)), value, x(*i)))
    return x if x is not c[0] else elementwise(lambda v: v, x)


def upsample(c):
    shape, scales = c.expected[0].shape, c.value(1)
    if c.attribute("mode", "nearest") != "nearest":
        raise Unmapped("Upsample other than nearest")
    return te.compute(shape, lambda *i: c[0](*(k // int(s) for k, s in zip(i, scales, strict=True))))


def affine_grid(c):
    """Places between -1 and 1 of a grid, moved by an affine map."""
    theta, size = c[0], [int(n) for n in c.value(1)]
    space, corners, dtype = size[2:], c.attribute("align_corners", 0), c[0].dtype
    count = len(space)

    def place(k, n):
        if corners:
            return const(-1, dtype) + k.astype(dtype) * const(2 / (n - 1) if n > 1 else 0, dtype)
        return const(-1 + 1 / n, dtype) + k.astype(dtype) * const(2 / n, dtype)

    def value(*i):
        at = [place(k, n) for k, n in zip(i[1:-1], space, strict=True)][::-1]
        total = theta(i[0], i[-1], count)
        for column, p in enumerate(at):
            total = total + theta(i[0], i[-1], column) * p
        return total

    return te.compute((size[0], *space, count), value)


def reflected(at, low, high):
    """A place brought between two ends by reflection."""
    span = high - low
    away = te.abs(at - const(low, at.dtype))
    rest = te.fmod(away, const(2 * span, at.dtype)) if span else away * const(0, at.dtype)
    return const(low, at.dtype) + te.select(rest > const(span, at.dtype), const(2 * span, at.dtype) - rest, rest)


def grid_sample(c):
    x, grid = c[0], c[1]
    _, _, *space = extents(x)
    mode, padding, corners = c.attribute("mode", "linear"), c.attribute("padding_mode", "zeros"), c.attribute("align_corners", 0)
    dtype, count = grid.dtype, len(space)

    def place(value, n):
        half = const(0.5, dtype)
        if corners:
            return (value + const(1, dtype)) * half * const(n - 1, dtype)
        return ((value + const(1, dtype)) * const(n, dtype) - const(1, dtype)) * half

    def at_border(p, n):
        if padding == "border":
            return te.max(te.min(p, const(n - 1, dtype)), const(0, dtype))
        if padding == "reflection":
            low, high = (0.0, n - 1.0) if corners else (-0.5, n - 0.5)
            return te.max(te.min(reflected(p, low, high), const(n - 1, dtype)), const(0, dtype))
        return p

    def pixel(i, at):
        """The pixel at whole numbers, by the padding where it lies outside."""
        kept = [at_border(p, n) for p, n in zip(at, space, strict=True)]
        value = x(i[0], i[1], *(p.astype("int32") for p in kept))
        if padding != "zeros":
            return value
        inside = [bound for p, n in zip(at, space, strict=True) for bound in (p >= const(0, dtype), p <= const(n - 1, dtype))]
        return te.select(te.all(*inside), value, const(0, x.dtype))

    def weights(fraction):
        if mode in ("linear", "bilinear"):
            return [(0, const(1, dtype) - fraction), (1, fraction)]
        a = -0.75

        def near(d):
            return (const(a + 2, dtype) * d - const(a + 3, dtype)) * d * d + const(1, dtype)

        def far(d):
            return ((const(a, dtype) * d - const(5 * a, dtype)) * d + const(8 * a, dtype)) * d - const(4 * a, dtype)

        one = const(1, dtype)
        return [(-1, far(fraction + one)), (0, near(fraction)), (1, near(one - fraction)), (2, far(one + one - fraction))]

    def value(*i):
        where = [place(grid(i[0], *i[2:], count - 1 - d), n) for d, n in enumerate(space)]
        if mode == "nearest":
            return pixel(i, [te.rint(at_border(p, n)) for p, n in zip(where, space, strict=True)])
        if mode != "cubic" and mode != "bicubic":
            where = [at_border(p, n) for p, n in zip(where, space, strict=True)]
        low = [te.floor(p) for p in where]
        choices = [weights(p - f) for p, f in zip(where, low, strict=True)]
        total = None
        for combination in points([len(choice) for choice in choices]):
            picked = [choice[k] for choice, k in zip(choices, combination, strict=True)]
            term = pixel(i, [f + const(step, dtype) for f, (step, _) in zip(low, picked, strict=True)])
            for _, w in picked:
                term = term * w.astype(x.dtype)
            total = term if total is None else total + term
        return total

    return te.compute(c.expected[0].shape, value)


def roi_align(c):
    x, rois, batch = c[0], c[1], c[2]
    _, _, h, w = extents(x)
    oh, ow = c.attribute("output_height", 1), c.attribute("output_width", 1)
    scale, dtype = c.attribute("spatial_scale", 1.0), x.dtype
    shift = 0.5 if c.attribute("coordinate_transformation_mode", "half_pixel") == "half_pixel" else 0.0
    ratio = c.attribute("sampling_ratio", 0)
    if ratio <= 0:
        raise Unmapped("how many samples a region has depends on data")

    def bounds(n, first):
        begin = rois(n, first) * const(scale, dtype) - const(shift, dtype)
        size = rois(n, first + 2) * const(scale, dtype) - const(shift, dtype) - begin
        return begin, size if shift else te.max(size, const(1, dtype))

    def sample(y, xx, b, channel):
        away = te.any(y < const(-1, dtype), y > const(h, dtype), xx < const(-1, dtype), xx > const(w, dtype))
        y, xx = te.max(y, const(0, dtype)), te.max(xx, const(0, dtype))
        y, xx = te.min(y, const(h - 1, dtype)), te.min(xx, const(w - 1, dtype))
        y0, x0 = te.floor(y), te.floor(xx)
        fy, fx, one = y - y0, xx - x0, const(1, dtype)

        def at(yy, xv):
            return x(b, channel, te.min(yy.astype("int32"), h - 1), te.min(xv.astype("int32"), w - 1))

        corners = [
            (at(y0, x0), (one - fy) * (one - fx)),
            (at(y0, x0 + one), (one - fy) * fx),
            (at(y0 + one, x0), fy * (one - fx)),
            (at(y0 + one, x0 + one), fy * fx),
        ]
        if c.attribute("mode", "avg") == "max":
            value = te.max(te.max(corners[0][0] * corners[0][1], corners[1][0] * corners[1][1]),
                           te.max(corners[2][0] * corners[2][1], corners[3][0] * corners[3][1]))  # fmt: skip
        else:
            value = sum((v * f for v, f in corners[1:]), corners[0][0] * corners[0][1])
        return te.select(away, const(0, dtype), value)

    def term(i, by):
        n, channel, py, px = i
        left, width = bounds(n, 0)
        top, height = bounds(n, 1)
        y = top + (py.astype(dtype) + (by[0].astype(dtype) + const(0.5, dtype)) / const(ratio, dtype)) * height / const(oh, dtype)
        xx = left + (px.astype(dtype) + (by[1].astype(dtype) + const(0.5, dtype)) / const(ratio, dtype)) * width / const(ow, dtype)
        return sample(y, xx, batch(n), channel)

    shape = c.expected[0].shape
    if c.attribute("mode", "avg") == "max":
        return reduced(te.max, shape, [ratio, ratio], term)
    total = reduced(te.sum, shape, [ratio, ratio], term)
    return elementwise(lambda v: v / const(ratio * ratio, dtype), total)


OPERATORS = {
    "AffineGrid": affine_grid,
    "GridSample": grid_sample,
    "Resize": resize,
    "RoiAlign": roi_align,
    "Upsample": upsample,
}
