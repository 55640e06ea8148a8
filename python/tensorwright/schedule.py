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

import functools
import json

from . import _core
from ._location import user_line
from .errors import ParseError
from .fragments import Accumulator, Fragment, accumulator, fragment
from .group import Group, copied, created
from .loops import Axis, Fuse, OneThread, Singleton, Split, ThreadAxis
from .stage import Stage
from .stage.arguments import integer, refuse, scope_of
from .target import as_target

__all__ = ["Axis", "Fuse", "Group", "OneThread", "Schedule", "Singleton", "Split", "Stage", "Step", "ThreadAxis", "create_schedule"]


class Step(list):
    """One Step as it is stored: its name, then its fields. ``str(step)`` shows it as a call."""

    def __init__(self, fields, text):
        super().__init__(fields)
        self._text = text

    def __str__(self):
        return self._text


class Schedule(_core.Schedule):
    """A tensor expression with the Steps applied so far. ``s[C]`` is a stage, ``print(s)`` shows the loops as they stand.

    A schedule is a value: ``s.copy()`` is independent of s, and a schedule that was built can be scheduled further.
    """

    def __init__(self, given):
        super().__init__(given)
        self._accumulated = set(getattr(given, "_accumulated", ()))  # stages whose sums are in wmma.accumulator
        self._in_whole_parts = set(getattr(given, "_in_whole_parts", ()))  # stages after disable_predication

    def __getitem__(self, tensor):
        """The stage of a tensor, an operation, or of that name."""
        if isinstance(tensor, (Stage, Fragment)):
            owner = tensor._schedule if isinstance(tensor, Stage) else tensor._of._schedule
            if owner is not self:
                refuse("s[...]", f"stage must be one of this schedule, not {tensor.name} of another one: a tensor or a name gives its own")
            return tensor
        if isinstance(tensor, str):
            if tensor not in self._stage_names():
                refuse("s[...]", f"stage must be one of {', '.join(self._stage_names())}, not {tensor}")
            return Stage(self, tensor)
        if not isinstance(tensor, (_core.Tensor, _core.Operation)):
            refuse("s[...]", f"a stage is named by a tensor or an operation, not {tensor!r}")
        return Stage(self, self._stage_of(tensor))

    def _outputs(self, stage):
        op = self._op(stage)
        return op.output(0) if op.num_outputs == 1 else tuple(op.output(i) for i in range(op.num_outputs))

    @property
    def stages(self):
        """All stages, producers first."""
        return [Stage(self, name) for name in self._stage_names()]

    def cache_read(self, tensor, scope, readers, axes=None):
        """Copy a tensor to a new stage that the named readers read instead.

        Before ``for i: C[i] = f(A[i])``; after ``for i: A.local[i] = A[i]; for i: C[i] = f(A.local[i])``.

        Parameters: tensor; scope, "local", "warp", "shared" or "global" (``set_scope``); readers, the tensors (or operations, or stages) that shall read the copy;
        axes, none for those of the tensor, or their numbers in the order that the copy has them in: ``[1, 0]`` transposes it.
        In "wmma.matrix_a" and "wmma.matrix_b" a copy is no stage: TVM's lines about it are taken and say nothing more (docs/cuda.md).
        Returns: the copy, a tensor for ``s[...]``. compute_at then packs just the block that a reader's loop needs. Of a scan whose states
        have different shapes it holds those that the readers read, which must have one.
        Raises: ScheduleError for another scope, without readers, for axes that are not all of the tensor's, or if a reader doesn't read the tensor.

        >>> s = te.create_schedule(B)
        >>> AA = s.cache_read(A, "local", [B])
        >>> s[AA].compute_at(s[B], s[B].op.axis[0])
        """
        readers = [self[reader] for reader in (readers if isinstance(readers, (list, tuple)) else [readers])]
        scope = scope_of("cache_read", scope)
        if isinstance(tensor, Accumulator):
            return tensor.stored_to(scope, readers)
        read_through = fragment(self, tensor, scope, readers)
        if read_through is not None:
            return read_through
        order = [f"ax{axis}" for axis in axes or ()]
        name = self._cache_read(self[tensor].name, scope, [reader.name for reader in readers], order, user_line())
        return self._made_of(self[tensor].name, name)

    def cache_write(self, tensor, scope):
        """Compute a tensor in a new stage, of which the tensor becomes a copy.

        Before ``for i: C[i] = f(A[i])``; after ``for i: C.local[i] = f(A[i]); for i: C[i] = C.local[i]``.

        Parameters: tensor, one that is computed; scope, "local", "warp", "shared" or "global" (``set_scope``). In "wmma.accumulator" the sums are
        no stage: what is said of them, inside of the loop that they are computed in, is said of the tensor (docs/cuda.md).
        Returns: the computing stage's tensor, for ``s[...]``. The axes of ``tensor.op`` stay valid: data axes in both stages,
        reduction axes in the new one.
        Where the tensor's loops have been split, fused or reordered, they become the axes of the new stage, which keeps its values
        in their order (``C.local[jo, i, ji]``), and the tensor's own loops are those of its definition again. An intrinsic that
        stands in their place, of ``tensorize`` or of an operation of tiles, stands in the new stage.
        Raises: ScheduleError for another scope, if the tensor is inlined, a scan or an extern, if its loops are annotated, laid
        out or, inside of a scan, changed already, or a stage is computed inside its reduction.

        >>> s = te.create_schedule(B)
        >>> BB = s.cache_write(B, "local")
        >>> s[BB].compute_at(s[B], s[B].op.axis[0])
        """
        if isinstance(tensor, (list, tuple)) and tensor:
            tensor = tensor[0]
        scope = scope_of("cache_write", scope)
        sums = accumulator(self, tensor, scope)
        if sums is not None:
            return sums
        name = self._cache_write(self[tensor].name, scope, user_line())
        return self._made_of(self[tensor].name, name)

    def rfactor(self, tensor, axis, factor_axis=0):
        """Make one loop of a reduction a data axis of a new stage, over which the tensor then reduces.

        Before ``for k in range(n): B[i] += A[i, k]``; after, with ``k = ko * f + ki`` and axis ki, ``for ko, for ki: if k < n:
        B_rf[ki, i] += A[i, k]`` and ``for ki in range(f): B[i] += B_rf[ki, i]``. The new stage's iterations over ki are
        independent: they can be vector lanes or threads. Reads past n are left out, so lanes there hold the identity. The terms
        are added in another order: this is one of the Steps that reassociate (docs/semantics.md).

        Parameters: tensor, a reduction, of tuples too; axis, one of its reduction loops as they stand; factor_axis, the place of
        the new axis among the dimensions of the new stage, counted from the end where it is negative.
        Returns: the new stage's tensor, or a tuple of tensors, for ``s[...]``. Its axes are ``BF.op.axis``, its reduction is over
        the other reduction loops, ``BF.op.reduce_axis``; loops over data axes of the old stage stay. ``s[B].op.reduce_axis[0]`` is
        what the old stage now reduces over. init counts once, in the old stage.
        Raises: ScheduleError if the tensor is no reduction, axis is none of its reduction loops, factor_axis is no position, or 0
        in the body of a scan (time is the first axis there), a reduction loop is annotated or a stage is computed inside the loops (rfactor comes before both).

        >>> k = te.reduce_axis((0, 64), name="k")
        >>> S = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="S")
        >>> s = te.create_schedule(S)
        >>> ko, ki = s[S].split(k, factor=16)
        >>> SF = s.rfactor(S, ki, factor_axis=-1)
        >>> s[SF].compute_at(s[S], s[S].op.axis[0])
        >>> s[SF].reorder(SF.op.reduce_axis[0], SF.op.axis[1])
        >>> s[SF].vectorize(SF.op.axis[1])
        >>> SF.shape
        (64, 16)
        """
        if isinstance(tensor, (list, tuple)) and tensor:
            tensor = tensor[0]
        stage = self[tensor]
        position = integer("rfactor", "factor_axis", factor_axis)
        made = self._rfactor(stage.name, stage._name_of("rfactor", axis), position, user_line())
        return self._made_of(stage.name, made)

    def hoist(self, tensor, operand=0, scope="global"):
        """Compute a part of a tensor's definition ahead, in a new stage: one that stays the same along some of the axes.

        Before ``for i, j, k: C[i, j] += exp(A[i, k]) * B[k, j]``; after ``for i, k: C.operand0[i, k] = exp(A[i, k])`` and
        ``for i, j, k: C[i, j] += C.operand0[i, k] * B[k, j]``. The exp is computed once for each of its elements, not once for
        each j. What it means stays the same, bit for bit.

        Parameters: tensor, one that is computed; operand, which part: the parts that read memory and do not depend on all axes of
        the tensor, as large as they can be, are counted from 0 as they stand in the definition; scope, "local" or "global".
        Returns: the new stage's tensor, for ``s[...]``. Its axes are those of the tensor, data and reduction axes alike, on which
        the part depends, in the order in which it names them; the tensor keeps its loops.
        Raises: ScheduleError if there is no such part (the message lists them), for a reduction with ``where=``, for a scan, an
        extern, or a stage that depends on the state of a scan, and for one that is inlined, tensorized, prefetching or laid out.
        What is computed under a condition only is no part, nor is a product that is added to something: it would be rounded.

        >>> k = te.reduce_axis((0, 64), name="k")
        >>> S = te.compute((64, 64), lambda i, j: te.sum(te.exp(A[i, k]) * B[k, j], axis=k), name="S")
        >>> s = te.create_schedule(S)
        >>> E = s.hoist(S)
        >>> s[E].vectorize(E.op.axis[1])
        >>> E.shape
        (64, 64)
        """
        if isinstance(tensor, (list, tuple)) and tensor:
            tensor = tensor[0]
        stage = self[tensor]
        made = self._hoist(stage.name, integer("hoist", "operand", operand), scope_of("hoist", scope), user_line())
        return self._made_of(stage.name, made)

    def create_group(self, outputs, inputs, include_inputs=False):
        """The stages on the ways from ``inputs`` to ``outputs``, to be placed together.

        Parameters: outputs and inputs, tensors or lists of them, states of a scan among the inputs; include_inputs, whether the
        inputs belong to it (placeholders never do).
        Returns: a Group; its ``compute_at`` and ``compute_root`` issue one Step for each stage that isn't computed inside another
        of the group. The group is no Step itself. A stage of the group that was computed outside of it comes to root.
        Raises: ScheduleError if no way leads from the inputs to the outputs, or if it holds a part of another group.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> D = te.compute((64, 64), lambda i, j: C[i, j] * 2, name="D")
        >>> s = te.create_schedule(D)
        >>> group = s.create_group(outputs=C, inputs=A)
        >>> group
        Group(B, C)
        >>> group.compute_at(s[D], s[D].op.axis[0])
        """
        ends = [self[t].op for t in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
        starts = [self._start(t) for t in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        return created(self, self._group_members(ends, starts, bool(include_inputs), user_line()))

    def _start(self, tensor):
        """A state of a scan is an input though it is no stage."""
        if isinstance(tensor, _core.Tensor) and any(tensor.op == t.op for stage in self.stages for t in stage.op.input_tensors):
            return tensor.op
        return self[tensor].op

    @property
    def groups(self):
        """The groups that were made of this schedule's stages, in the order in which they were."""
        return list(self._groups)

    @functools.cached_property
    def _groups(self):
        return []

    @functools.cached_property
    def _scans(self):
        return {}

    def _group_of(self, name):
        return next((g for g in self._groups if name in g._own), None)

    def _scan_group(self, name):
        """The stages inside of a scan, as a group that stands at its time loop."""
        place = self._scan_of(name)
        if place is None:
            return None
        own = [n for n in self._stage_names() if self._scan_of(n) == place]
        group = self._scans.setdefault(place[0], Group(self, own, None, place))
        group._own = own
        return group

    def _made_of(self, name, made):
        """A stage that a Step made of another one belongs to its group."""
        group = self._group_of(name)
        if group is not None:
            group._own.append(made)
            if group._where():
                group._put()
        return self._outputs(made)

    def normalize(self):
        """A copy of the schedule. Loops run from 0 from the start, so that there is nothing to rebase; for code written for TVM.

        >>> s = te.create_schedule(B)
        >>> s.normalize().steps == s.steps
        True
        """
        return self.copy()

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

    def check(self, strict=False):
        """Judge the whole nest: placement, tails, what stands inside vectorized loops. Raises ScheduleError; lowering checks too.

        Parameters: strict, whether to refuse as well what is right but wasteful: a stage that each iteration of a loop computes
        whole, since no bound is known of a subscript with which it is read there. print(s) and explain() show these.
        """
        self._check(strict)

    def to_python(self):
        """The schedule as the code that a person would write. Running it gives equal Steps.

        Returns: text that expects te, and each tensor in a variable of its name (with _ for what no identifier has).

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, factor=16, tail="mask")
        >>> s[B].vectorize(ii)
        >>> print(s.to_python())
        s = te.create_schedule(B)
        i, j = s[B].op.axis
        io, ii = s[B].split(i, factor=16, tail="mask")
        s[B].vectorize(ii)
        <BLANKLINE>
        """
        return self._to_python()

    def explain(self, target=None):
        """What the schedule means for a machine: for each loop nest a table of its loops, then the bytes that move between the
        levels of memory, the time that each level would take alone, and the one that takes longest.

        Per loop: its kind and extent; the lanes of a vectorized one; the bytes (of cache lines) that one run of it touches, the
        smallest cache that holds them, and how often one run uses a byte that it touches. It is estimated from the loop nest
        without lowering: good for seeing why a schedule is slow, not for predicting its time. Symbolic extents count as 1024.

        Of a device, per launch and per stage in it: instructions of warps and multiply-adds of tensor cores, requests to shared memory
        and the wavefronts of each, with bank conflicts and without, bytes from L2 and memory, the time of each, and the one that takes
        longest; registers and shared memory, how many blocks a processor holds, occupancy, and the waves in which blocks come. Per loop
        the same times, and which is the longest, of all its runs together and of the stages that are computed inside of it. Rates are
        what the device's maker says. The tuner's estimate is the same account.

        Parameters: target, as for ``tw.build``; of a CPU caches and clock are this machine's, threads ``tw.num_threads()``.
        Returns: an object that prints as that page; ``.nests`` has the numbers (``.loops``, ``.moved``, ``.seconds``, ``.bound``), and
        ``.launches`` those of a device (``.stages``, ``.seconds``, ``.bound``, ``.occupancy``, ``.waves``, ``.total``, in seconds), of
        whose loops ``.inside`` has ``.seconds``, ``.wavefronts`` and ``.bound``.

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
        """An independent copy, with copies of its groups."""
        copy = Schedule(self)
        copy._groups = copied(self._groups, copy)
        return copy

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __repr__(self):
        return str(self) if "_in_whole_parts" in vars(self) else "Schedule, not made"


def _tensors(ops):
    items = ops if isinstance(ops, (list, tuple)) else [ops]
    tensors = []
    for item in items:
        if isinstance(item, _core.Operation):
            item = item.output(0)
        if not isinstance(item, _core.Tensor):
            refuse("create_schedule", f"outputs must be tensors or operations, not {item!r}")
        tensors.append(item)
    return tensors


def _issue_tiles(schedule):
    """The Steps that make an operation of tiles what it says: its intrinsic's loops innermost, and the intrinsic in their place."""
    for stage in schedule.stages:
        tile = _core._tile_of(stage.op)
        if tile is None:
            continue
        key, data, sums = tile
        axes, reductions = stage.op.axis, stage.op.reduce_axis
        outside, inside = [*axes[:data], *reductions[:sums]], [*axes[data:], *reductions[sums:]]
        if not inside:
            continue
        if sums:
            stage.reorder(*outside, *inside)
        stage.tensorize(inside[0], key)


def create_schedule(ops):
    """A schedule for one or several outputs, every stage at root with the loops of its definition. An operation of an intrinsic's
    tiles (``te.compute``) is tensorized with it from the start, by the first Steps.

    Parameters: ops, a tensor, an operation, or a list of them.

    >>> s = te.create_schedule([B])
    >>> [stage.name for stage in s.stages]
    ['A', 'B']
    """
    schedule = Schedule(_tensors(ops))
    _issue_tiles(schedule)
    return schedule
