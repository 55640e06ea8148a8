"""The loops of a stage, and how they came from those of its definition."""

from __future__ import annotations

from typing import NamedTuple

from ._core import Expr, IterVar, Var
from ._missing import say_missing
from .errors import ExprError

__all__ = ["Axis", "Fuse", "LoopAttrs", "OneThread", "Singleton", "Split", "ThreadAxis"]


_NO_VALUE = "a loop has no value where a tensor is defined; C.op.axis are the axes of a definition"


class Axis:
    """A loop of a stage, as ``split``, ``fuse`` and ``tile`` return it: ``name``, ``stage``, ``extent``, ``reduction``, ``var``.

    An axis of the definition, ``C.op.axis[0]``, is equal to the loop over it.
    """

    __slots__ = ("_facts", "stage")
    __tw_loop__ = True  # for the operators of expressions: no value in a definition

    def __init__(self, schedule, stage, name):
        self._facts = schedule._axis_facts(stage, name)
        self.stage = stage

    name = property(lambda self: self._facts.name)
    extent = property(lambda self: self._facts.extent)
    reduction = property(lambda self: self._facts.reduction)
    var = property(lambda self: self._facts.var, doc="The variable of the loop; of an axis of the definition, the definition's.")

    def __eq__(self, other):
        if isinstance(other, Axis):
            return self._facts.key == other._facts.key
        return self._facts.key == hash(other) if isinstance(other, IterVar) else NotImplemented

    def __hash__(self):
        return hash(self._facts.key)

    def __repr__(self):
        kind = "reduction over " if self.reduction else ""
        return f"Axis({self.stage}: {self.name}, {kind}0..{self.extent})"


def _no_value(name):
    def refuse(self, *others):
        raise ExprError(f"an operand must be an expression or a number, not the loop {self.name} of stage {self.stage}", _NO_VALUE)

    refuse.__name__ = name
    return refuse


for _name in "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow lt le gt ge and or neg".split():
    setattr(Axis, f"__{_name}__", _no_value(f"__{_name}__"))


class ThreadAxis:
    """An index of a device, as ``te.thread_axis`` makes it: ``thread_tag``, ``dom`` and ``name``."""

    __slots__ = ("dom", "name", "thread_tag")

    def __init__(self, dom, tag, name):
        self.dom, self.thread_tag, self.name = dom, tag, name

    @property
    def extent(self):
        """How many there are; None where the loop says so that is bound to it."""
        return None if self.dom is None else self.dom[1]

    @property
    def var(self):
        """The index, to say of which thread ``set_store_predicate`` speaks: ``thread_x.var.equal(0)``."""
        return self

    def equal(self, value):
        """Whether it is that thread."""
        return OneThread(self, value)

    def __repr__(self):
        return f"thread_axis({self.thread_tag})" if self.dom is None else f"thread_axis({self.thread_tag}: 0..{self.extent})"


class OneThread(NamedTuple):
    """The condition that a thread is number ``value`` along ``thread``."""

    thread: ThreadAxis
    value: int

    def __repr__(self):
        return f"{self.thread.thread_tag} == {self.value}"


class LoopAttrs:
    """What Steps said of a loop: ``iter_type``, ``tensor_intrin``, ``pragma_keys``, ``pragma_values``."""

    def __init__(self, axis, pragmas):
        self.iter_type = axis._facts.annotation
        self.tensor_intrin = axis._facts.intrin
        self.pragma_keys = [key for _, key, _ in pragmas]
        self.pragma_values = [value for _, _, value in pragmas]


class Split(NamedTuple):
    """``parent = outer * extent of inner + inner``: what ``split`` made; one of factor and nparts is None."""

    parent: Axis
    outer: Axis
    inner: Axis
    factor: int | Expr | Var | None
    nparts: int | Expr | Var | None


class Fuse(NamedTuple):
    """``fused = outer * extent of inner + inner``: what ``fuse`` made of two loops; of more, one after the other."""

    outer: Axis
    inner: Axis
    fused: Axis


class Singleton(NamedTuple):
    """The loop of one iteration that ``fuse`` of no loop made."""

    axis: Axis


say_missing(Axis, {"thread_tag": "s[C].iter_var_attrs says which index of a device a loop is bound to", "value": _NO_VALUE,
                   "astype": _NO_VALUE, "dtype": _NO_VALUE})
