"""What moves elements and calculates nothing, and tensors made of nothing but their shape."""

import math

import numpy as np
import onnx

import tensorwright as tw
from tensorwright import te

from .case import DTYPES, Unmapped
from .forms import axes_of, axis_of, const, elementwise, extents, reshape

ops = tw.ops


def transpose(c):
    axes = c.attribute("perm")
    return ops.transpose(c[0], None if axes is None else tuple(axes))


def reshaped(c):
    shape, own = [int(n) for n in c.value(1)], extents(c[0])
    if not c.attribute("allowzero", 0):
        shape = [own[d] if n == 0 else n for d, n in enumerate(shape)]
    return reshape(c[0], shape)


def as_expected(c):
    """The same elements in the shape of the result: flatten, squeeze, unsqueeze."""
    return reshape(c[0], c.expected[0].shape)


def concat(c):
    return ops.concat([c[i] for i in range(len(c))], axis_of(c.attribute("axis"), len(extents(c[0]))))


def split(c):
    axis = axis_of(c.attribute("axis", 0), len(extents(c[0])))
    ends = np.cumsum([part.shape[axis] for part in c.expected])
    if any(part.size == 0 for part in c.expected):
        return [slice_from(c[0], axis, end - part.shape[axis], part.shape) for end, part in zip(ends, c.expected, strict=True)]
    return list(ops.split(c[0], at=tuple(int(end) for end in ends[:-1]), axis=axis))


def slice_from(x, axis, begin, shape):
    return te.compute(tuple(shape), lambda *i: x(*(k + int(begin) if d == axis else k for d, k in enumerate(i))))


def slice_of(c):
    rank = len(extents(c[0]))
    starts, ends = c.value(1), c.value(2)
    axes = axes_of(c.value(3, range(len(starts))), rank)
    steps = c.value(4, [1] * len(starts))
    ranges = {axis: slice(int(a), int(b), int(s)) for axis, a, b, s in zip(axes, starts, ends, steps, strict=True)}
    begin, end, stride = [], [], []
    for d in range(rank):
        one = ranges.get(d, slice(None))
        first, last, step = one.indices(extents(c[0])[d])
        begin.append(first)
        end.append(None if step < 0 and last < 0 else last)
        stride.append(step)
    return ops.strided_slice(c[0], tuple(begin), tuple(end), tuple(stride))


def pad(c):
    own = extents(c[0])
    axes = axes_of(c.value(3, range(len(own))), len(own))
    pads = [int(n) for n in c.value(1)]
    before, behind = [0] * len(own), [0] * len(own)
    for place, axis in enumerate(axes):
        before[axis], behind[axis] = pads[place], pads[place + len(axes)]
    mode = c.attribute("mode", "constant")
    value = c.value(2)
    value = 0 if value is None or value.size == 0 else value.reshape(()).item()
    cut = [(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(before, behind, own, strict=True)]
    x = c[0]
    if any(a or b < n for (a, b), n in zip(cut, own, strict=True)):
        x = ops.strided_slice(x, tuple(a for a, _ in cut), tuple(b for _, b in cut))
    return ops.pad(x, tuple(max(a, 0) for a in before), tuple(max(b, 0) for b in behind), mode=mode, value=value)


def tile(c):
    own = extents(c[0])
    return te.compute(c.expected[0].shape, lambda *i: c[0](*(k % n for k, n in zip(i, own, strict=True))))


def expand(c):
    return ops.broadcast_to(c[0], tuple(c.expected[0].shape))


def depth_to_space(c):
    """Neighbours in the result are apart in channels, which count blocks first (DCR) or last (CRD)."""
    n, channels, h, w = extents(c[0])
    b = c.attribute("blocksize")
    depth = channels // (b * b)

    def channel(o, y, x):
        at = (y % b) * b + x % b
        return at * depth + o if c.attribute("mode", "DCR") == "DCR" else o * b * b + at

    return te.compute((n, depth, h * b, w * b), lambda i, o, y, x: c[0](i, channel(o, y, x), y // b, x // b))


def space_to_depth(c):
    n, channels, h, w = extents(c[0])
    b = c.attribute("blocksize")

    def source(i, o, y, x):
        first = c.attribute("mode", "DCR") == "DCR"
        channel, block = (o % channels, o // channels) if first else (o // (b * b), o % (b * b))
        return c[0](i, channel, y * b + block // b, x * b + block % b)

    return te.compute((n, channels * b * b, h // b, w // b), source)


def reverse_sequence(c):
    batch, time = c.attribute("batch_axis", 1), c.attribute("time_axis", 0)

    def source(*i):
        length = c[1](i[batch])
        at = te.select(i[time] < length, length - 1 - i[time], i[time])
        return c[0](*(at if d == time else k for d, k in enumerate(i)))

    return te.compute(extents(c[0]), source)


def trilu(c):
    k = int(c.value(1, np.int64(0)))
    keep = (lambda i: i[-1] - i[-2] >= k) if c.attribute("upper", 1) else (lambda i: i[-1] - i[-2] <= k)
    return te.compute(extents(c[0]), lambda *i: te.select(keep(i), c[0](*i), const(0, c[0].dtype)))


def eye_like(c):
    dtype = str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(c.attribute("dtype")))) if c.attribute("dtype") else c[0].dtype
    k = c.attribute("k", 0)
    return te.compute(c.expected[0].shape, lambda i, j: te.select(j - i == k, const(1, dtype), const(0, dtype)))


def filled(array):
    """A tensor of one number."""
    dtype = str(array.dtype)
    if dtype not in DTYPES:
        raise Unmapped("te has no strings" if array.dtype == object else f"te has no {dtype}")
    flat = array.reshape(-1)
    return te.compute(array.shape, lambda *i: const(flat[0].item() if flat.size else 0, dtype))


def constant_of_shape(c):
    value = c.attribute("value")
    array = onnx.numpy_helper.to_array(value) if value is not None else np.zeros(1, "float32")
    return filled(np.broadcast_to(array.reshape(()), c.expected[0].shape))


def sequence_of_numbers(c):
    start, step = c.value(0), c.value(2)
    dtype = str(start.dtype)
    return te.compute(c.expected[0].shape, lambda i: const(start.item(), dtype) + i.astype(dtype) * const(step.item(), dtype))


def shape_of(c):
    """Extents are known when a program is declared: the table of them is what te has to say."""
    shape = extents(c[0])[slice(c.attribute("start"), c.attribute("end"))]
    table = c.constant(np.asarray(shape, "int64"))
    return te.compute((len(shape),), lambda i: table(i))


def size_of(c):
    return te.compute((), lambda: const(math.prod(extents(c[0])), "int64"))


def center_crop_pad(c):
    own, shape = extents(c[0]), c.expected[0].shape

    def source(*i):
        at, inside = [], []
        for k, n, wanted in zip(i, own, shape, strict=True):
            shift = (n - wanted) // 2 if n >= wanted else -((wanted - n) // 2)
            at.append(k + shift)
            if wanted > n:
                inside += [k + shift >= 0, k + shift < n]
        value = c[0](*at)
        return te.select(te.all(*inside), value, const(0, c[0].dtype)) if inside else value

    return te.compute(shape, source)


def dropout(c):
    """Without training nothing is dropped."""
    training = c.value(2)
    ratio = c.value(1)
    if training is not None and bool(training) and (ratio is None or float(ratio) > 0):
        raise Unmapped("random numbers of ONNX's own generator")
    out = elementwise(lambda x: x, c[0])
    mask = te.compute(extents(c[0]), lambda *i: const(True, "bool"))
    return [out, mask][: len(c.expected)]


def constant(c):
    table = c.constant(onnx.numpy_helper.to_array(c.attribute("value")))
    return elementwise(lambda x: x, table)


OPERATORS = {
    "CenterCropPad": center_crop_pad,
    "Concat": concat,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "DepthToSpace": depth_to_space,
    "Dropout": dropout,
    "Expand": expand,
    "EyeLike": eye_like,
    "Flatten": as_expected,
    "Pad": pad,
    "Range": sequence_of_numbers,
    "Reshape": reshaped,
    "ReverseSequence": reverse_sequence,
    "Shape": shape_of,
    "Size": size_of,
    "Slice": slice_of,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": as_expected,
    "Tile": tile,
    "Transpose": transpose,
    "Trilu": trilu,
    "Unsqueeze": as_expected,
}
