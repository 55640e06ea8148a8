"""Reductions over axes, and running ones along an axis."""

import tensorwright as tw
from tensorwright import te

from .forms import axes_of, axis_of, cast, elementwise, extents

ops = tw.ops


def reduction(operator):
    """``operator(x, axis=, keepdims=)`` over the axes that the node names."""

    def mapped(c):
        rank = len(extents(c[0]))
        axes = c.value(1, c.attribute("axes"))
        axes = [] if axes is None else axes_of(list(axes), rank)
        if not axes:
            if c.attribute("noop_with_empty_axes", 0):
                return elementwise(lambda x: x, c[0])
            axes = list(range(rank))
        return operator(c[0], axis=tuple(axes), keepdims=bool(c.attribute("keepdims", 1)))

    return mapped


def total(x, **options):
    return ops.sum(x, dtype=x.dtype, **options)


def after(function, operator):
    return lambda x, **options: elementwise(function, operator(x, **options))


def before(function, operator):
    return lambda x, **options: operator(elementwise(function, x), **options)


def in_floats(operator):
    """Of integers in float64, cut off, as NumPy's result is when it is stored."""

    def mapped(x, **options):
        if x.dtype.startswith(("float", "bfloat")):
            return operator(x, **options)
        return cast(operator(cast(x, "float64"), **options), x.dtype)

    return mapped


def of_bools_too(operator):
    def mapped(x, **options):
        if x.dtype != "bool":
            return operator(x, **options)
        return cast(operator(cast(x, "uint8"), **options), "bool")

    return mapped


def index(operator):
    def mapped(c):
        x, rank = c[0], len(extents(c[0]))
        axis = axis_of(c.attribute("axis", 0), rank)
        keep = bool(c.attribute("keepdims", 1))
        if not c.attribute("select_last_index", 0):
            return operator(x, axis, keepdims=keep, dtype="int64")
        n = extents(x)[axis]
        reverse = te.compute(extents(x), lambda *i: x(*i[:axis], n - 1 - i[axis], *i[axis + 1 :]))
        return elementwise(lambda at: te.const(n - 1, "int64") - at, operator(reverse, axis, keepdims=keep, dtype="int64"))

    return mapped


def running(operator):
    def mapped(c):
        return operator(
            c[0], int(c.value(1)), exclusive=bool(c.attribute("exclusive", 0)), reverse=bool(c.attribute("reverse", 0)), dtype=c[0].dtype
        )

    return mapped


def square(x):
    return x * x


OPERATORS = {
    "ArgMax": index(ops.argmax),
    "ArgMin": index(ops.argmin),
    "CumProd": running(ops.cumprod),
    "CumSum": running(ops.cumsum),
    "ReduceL1": reduction(before(te.abs, total)),
    "ReduceL2": reduction(in_floats(after(te.sqrt, before(square, total)))),
    "ReduceLogSum": reduction(in_floats(after(te.log, total))),
    "ReduceLogSumExp": reduction(in_floats(ops.logsumexp)),
    "ReduceMax": reduction(of_bools_too(ops.max)),
    "ReduceMean": reduction(in_floats(ops.mean)),
    "ReduceMin": reduction(of_bools_too(ops.min)),
    "ReduceProd": reduction(lambda x, **options: ops.prod(x, dtype=x.dtype, **options)),
    "ReduceSum": reduction(total),
    "ReduceSumSquare": reduction(before(square, total)),
}
