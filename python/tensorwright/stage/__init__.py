"""The loops of one tensor in a schedule: what ``s[C]`` is. A file here has the Steps of one kind."""

from __future__ import annotations

import inspect

from .. import _core
from .._missing import say_missing
from ..loops import Axis, Fuse, LoopAttrs, Singleton, Split
from .arguments import refuse
from .intrinsics import IntrinsicSteps
from .launches import LaunchSteps
from .loops import LoopSteps
from .memory import MemorySteps
from .placement import PlacementSteps
from .predicates import PredicateSteps

__all__ = ["Stage"]


def _methods_of_its_own(cls):
    """A wrong call, help and pickle name the class that users know, not the one that a method was written in."""
    for kind in cls.__bases__:
        for name, method in vars(kind).items():
            if inspect.isfunction(method):
                method.__module__, method.__qualname__ = cls.__module__, f"{cls.__name__}.{name}"
    return cls


@_methods_of_its_own
class Stage(LoopSteps, PlacementSteps, MemorySteps, PredicateSteps, IntrinsicSteps, LaunchSteps):
    """The loops of one tensor in a schedule: ``s[C]``. Every method appends a Step to the schedule, or raises ScheduleError and
    leaves the schedule as it was."""

    __slots__ = ("_schedule", "name")

    def __init__(self, schedule, name):
        self._schedule = schedule
        self.name = name

    @property
    def op(self):
        """The operation of this stage: ``s[C].op.axis`` and ``s[C].op.reduce_axis`` are its axes."""
        return self._schedule._op(self.name)

    @property
    def group(self):
        """The innermost ``s.create_group`` in which this stage is; inside of a scan else the scan's own; None outside of all."""
        return self._schedule._group_of(self.name) or self._schedule._scan_group(self.name)

    @property
    def leaf_iter_vars(self):
        """The loops as they now stand, from the outside in.

        >>> s = te.create_schedule(B)
        >>> [axis.name for axis in s[B].leaf_iter_vars]
        ['i', 'j']
        """
        return [self._axis(name) for name in self._schedule._leaf_names(self.name)]

    @property
    def all_iter_vars(self):
        """All axes: those of the definition, and those that Steps made of them."""
        return [self._axis(name) for name in self._schedule._axis_names(self.name)]

    @property
    def relations(self):
        """How the loops came from the axes of the definition: a ``Split`` or a ``Fuse`` for each time, in their order, then a
        ``Singleton`` for each fuse of no loop.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, factor=16)
        >>> made = s[B].relations[0]
        >>> made.parent == i, made.outer == io, made.factor
        (True, True, 16)
        """
        made = []
        for first, second, third, factor, nparts in self._schedule._relations(self.name):
            axes = self._axis(first), self._axis(second), self._axis(third)
            made.append(Fuse(*axes) if factor is None and nparts is None else Split(*axes, factor, nparts))
        derived = {axis for relation in made for axis in ((relation.fused,) if isinstance(relation, Fuse) else relation[1:3])}
        defined = [*self.op.axis, *self.op.reduce_axis]
        return made + [Singleton(axis) for axis in self.all_iter_vars if axis not in derived and axis not in defined]

    @property
    def iter_var_attrs(self):
        """What Steps said of each loop: a dict of ``iter_type`` ("serial", "vectorized", "unrolled", "parallel", "tensorized", or the index of a device),
        ``tensor_intrin``, the intrinsic that stands in the loop's place, or None, ``pragma_keys`` and ``pragma_values``."""
        pragmas = self._schedule._pragmas(self.name)
        return {axis: LoopAttrs(axis, [p for p in pragmas if p[0] == axis.name]) for axis in self.leaf_iter_vars}

    @property
    def is_output(self):
        """Whether it is one of the schedule's outputs."""
        return self._schedule._is_output(self.name)

    @property
    def attach_stage(self):
        """The stage inside of whose loops this one is computed, or None."""
        where = self._schedule._attached_at(self.name)
        return Stage(self._schedule, where[0]) if where else None

    @property
    def attach_ivar(self):
        """The loop of ``attach_stage`` inside of which this one is computed, or None."""
        where = self._schedule._attached_at(self.name)
        return Axis(self._schedule, *where) if where else None

    def _axis(self, name):
        return Axis(self._schedule, self.name, name)

    def _name_of(self, step, axis):
        if isinstance(axis, str):
            return axis
        if isinstance(axis, Axis):
            return axis.name if axis.stage == self.name else f"{axis.name} of stage {axis.stage}"
        if isinstance(axis, _core.IterVar):
            return self._schedule._axis_named(self.name, axis)
        return refuse(step, f"axis must be an axis of stage {self.name}, not {axis!r}")

    def __repr__(self):
        return f"Stage({self.name})"

    def __eq__(self, other):
        return self._schedule is other._schedule and self.name == other.name if isinstance(other, Stage) else NotImplemented

    def __hash__(self):
        return hash(self.name)


say_missing(Stage, {
    "attach_type": "attach_stage and attach_ivar say where it is computed; both are None at root, and where it is inlined",
    "scope": "set_scope says where its values live; print(s) shows it",
    "origin_op": "op is its operation, also behind cache_write and rfactor",
})
