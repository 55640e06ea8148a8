"""Losses, and steps of optimizers."""

import tensorwright as tw
from tensorwright import te

from .forms import const, elementwise, extents

ops = tw.ops


def of_class(c, scores, labels, weight):
    """For each label ``-scores[label] * weight[label]``, and the weight; a label that is to be ignored counts nothing."""
    dtype, ignored = scores.dtype, c.attribute("ignore_index")

    def factor(*i):
        label = labels(*i)
        value = weight(label) if weight is not None else const(1, dtype)
        return value if ignored is None else te.select(label.equal(te.const(ignored, label.dtype)), const(0, dtype), value)

    weights = te.compute(extents(labels), factor)
    return te.compute(extents(labels), lambda *i: -scores(i[0], labels(*i), *i[1:]) * weights(*i)), weights


def reduced_loss(c, loss, weights):
    how = c.attribute("reduction", "mean")
    if how == "none":
        return loss
    total = ops.sum(loss, dtype=loss.dtype)
    if how == "sum":
        return total
    return elementwise(lambda a, b: a / b, total, ops.sum(weights, dtype=weights.dtype))


def negative_log_likelihood(c):
    return reduced_loss(c, *of_class(c, c[0], c[1], c[2]))


def softmax_cross_entropy(c):
    logarithms = ops.log_softmax(c[0], 1)
    loss = reduced_loss(c, *of_class(c, logarithms, c[1], c[2]))
    return [loss, logarithms][: len(c.expected)]


def number(c, i):
    """An input that is a scalar, for every element."""
    return lambda: c[i](*([0] * len(extents(c[i]))))


def adagrad(c):
    count = (len(c) - 2) // 3
    rate, step = number(c, 0), number(c, 1)
    decay, norm, epsilon = c.attribute("decay_factor", 0.0), c.attribute("norm_coefficient", 0.0), c.attribute("epsilon", 0.0)
    moved, squares = [], []
    for k in range(count):
        x, g, h = c[2 + k], c[2 + count + k], c[2 + 2 * count + k]
        slope = elementwise(lambda v, d: v * const(norm, v.dtype) + d, x, g)
        sums = elementwise(lambda s, d: s + d * d, h, slope)

        def change(v, d, s):
            r = rate() / (const(1, v.dtype) + step().astype(v.dtype) * const(decay, v.dtype))
            return v - r * d / (te.sqrt(s) + const(epsilon, v.dtype))

        moved.append(elementwise(change, x, slope, sums))
        squares.append(sums)
    return moved + squares


def adam(c):
    count = (len(c) - 2) // 4
    rate, step = number(c, 0), number(c, 1)
    alpha, beta = c.attribute("alpha", 0.9), c.attribute("beta", 0.999)
    norm, after, epsilon = c.attribute("norm_coefficient", 0.0), c.attribute("norm_coefficient_post", 0.0), c.attribute("epsilon", 0.0)
    moved, firsts, seconds = [], [], []
    for k in range(count):
        x, g, v, h = (c[2 + part * count + k] for part in range(4))
        slope = elementwise(lambda w, d: w * const(norm, w.dtype) + d, x, g)
        first = elementwise(lambda a, d: a * const(alpha, a.dtype) + d * const(1 - alpha, a.dtype), v, slope)
        second = elementwise(lambda a, d: a * const(beta, a.dtype) + d * d * const(1 - beta, a.dtype), h, slope)

        def change(w, a, b):
            t, one = step().astype("float32"), const(1, w.dtype)
            corrected = rate() * te.sqrt(one - te.power(const(beta, w.dtype), t)) / (one - te.power(const(alpha, w.dtype), t))
            r = te.select(step() > 0, corrected, rate())
            return (w - r * a / (te.sqrt(b) + const(epsilon, w.dtype))) * const(1 - after, w.dtype)

        moved.append(elementwise(change, x, first, second))
        firsts.append(first)
        seconds.append(second)
    return moved + firsts + seconds


def momentum(c):
    count = (len(c) - 2) // 3
    rate, step = number(c, 0), number(c, 1)
    alpha, beta, norm = c.attribute("alpha"), c.attribute("beta"), c.attribute("norm_coefficient")
    nesterov = c.attribute("mode", "standard") == "nesterov"
    moved, speeds = [], []
    for k in range(count):
        x, g, v = (c[2 + part * count + k] for part in range(3))
        slope = elementwise(lambda w, d: w * const(norm, w.dtype) + d, x, g)

        def speed(a, d):
            share = te.select(step() > 0, const(beta, d.dtype), const(1, d.dtype))
            return a * const(alpha, d.dtype) + d * share

        speeds.append(elementwise(speed, v, slope))
        if nesterov:
            moved.append(elementwise(lambda w, d, a: w - rate() * (d + const(alpha, w.dtype) * a), x, slope, speeds[-1]))
        else:
            moved.append(elementwise(lambda w, a: w - rate() * a, x, speeds[-1]))
    return moved + speeds


OPERATORS = {
    "Adagrad": adagrad,
    "Adam": adam,
    "Momentum": momentum,
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
}
