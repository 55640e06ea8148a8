"""Labels of operations, for those who look for them."""

import contextlib
import contextvars
import json

from .. import _core
from .._core import Tensor
from ..errors import ArgumentError, ExprError

__all__ = ["tag_scope"]

_current = contextvars.ContextVar("tensorwright_tag", default="")


class _Scope(contextlib.ContextDecorator):
    def __init__(self, tag):
        self._tag = tag

    def __enter__(self):
        if _current.get():
            raise ExprError(f"tag_scope: a scope must not stand inside another, as {self._tag!r} does inside {_current.get()!r}")
        self._token = _current.set(self._tag)
        return self

    def __exit__(self, *exc):
        _current.reset(self._token)


def tag_scope(tag):
    """What is declared inside has this tag: ``with te.tag_scope("conv"): ...``, or above a function, ``@te.tag_scope("conv")``.

    Tags are labels of operations, ``C.op.tag``, and change nothing. ``tag=`` of ``te.compute``, ``te.scan`` and ``te.extern`` gives one
    of them a tag.
    Raises: ExprError for a scope inside another, and for ``tag=`` inside of one; ArgumentError if tag is no string.

    >>> with te.tag_scope("double"):
    ...     D = te.compute((4,), lambda i: A[i, 0] * 2, name="D")
    >>> D.op.tag
    'double'
    """
    return _Scope(_word("tag_scope", tag))


def _word(call, tag):
    if not isinstance(tag, str):
        raise ArgumentError(f"{call}: tag must be a string, not {tag!r}")
    return tag


def _name_of(value):
    if isinstance(value, Tensor):
        return value.name
    raise TypeError


def annotated(call, made, tag, attrs):
    """What a call of te has made, a tensor or several, with its labels."""
    scope = _current.get()
    if scope and _word(call, tag):
        raise ExprError(f"{call}: tag must be left out inside of tag_scope({scope!r})")
    tag = scope or _word(call, tag)
    if tag or attrs:
        try:
            text = json.dumps(dict(attrs), default=_name_of) if attrs else ""
        except (TypeError, ValueError):
            raise ArgumentError(f"{call}: attrs must be a dict of numbers, strings, bools, None, tensors or lists of them, not {attrs!r}") from None
        _core._annotate((made[0] if isinstance(made, (tuple, list)) else made).op, tag, text)
    return made
