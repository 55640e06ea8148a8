"""Conditions, and values that depend on them."""

from .. import _core

__all__ = ["all", "any", "if_then_else", "likely", "select"]


def if_then_else(cond, t, f, span=None):
    """``t`` where cond holds, else ``f``. Nothing is read for the value that is not taken, so cond may guard a read.

    >>> te.compute((6,), lambda i: te.if_then_else(i < 4, A[i, 0], 0)).op.body[0]
    select(i < 4, A[i, 0], 0.0)
    """
    return _core.if_then_else(cond, t, f)


def likely(cond, span=None):
    """``cond``: TVM's hint that it mostly holds, which nothing here depends on.

    >>> te.compute((6,), lambda i: te.if_then_else(te.likely(i < 4), A[i, 0], 0)).op.body[0]
    select(i < 4, A[i, 0], 0.0)
    """
    return cond


def select(cond, true_value, false_value, span=None):
    """The same as if_then_else.

    >>> te.compute((4,), lambda i: te.select(A[i, 0] > 0, A[i, 0], 0)).op.body[0]
    select(A[i, 0] > 0.0, A[i, 0], 0.0)
    """
    return _core.select(cond, true_value, false_value)


def all(*args, span=None):
    """Whether all conditions hold.

    >>> te.compute((6,), lambda i: te.if_then_else(te.all(0 < i, i < 4), A[i, 0], 0)).op.body[0]
    select(i > 0 and i < 4, A[i, 0], 0.0)
    """
    return _core.all(*args)


def any(*args, span=None):
    """Whether at least one condition holds.

    >>> te.compute((4,), lambda i: te.if_then_else(te.any(i < 1, i > 2), A[i, 0], 0)).op.body[0]
    select(i < 1 or i > 2, A[i, 0], 0.0)
    """
    return _core.any(*args)
