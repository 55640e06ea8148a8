"""Reductions over axes; the same names combine several values, as in tvm."""

import inspect

from .. import _core
from .._core import IterVar
from ..errors import ExprError

__all__ = ["comm_reducer", "max", "min", "prod", "sum"]

_ABSENT = object()


def _axes(op, axis):
    """The reduce axes that ``axis`` names; None where it is another value to combine."""
    if isinstance(axis, IterVar):
        axis = [axis]
    if isinstance(axis, str):
        raise ExprError(f"{op}: axis must be a reduce axis, not {axis!r}", "k = te.reduce_axis((0, n)) makes one")
    if not isinstance(axis, (list, tuple)):
        return None
    for a in axis:
        if not isinstance(a, IterVar):
            raise ExprError(f"{op}: axis must be a reduce axis, not {a!r}", "k = te.reduce_axis((0, n)) makes one")
    return list(axis)


def _reduce(op, combine, expr, axis, where, init, args):
    axes = _axes(op, axis)
    if axes is not None:
        return _core.reduce(op, expr, axes, where, init)
    operands = [x for x in (axis, where, init) if x is not None and x is not _ABSENT] + list(args)
    if axis is _ABSENT or not operands:
        raise ExprError(f"{op}: axis must name a reduce axis", f"k = te.reduce_axis((0, n)); te.{op}(..., axis=k)")
    for operand in operands:
        expr = combine(expr, operand)
    return expr


def sum(expr, axis=_ABSENT, where=None, init=None, *args):
    """The sum over reduce axes: ``te.sum(A[i, k], axis=k)``. Of several values, ``te.sum(a, b)``, their sum.

    Parameters: expr; axis, one reduce axis or a list; where, a condition: points where it is false do not count, and read
    nothing; init, an expression of the data axes that stands in the place of 0. Over nothing the sum is init, or 0.
    The result has expr's dtype. A reduction is the whole value of a compute.
    Raises: ExprError for axes that are none, and an init that depends on them; DTypeError for bool, and an init of another dtype.

    >>> k = te.reduce_axis((0, 8), name="k")
    >>> te.compute((4,), lambda i: te.sum(A[i, k], axis=k)).op.body[0]
    sum(k in 0..8: A[i, k])
    """
    return _reduce("sum", _core.add, expr, axis, where, init, args)


def prod(expr, axis=_ABSENT, where=None, init=None, *args):
    """The product over reduce axes, or of several values.

    >>> k = te.reduce_axis((0, 8), name="k")
    >>> te.compute((4,), lambda i: te.prod(A[i, k], axis=k)).op.body[0]
    prod(k in 0..8: A[i, k])
    """
    return _reduce("prod", _core.multiply, expr, axis, where, init, args)


def max(expr, axis=_ABSENT, where=None, init=None, *args):
    """The largest value over reduce axes; of several values, ``te.max(a, b)``, the largest of them.

    Over nothing it is -inf for floats and the dtype's smallest value for integers. ``max(a, b)`` is ``a > b ? a : b``.

    >>> k = te.reduce_axis((0, 8), name="k")
    >>> te.compute((4,), lambda i: te.max(A[i, k], axis=k)).op.body[0]
    max(k in 0..8: A[i, k])
    >>> te.compute((4,), lambda i: te.max(A[i, 0], 0)).op.body[0]
    max(A[i, 0], 0.0)
    """
    return _reduce("max", _core.max2, expr, axis, where, init, args)


def min(expr, axis=_ABSENT, where=None, init=None, *args):
    """The smallest value over reduce axes; of several values, ``te.min(a, b)``, the smallest of them.

    >>> k = te.reduce_axis((0, 8), name="k")
    >>> te.compute((4,), lambda i: te.min(A[i, k], axis=k)).op.body[0]
    min(k in 0..8: A[i, k])
    """
    return _reduce("min", _core.min2, expr, axis, where, init, args)


def comm_reducer(fcombine, fidentity, name="reduce"):
    """A reducer by a function that is associative and commutative, of single values or of tuples.

    Parameters: fcombine(x, y), the combination of two values, or of two tuples as a tuple; fidentity(*dtypes), the value, or
    tuple, that changes nothing, for example ``te.const(0, dtype)``; name, for messages.
    Returns: ``r(expr, axis, where=None, init=None)``, as te.sum. A tuple of expressions is reduced together; its results are
    the values of one te.compute, which then gives a tuple of tensors. Two or more values, ``r(a, b)``, are combined at once.
    Raises: ExprError if fcombine or fidentity return another number of values, or use what is not in their arguments;
    DTypeError if they return other dtypes (numbers take the dtype).

    >>> argmax = te.comm_reducer(
    ...     lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
    ...     lambda index, value: (te.const(-1, index), te.min_value(value)), name="argmax")
    >>> k = te.reduce_axis((0, 8), name="k")
    >>> where, largest = te.compute((4,), lambda i: argmax((k.var, A[i, k]), axis=k), name="T")
    >>> where.dtype, largest.dtype, largest.name
    ('int32', 'float32', 'T.v1')
    """
    for what, function in (("fcombine", fcombine), ("fidentity", fidentity)):
        if not callable(function):
            raise ExprError(f"{name}: {what} must be a function, not {type(function).__name__}")
    names = (name, _parameters(name, fcombine))

    def reducer(expr, axis=_ABSENT, where=None, init=None, *args):
        axes = _axes(name, axis)
        if axes is not None:
            return _core.reduce_custom(names, fcombine, fidentity, expr, axes, where, init)
        operands = [x for x in (axis, where, init) if x is not None and x is not _ABSENT] + list(args)
        if axis is _ABSENT or not operands:
            raise ExprError(f"{name}: axis must name a reduce axis", f"k = te.reduce_axis((0, n)); {name}(..., axis=k)")
        for operand in operands:
            expr = fcombine(expr, operand)
        return expr

    return reducer


def _parameters(name, fcombine):
    try:
        parameters = inspect.signature(fcombine).parameters.values()
    except (TypeError, ValueError):  # a callable written in C
        return []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(names) == 2:
        return names
    if rest and len(names) < 2:
        return []
    raise ExprError(f"{name}: fcombine must take two arguments, not {len(names)}", f"its parameters: {', '.join(names) or 'none'}")
