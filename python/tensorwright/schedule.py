"""Schedules: how a tensor expression is computed, as Steps on its loops.

>>> import tensorwright as tw
>>> from tensorwright import te
>>> A = te.placeholder((64, 64), name="A")
>>> B = te.compute((64, 64), lambda i, j: A[i, j] * 2, name="B")
>>> s = te.create_schedule(B)
>>> i, j = s[B].op.axis
>>> io, ii = s[B].split(i, factor=16)
>>> s[B].vectorize(j)
>>> print(s)  # doctest: +NORMALIZE_WHITESPACE
A: placeholder float32[64, 64]
B: output float32[64, 64]
  # i = i.o*16 + i.i
  for i.o in 0..4
    for i.i in 0..16
      vectorized j in 0..64
        B[i, j] = f(A)
"""

from __future__ import annotations

import json
import operator

from . import _core
from ._location import user_line
from .errors import ParseError
from .target import as_target

__all__ = ["Axis", "Schedule", "Stage", "Step", "create_schedule"]


class Axis:
    """A loop of a stage, as ``split``, ``fuse`` and ``tile`` return it: ``name``, ``stage``, ``extent``, ``reduction``."""

    __slots__ = ("_facts", "stage")

    def __init__(self, schedule, stage, name):
        self._facts = schedule._axis_facts(stage, name)
        self.stage = stage

    name = property(lambda self: self._facts.name)
    extent = property(lambda self: self._facts.extent)
    reduction = property(lambda self: self._facts.reduction)

    def __repr__(self):
        kind = "reduction over " if self.reduction else ""
        return f"Axis({self.stage}: {self.name}, {kind}0..{self.extent})"


class Step(list):
    """One Step as it is stored: its name, then its fields. ``str(step)`` shows it as a call."""

    def __init__(self, fields, text):
        super().__init__(fields)
        self._text = text

    def __str__(self):
        return self._text


def _refuse(step, rule):
    _core._refuse_step(step, rule, user_line())


def _factor(step, field, value):
    if value is None or isinstance(value, _core.Factor):
        return value
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
            if -(2**63) <= number < 2**63:
                return _core.Factor(number)
        except TypeError:
            pass
    return _refuse(step, f"{field} must be a positive integer, not {value!r}")


def _word(step, field, value):
    return value if isinstance(value, str) else _refuse(step, f"{field} must be a string, not {value!r}")


class Stage:
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
    def leaf_iter_vars(self):
        """The loops as they now stand, from the outside in.

        >>> s = te.create_schedule(B)
        >>> [axis.name for axis in s[B].leaf_iter_vars]
        ['i', 'j']
        """
        return [self._axis(name) for name in self._schedule._leaf_names(self.name)]

    def _axis(self, name):
        return Axis(self._schedule, self.name, name)

    def _name_of(self, step, axis):
        if isinstance(axis, str):
            return axis
        if isinstance(axis, Axis):
            return axis.name if axis.stage == self.name else f"{axis.name} of stage {axis.stage}"
        if isinstance(axis, _core.IterVar):
            return self._schedule._axis_named(self.name, axis)
        return _refuse(step, f"axis must be an axis of stage {self.name}, not {axis!r}")

    def split(self, axis, factor=None, nparts=None, *, tail="auto"):
        """Split a loop in two: ``axis`` becomes ``outer`` (extent ceil(n / factor)) and ``inner`` (extent factor).

        Before ``for i in range(n)``; after ``for io in range(ceil(n / f)): for ii in range(f)`` with ``i = io * f + ii``.

        Parameters: axis, a loop of this stage; exactly one of factor (the extent of the inner loop) or nparts (that of the
        outer one), a positive int; tail, what happens to the values past n when the sizes don't divide, one of "auto", "guard",
        "mask", "peel", "shift_inward" (see docs/schedule.md#tails).
        Returns: (outer, inner).
        Raises: ScheduleError if axis is not a loop of this stage or is annotated. Whether the tail is legal depends on the
        whole nest: ``s.check()`` and lowering judge it.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, factor=16, tail="mask")
        >>> io.extent, ii.name
        (4, 'i.i')
        """
        name = self._name_of("split", axis)
        sizes = _factor("split", "factor", factor), _factor("split", "nparts", nparts)
        self._schedule._split(self.name, name, *sizes, _word("split", "tail", tail), user_line())
        return self._axis(name + ".o"), self._axis(name + ".i")

    def tile(self, x, y, x_factor, y_factor, *, tail="auto"):
        """Split two loops and put the inner ones inside: x, y become x.o, y.o, x.i, y.i.

        Parameters: x and y, loops of this stage; x_factor and y_factor, the extents of the inner loops; tail as in split.
        Returns: (x_outer, y_outer, x_inner, y_inner).
        Raises: ScheduleError as split does.

        >>> s = te.create_schedule(B)
        >>> [axis.name for axis in s[B].tile(i, j, 4, 16)]
        ['i.o', 'j.o', 'i.i', 'j.i']
        """
        x, y = self._name_of("tile", x), self._name_of("tile", y)
        factors = _factor("tile", "x_factor", x_factor), _factor("tile", "y_factor", y_factor)
        for field, factor in zip(("x_factor", "y_factor"), factors):
            if factor is None:
                _refuse("tile", f"{field} must be a positive integer, not None")
        self._schedule._tile(self.name, x, y, *factors, _word("tile", "tail", tail), user_line())
        return tuple(self._axis(name) for name in (x + ".o", y + ".o", x + ".i", y + ".i"))

    def fuse(self, *axes):
        """Make one loop of several that stand directly inside each other, given from the outside in.

        Returns: the fused axis, named after its parts.
        Raises: ScheduleError if they are not adjacent, are annotated, or mix data and reduction axes.

        >>> s = te.create_schedule(B)
        >>> s[B].fuse(i, j)
        Axis(B: i*j, 0..4096)
        """
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = axes[0]
        names = [self._name_of("fuse", axis) for axis in axes]
        self._schedule._fuse(self.name, names, user_line())
        return self._axis("*".join(names))

    def reorder(self, *axes):
        """Put the named loops in the order given; they take each other's places and the other loops stay.

        Raises: ScheduleError if one of them is not a loop of this stage, or is there twice.

        >>> s = te.create_schedule(B)
        >>> s[B].reorder(j, i)
        >>> [axis.name for axis in s[B].leaf_iter_vars]
        ['j', 'i']
        """
        self._schedule._reorder(self.name, [self._name_of("reorder", axis) for axis in axes], user_line())

    def vectorize(self, axis):
        """Compute all values of a loop at once, in vector lanes. Data axes only, at most 1024 iterations (TW_MAX_LANES).

        Serial and unrolled loops may stand inside it.

        >>> s = te.create_schedule(B)
        >>> s[B].vectorize(j)
        """
        self._schedule._vectorize(self.name, self._name_of("vectorize", axis), user_line())

    def unroll(self, axis):
        """Repeat the body of a loop in the code. The unrolled loops of a stage may make 4096 copies together (TW_MAX_UNROLL).

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, 4)
        >>> s[B].unroll(ii)
        """
        self._schedule._unroll(self.name, self._name_of("unroll", axis), user_line())

    def parallel(self, axis):
        """Spread the iterations of a loop over the threads. Data axes only; what is computed inside is private to an iteration.

        >>> s = te.create_schedule(B)
        >>> s[B].parallel(i)
        """
        self._schedule._parallel(self.name, self._name_of("parallel", axis), user_line())

    def compute_at(self, parent, scope):
        """Compute this stage inside a loop of another one, each time only the region that is read there.

        Parameters: parent, a stage (``s[C]``, or C itself); scope, a loop of it that encloses everything that reads this stage.
        Raises: ScheduleError if scope is not a loop of parent, or this stage is an output. Whether the loop encloses all
        readers depends on the whole nest: ``s.check()`` and lowering judge it.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_at(s[C], s[C].op.axis[0])
        >>> s.check()
        """
        if not isinstance(parent, Stage):
            parent = self._schedule[parent]
        self._schedule._compute_at(self.name, parent.name, parent._name_of("compute_at", scope), user_line())

    def compute_root(self):
        """Compute this stage whole, before everything that reads it: undoes compute_at and compute_inline.

        >>> s = te.create_schedule(B)
        >>> s[B].compute_root()
        """
        self._schedule._compute_root(self.name, user_line())

    def compute_inline(self):
        """Put the definition of this stage in the place of every read of it. Not for reductions and outputs.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_inline()
        """
        self._schedule._compute_inline(self.name, user_line())

    def set_scope(self, scope):
        """Where the values of this stage live: "local" (registers or stack of one thread) or "global" (memory).

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].set_scope("global")
        """
        self._schedule._set_scope(self.name, _word("set_scope", "scope", scope), user_line())

    def pragma(self, axis, key, value=None):
        """Attach a hint to a loop: "auto_unroll_max_step" (unroll the loops at and inside it while that makes at most so many
        statements) or "unroll_explicit" (0: leave that unrolling to the code generator).

        Raises: ScheduleError for other keys.

        >>> s = te.create_schedule(B)
        >>> s[B].pragma(i, "auto_unroll_max_step", 16)
        """
        value = 1 if value is None else _factor("pragma", "value", int(value) if isinstance(value, bool) else value).value
        self._schedule._pragma(self.name, self._name_of("pragma", axis), _word("pragma", "key", key), value, user_line())

    def __repr__(self):
        return f"Stage({self.name})"


class Schedule(_core.Schedule):
    """A tensor expression with the Steps applied so far. ``s[C]`` is a stage, ``print(s)`` shows the loops as they stand.

    A schedule is a value: ``s.copy()`` is independent of s, and a schedule that was built can be scheduled further.
    """

    def __getitem__(self, tensor):
        """The stage of a tensor, an operation, or of that name."""
        if isinstance(tensor, Stage):
            return tensor
        if isinstance(tensor, str):
            if tensor not in self._stage_names():
                _refuse("s[...]", f"stage must be one of {', '.join(self._stage_names())}, not {tensor}")
            return Stage(self, tensor)
        if not isinstance(tensor, (_core.Tensor, _core.Operation)):
            _refuse("s[...]", f"a stage is named by a tensor or an operation, not {tensor!r}")
        return Stage(self, self._stage_of(tensor))

    @property
    def stages(self):
        """All stages, producers first."""
        return [Stage(self, name) for name in self._stage_names()]

    def cache_read(self, tensor, scope, readers):
        """Copy a tensor to a new stage that the named readers read instead.

        Parameters: tensor; scope, "local" or "global"; readers, the tensors (or operations, or stages) that shall read the copy.
        Returns: the copy, a tensor for ``s[...]``. compute_at then packs just the block that a reader's loop needs.
        Raises: ScheduleError if a reader doesn't read the tensor.

        >>> s = te.create_schedule(B)
        >>> AA = s.cache_read(A, "local", [B])
        >>> s[AA].compute_at(s[B], s[B].op.axis[0])
        """
        readers = readers if isinstance(readers, (list, tuple)) else [readers]
        scope = _word("cache_read", "scope", scope)
        name = self._cache_read(self[tensor].name, scope, [self[reader].name for reader in readers], user_line())
        return self._op(name).output(0)

    def cache_write(self, tensor, scope):
        """Compute a tensor in a new stage, of which the tensor becomes a copy. Comes before other Steps on the tensor.

        Returns: the computing stage's tensor, for ``s[...]``. The axes of ``tensor.op`` stay valid: data axes in both stages,
        reduction axes in the new one.

        >>> s = te.create_schedule(B)
        >>> BB = s.cache_write(B, "local")
        >>> s[BB].compute_at(s[B], s[B].op.axis[0])
        """
        if isinstance(tensor, (list, tuple)) and len(tensor) == 1:
            tensor = tensor[0]
        name = self._cache_write(self[tensor].name, _word("cache_write", "scope", scope), user_line())
        return self._op(name).output(0)

    @property
    def steps(self):
        """The Steps as data, which ``Schedule.from_steps`` and JSON take back.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, 16)
        >>> s.steps
        [['split', 'B', 'i', 16, None, 'auto']]
        >>> print(s.steps[0])
        B.split(i, factor=16, tail=auto)
        """
        return [Step(fields, text) for fields, text in zip(json.loads(self._steps_json()), self._step_texts())]

    @classmethod
    def from_steps(cls, outputs, steps):
        """The schedule that these Steps make.

        Parameters: outputs, as for create_schedule; steps, what ``s.steps`` gave, or its JSON text.
        Raises: ParseError for what isn't Steps, ScheduleError for a Step that is refused.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, 16)
        >>> tw.Schedule.from_steps(B, s.steps).steps == s.steps
        True
        """
        try:
            text = steps if isinstance(steps, str) else json.dumps(steps)
        except (TypeError, ValueError) as e:
            raise ParseError(f"steps: expected what s.steps gives, or its JSON text: {e}") from None
        return cls(cls._from_json(_tensors(outputs), text))

    def check(self):
        """Judge the whole nest: placement, tails, what stands inside vectorized loops. Raises ScheduleError; lowering checks too."""
        self._check()

    def explain(self, target=None):
        """What the schedule means for a machine: for each loop nest a table of its loops, then the bytes that move between the
        levels of memory, the time that each level would take alone, and the one that takes longest.

        Per loop: its kind and extent; the lanes of a vectorized one; the bytes (of cache lines) that one run of it touches, the
        smallest cache that holds them, and how often one run uses a byte that it touches. It is estimated from the loop nest
        without lowering: good for seeing why a schedule is slow, not for predicting its time. Symbolic extents count as 1024.

        Parameters: target, as for ``tw.build``; caches and clock are this machine's, threads ``tw.num_threads()``.
        Returns: an object that prints as that page; ``.nests`` has the numbers (``.loops``, ``.moved``, ``.seconds``, ``.bound``).

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, factor=16)
        >>> nest = s.explain().nests[0]
        >>> [(loop.name, loop.extent, loop.bytes) for loop in nest.loops]
        [('i.o', 4, 32768.0), ('i.i', 16, 8192.0), ('j', 64, 512.0)]
        >>> nest.headline, nest.bound in nest.seconds
        ('B: output float32[64, 64]', True)
        """
        return _core._explain(self, as_target(target))

    def copy(self):
        """An independent copy."""
        return Schedule(self)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __repr__(self):
        return str(self)


def _tensors(ops):
    items = ops if isinstance(ops, (list, tuple)) else [ops]
    tensors = []
    for item in items:
        if isinstance(item, _core.Operation):
            item = item.output(0)
        if not isinstance(item, _core.Tensor):
            _refuse("create_schedule", f"outputs must be tensors or operations, not {item!r}")
        tensors.append(item)
    return tensors


def create_schedule(ops):
    """A schedule for one or several outputs, every stage at root with the loops of its definition.

    Parameters: ops, a tensor, an operation, or a list of them.

    >>> s = te.create_schedule([B])
    >>> [stage.name for stage in s.stages]
    ['A', 'B']
    """
    return Schedule(_tensors(ops))
