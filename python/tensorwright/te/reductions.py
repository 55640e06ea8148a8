"""Reductions over axes; the same names combine several values, as in tvm."""

from .. import _core
from .._core import IterVar
from ..errors import ExprError

__all__ = ["max", "min", "prod", "sum"]

_ABSENT = object()


def _reduce(op, combine, expr, axis, where, init, args):
    if isinstance(axis, IterVar):
        axis = [axis]
    if isinstance(axis, str):
        raise ExprError(f"{op}: axis must be a reduce axis, not {axis!r}", "k = te.reduce_axis((0, n)) makes one")
    if isinstance(axis, (list, tuple)):
        if init is not None:
            raise ExprError(f"{op}: init is not supported", f"combine it in a compute of its own: C(*i) {op} init")
        for a in axis:
            if not isinstance(a, IterVar):
                raise ExprError(f"{op}: axis must be a reduce axis, not {a!r}", "k = te.reduce_axis((0, n)) makes one")
        return _core.reduce(op, expr, list(axis), where)
    operands = [x for x in (axis, where, init) if x is not None and x is not _ABSENT] + list(args)
    if axis is _ABSENT or not operands:
        raise ExprError(f"{op}: axis must name a reduce axis", f"k = te.reduce_axis((0, n)); te.{op}(..., axis=k)")
    for operand in operands:
        expr = combine(expr, operand)
    return expr


def sum(expr, axis=_ABSENT, where=None, init=None, *args):
    """The sum over reduce axes: ``te.sum(A[i, k], axis=k)``. Of several values, ``te.sum(a, b)``, their sum.

    Parameters: expr; axis, one reduce axis or a list; where, a condition: values where it is false do not count.
    The result has expr's dtype. A reduction is the whole value of a compute.

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
