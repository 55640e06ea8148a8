"""Softmax and normalisations."""

import tensorwright as tw
from tensorwright import te

from .forms import axes_of, axis_of, const, elementwise, extents, reduced

ops = tw.ops


def batch_norm(c):
    epsilon, momentum = c.attribute("epsilon", 1e-5), c.attribute("momentum", 0.9)
    if not c.attribute("training_mode", 0):
        return ops.batch_norm(c[0], c[3], c[4], c[1], c[2], epsilon=epsilon)
    out, mean, variance = ops.batch_norm_training(c[0], c[1], c[2], epsilon=epsilon)

    def moved(old, new):
        m, rest = const(momentum, old.dtype), const(1 - momentum, old.dtype)
        return elementwise(lambda a, b: a * m + b * rest, old, new)

    return [out, moved(c[3], mean), moved(c[4], variance)]


def layer_norm(c):
    x, shape = c[0], extents(c[0])
    axis = axis_of(c.attribute("axis", -1), len(shape))
    epsilon = c.attribute("epsilon", 1e-5)
    out = ops.layer_norm(x, c[1], c[2], dimensions=len(shape) - axis, epsilon=epsilon)
    if len(c.expected) == 1:
        return out
    axes = tuple(range(axis, len(shape)))
    mean = ops.mean(x, axes, keepdims=True)
    variance = ops.var(x, axes, keepdims=True, correction=0)
    inverse = elementwise(lambda v: te.const(1, v.dtype) / te.sqrt(v + const(epsilon, v.dtype)), variance)
    return [out, mean, inverse][: len(c.expected)]


def rms_norm(c):
    shape = extents(c[0])
    axis = axis_of(c.attribute("axis", -1), len(shape))
    scale = c[1]
    if extents(scale) != shape[axis:]:
        out = ops.rms_norm(c[0], dimensions=len(shape) - axis, epsilon=c.attribute("epsilon", 1e-5))
        return elementwise(lambda x, s: x * s, out, scale)
    return ops.rms_norm(c[0], scale, dimensions=len(shape) - axis, epsilon=c.attribute("epsilon", 1e-5))


def group_norm(c):
    return ops.group_norm(c[0], c.attribute("num_groups"), c[1], c[2], epsilon=c.attribute("epsilon", 1e-5))


def instance_norm(c):
    return ops.instance_norm(c[0], c[1], c[2], epsilon=c.attribute("epsilon", 1e-5))


def lp_normalization(c):
    x, shape = c[0], extents(c[0])
    axis = axis_of(c.attribute("axis", -1), len(shape))
    squares = c.attribute("p", 2) == 2
    total = ops.sum(elementwise((lambda v: v * v) if squares else te.abs, x), axis, keepdims=True, dtype=x.dtype)
    length = elementwise(te.sqrt, total) if squares else total
    zero = const(0, x.dtype)
    return elementwise(lambda v, n: te.select(n.equal(zero), zero, v / n), x, length)


def local_response(c):
    x, (_, channels, *_rest) = c[0], extents(c[0])
    size, dtype = c.attribute("size"), c[0].dtype
    alpha, beta, bias = c.attribute("alpha", 1e-4), c.attribute("beta", 0.75), c.attribute("bias", 1.0)
    before = (size - 1) // 2

    def square(i, by):
        at = i[1] + by[0] - before
        value = x(i[0], at, *i[2:])
        return te.select(te.all(at >= 0, at < channels), value * value, const(0, dtype))

    total = reduced(te.sum, extents(x), [size], square)
    return elementwise(lambda v, t: v / te.power(const(bias, dtype) + const(alpha / size, dtype) * t, const(beta, dtype)), x, total)


def mean_variance(c):
    axes = tuple(axes_of(c.attribute("axes", [0, 2, 3]), len(extents(c[0]))))
    mean, deviation = ops.mean(c[0], axes, keepdims=True), ops.std(c[0], axes, keepdims=True, correction=0)
    return elementwise(lambda x, m, s: (x - m) / (s + const(1e-9, x.dtype)), c[0], mean, deviation)


OPERATORS = {
    "BatchNormalization": batch_norm,
    "GroupNormalization": group_norm,
    "InstanceNormalization": instance_norm,
    "LRN": local_response,
    "LayerNormalization": layer_norm,
    "LogSoftmax": lambda c: ops.log_softmax(c[0], c.attribute("axis", -1)),
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance,
    "RMSNormalization": rms_norm,
    "Softmax": lambda c: ops.softmax(c[0], c.attribute("axis", -1)),
}
