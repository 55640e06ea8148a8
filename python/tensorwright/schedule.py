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

__all__ = ["Axis", "Group", "Schedule", "Stage", "Step", "create_schedule"]


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


def _integer(step, field, value):
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
            if -(2**63) <= number < 2**63:
                return number
        except TypeError:
            pass
    return _refuse(step, f"{field} must be an integer, not {value!r}")


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
        Raises: ScheduleError if axis is not a loop of this stage or is annotated, if both or neither of factor and nparts are
        given, or one that is not positive or too large, or for an unknown tail. Judged with the whole nest: shift_inward on a
        reduction axis, inside a reduction loop or in a parallel loop, where visiting a value twice would change the result.

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

        Before ``for x: for y: body``; after ``for xo: for yo: for xi: for yi: body``, the new loops in the places of the old ones.

        Parameters: x and y, loops of this stage; x_factor and y_factor, the extents of the inner loops; tail as in split.
        Returns: (x_outer, y_outer, x_inner, y_inner).
        Raises: ScheduleError if x and y are one loop, and as split does.

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

        Before ``for i in range(n): for j in range(m)``; after ``for f in range(n * m)`` with ``i = f // m, j = f % m``.

        Returns: the fused axis, named after its parts.
        Raises: ScheduleError if no loop is named, if they are not directly inside each other, are annotated, mix data and
        reduction axes, or have more than 2**63 - 1 iterations together.

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

        Before ``for i: for j: for k: body``; after ``reorder(k, i)``: ``for k: for j: for i: body``.

        Raises: ScheduleError if one of them is not a loop of this stage, or is there twice.

        >>> s = te.create_schedule(B)
        >>> s[B].reorder(j, i)
        >>> [axis.name for axis in s[B].leaf_iter_vars]
        ['j', 'i']
        """
        self._schedule._reorder(self.name, [self._name_of("reorder", axis) for axis in axes], user_line())

    def vectorize(self, axis):
        """Compute all values of a loop at once, in vector lanes.

        Before ``for j in range(16): B[j] = f(A[j])``; after ``B[0:16] = f(A[0:16])``. Serial and unrolled loops may stand inside it.

        Raises: ScheduleError if axis is a reduction axis, or has more than 1024 iterations (TW_MAX_LANES). Judged with the whole
        nest: a vectorized or parallel loop inside it.

        >>> s = te.create_schedule(B)
        >>> s[B].vectorize(j)
        """
        self._schedule._vectorize(self.name, self._name_of("vectorize", axis), user_line())

    def unroll(self, axis, factor=None):
        """Repeat the body of a loop in the code.

        Before ``for i in range(4): body(i)``; after ``body(0); body(1); body(2); body(3)``.

        Parameters: axis, a loop; factor, how many copies to make: the loop is split by it first, and the inner one unrolled.
        Returns: None, or with factor the two loops (outer, inner).
        Raises: ScheduleError if axis has more than 4096 iterations (TW_MAX_UNROLL). Judged with the whole nest: unrolled loops of
        a stage that make more copies than that together.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].unroll(i, factor=4)
        """
        if factor is not None:
            outer, axis = self.split(axis, factor)
        self._schedule._unroll(self.name, self._name_of("unroll", axis), user_line())
        return None if factor is None else (outer, axis)

    def parallel(self, axis, chunk=None):
        """Spread the iterations of a loop over the threads. What is computed inside is private to an iteration.

        Before ``for i in range(n)``; after ``parallel for i in range(n)``, in any order, several at a time.

        Parameters: axis, a loop; chunk, how many neighbouring iterations a thread takes at a time: the loop is split by it
        first, and the outer one is parallel.
        Returns: None, or with chunk the two loops (outer, inner).
        Raises: ScheduleError if axis is a reduction axis: threads would race for one element.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].parallel(i, chunk=8)
        """
        inner = None
        if chunk is not None:
            axis, inner = self.split(axis, chunk)
        self._schedule._parallel(self.name, self._name_of("parallel", axis), user_line())
        return None if chunk is None else (axis, inner)

    def compute_at(self, parent, scope):
        """Compute this stage inside a loop of another one, each time only the region that is read there.

        Before ``for i: P[i] = ...; for i: C[i] = P[i] + P[i + 1]``; after ``for i: { for p in i..i+2: P[p] = ...; C[i] = ... }``.

        Parameters: parent, a stage (``s[C]``, or C itself); scope, a loop of it that encloses everything that reads this stage.
        Raises: ScheduleError if scope is not a loop of parent, if parent is this stage, or if this stage is an output. Judged with
        the whole nest: a reader outside of that loop, a loop that was split or fused since, a parent that is inlined.

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

        Before ``for i: { P[i] = ...; C[i] = f(P[i]) }``; after ``for i: P[i] = ...; for i: C[i] = f(P[i])``.

        Raises: ScheduleError if this stage is a placeholder.

        >>> s = te.create_schedule(B)
        >>> s[B].compute_root()
        """
        self._schedule._compute_root(self.name, user_line())

    def compute_inline(self):
        """Put the definition of this stage in the place of every read of it.

        Before ``for i: P[i] = A[i] * 2; for i: C[i] = P[i] + 1``; after ``for i: C[i] = A[i] * 2 + 1``.

        Raises: ScheduleError if this stage is an output or a reduction.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_inline()
        """
        self._schedule._compute_inline(self.name, user_line())

    def set_scope(self, scope):
        """Where the values of this stage live: "local" (registers or stack of one thread) or "global" (memory).

        Before ``alloc P: float32[64] global``; after ``alloc P: float32[64] local``. The loops stay as they are. Without it, a stage at
        root is global and one inside another's loops is local; what several threads read is kept in memory in any case.

        Raises: ScheduleError for another scope, or if an output, which lives in the caller's memory, is made local.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].set_scope("global")
        """
        self._schedule._set_scope(self.name, _word("set_scope", "scope", scope), user_line())

    def pragma(self, axis, key, value=None):
        """Attach a hint to a loop: "auto_unroll_max_step" or "unroll_explicit".

        Before ``for i: for j: body``; after ``pragma(i, "auto_unroll_max_step", 16)``: the loops at and inside i are unrolled while that
        makes at most 16 statements. "unroll_explicit" of 0 leaves that unrolling to the code generator.

        Raises: ScheduleError for other keys, a negative value, or more than 4096 statements (TW_MAX_UNROLL).

        >>> s = te.create_schedule(B)
        >>> s[B].pragma(i, "auto_unroll_max_step", 16)
        """
        value = 1 if value is None else _factor("pragma", "value", int(value) if isinstance(value, bool) else value).value
        self._schedule._pragma(self.name, self._name_of("pragma", axis), _word("pragma", "key", key), value, user_line())

    def storage_align(self, axis, factor, offset=0):
        """Lay out this stage in memory so that the stride of a dimension leaves ``offset`` when divided by ``factor``.

        Before ``alloc P: float32[64, 64]``; after ``alloc P: float32[64, 64] strides [80, 1]`` with
        ``storage_align(i, factor=32, offset=16)``: rows of a power of two would fall into the same sets of the cache.

        Parameters: axis, a data axis of the definition; factor, elements, 1..2**20; offset, 0..factor - 1.
        Raises: ScheduleError if axis is not a data axis, the stage is an output (the caller lays it out), or the numbers are out
        of range.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].storage_align(s[B].op.axis[0], factor=32, offset=16)
        """
        factor, offset = _integer("storage_align", "factor", factor), _integer("storage_align", "offset", offset)
        self._schedule._storage_align(self.name, self._name_of("storage_align", axis), factor, offset, user_line())

    def double_buffer(self):
        """Compute the part of this stage that the next iteration reads before this iteration uses its own; two buffers take turns.

        Before ``for x: P = part(x); C[x] = f(P)``; after ``P[0] = part(0)``, then
        ``for x: if x + 1 < n: P[(x + 1) % 2] = part(x + 1); C[x] = f(P[x % 2])``.

        The stage must be computed at a serial loop of its reader, and what it reads must be there before that loop.
        Raises: ScheduleError for an output or a rolling buffer; the placement is judged with the whole nest.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_at(s[C], s[C].op.axis[0])
        >>> s[B].double_buffer()
        >>> s.check()
        """
        self._schedule._double_buffer(self.name, user_line())

    def rolling_buffer(self):
        """Keep what earlier iterations computed of this stage: each iteration adds what is new in its region.

        Before ``for y: for r in range(3): P[r] = row(y + r); C[y] = P[0] + P[1] + P[2]``; after the rows stay in a window of three,
        and an iteration but the first computes one: ``if r >= 2 or y == 0: P[(y + r) % 3] = row(y + r)``.

        The stage must be computed at a serial loop of its reader, along which its region moves in one dimension by the same
        distance in each iteration.
        Raises: ScheduleError for an output or a double buffer; placement and motion are judged with the whole nest.

        >>> C = te.compute((62, 64), lambda i, j: B[i, j] + B[i + 1, j] + B[i + 2, j], name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_at(s[C], s[C].op.axis[0])
        >>> s[B].rolling_buffer()
        >>> s.check()
        """
        self._schedule._rolling_buffer(self.name, user_line())

    def prefetch(self, tensor, axis, offset=1):
        """Fetch into the cache what a loop will read of a tensor ``offset`` iterations later.

        Before ``for i: C[i] = f(A[i, 0..m])``; after ``for i: prefetch A[i + offset, 0..m]; C[i] = f(A[i, 0..m])``, one prefetch a
        line of the cache. No value depends on it.

        Parameters: tensor, an input or a stage that is computed whole, which the loop reads; axis, a loop of this stage; offset,
        iterations, 0..2**20.
        Raises: ScheduleError if the tensor is not read inside the loop or not kept whole, or the loop is vectorized.

        >>> s = te.create_schedule(B)
        >>> s[B].prefetch(A, i, 2)
        """
        source, offset = self._schedule[tensor].name, _integer("prefetch", "offset", offset)
        self._schedule._prefetch(self.name, source, self._name_of("prefetch", axis), offset, user_line())

    def tensorize(self, axis, intrin):
        """Replace the loops from ``axis`` inwards by one statement of a tensor intrinsic that computes the same.

        Before ``for j.i in range(16): C[i, j.i] += A[i, k] * B[k, j.i]``; after ``C[i, 0 : 16] = C[i, 0 : 16] + A[i, k] * B[k, 0 : 16]``.

        Parameters: axis, a plain leaf axis of this stage; intrin, what ``te.decl_tensor_intrin`` gave, or the name of a shipped
        one: "fma_16" (float32, 16 columns), "avx512_vnni_dot_16x4" (int32 += uint8 * int8, 16 columns of 4), "avx2_maddubs_8x4"
        (the same over 8 columns, sums of two products in int16), "avx512_bf16_dot_16x2" (float32 += bfloat16 * bfloat16, 16
        columns of 2). They run on every target.
        Raises: ScheduleError if the intrinsic is not declared, the axis is annotated or the stage tensorized already; judged with
        the whole nest: if the loops from the axis on are not those of the intrinsic in number, order and extent, have a tail, are
        annotated or hold another stage, if the stage does not compute the same expression, if a read does not advance by
        the same step with each loop, if a reduction outside of the axis finds no update, if the stage is predicated, kept in
        a buffer that turns, part of a scan or inside a vectorized loop, or if products may saturate.

        >>> x = te.placeholder((8, 32), name="x")
        >>> y = te.placeholder((32, 16), name="y")
        >>> k = te.reduce_axis((0, 32), name="k")
        >>> z = te.compute((8, 16), lambda i, j: te.sum(x[i, k] * y[k, j], axis=k), name="z")
        >>> s = te.create_schedule(z)
        >>> i, j = s[z].op.axis
        >>> s[z].reorder(i, s[z].op.reduce_axis[0], j)
        >>> s[z].tensorize(j, "fma_16")
        >>> s.check()
        """
        key = getattr(intrin, "key", intrin)
        if not isinstance(key, str):
            _refuse("tensorize", f"intrin must be a tensor intrinsic or the name of one, not {intrin!r}")
        self._schedule._tensorize(self.name, self._name_of("tensorize", axis), key, user_line())

    def set_store_predicate(self, predicate):
        """Leave out the elements of this stage for which the condition is false: nobody may read them.

        Before ``for i: P[i] = ...``; after ``for i: if i < 10: P[i] = ...``.

        Parameters: predicate, a condition over the axes of the stage's definition.
        Raises: ScheduleError if it is no condition over these axes, or if it isn't proved that it holds wherever the stage is
        read (an output is read everywhere); judged with the whole nest.

        >>> C = te.compute((10, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].set_store_predicate(s[B].op.axis[0] < 10)
        >>> s.check()
        """
        if not isinstance(predicate, _core.Expr):
            _refuse("set_store_predicate", f"condition must be an expression over the axes of {self.name}, not {predicate!r}")
        self._schedule._set_store_predicate(self.name, predicate, user_line())

    def __repr__(self):
        return f"Stage({self.name})"


class Group:
    """Stages between some inputs and some outputs that are placed together: ``s.create_group(outputs, inputs)``."""

    __slots__ = ("_schedule", "stages")

    def __init__(self, schedule, stages):
        self._schedule = schedule
        self.stages = stages

    def compute_at(self, parent, scope):
        """Compute all stages of the group at a loop of another stage: ``compute_at`` of each that isn't placed inside the group."""
        for stage in self.stages:
            if self._schedule._attach_of(stage.name) == "root":
                stage.compute_at(parent, scope)

    def compute_root(self):
        """Compute all stages of the group whole: ``compute_root`` of each."""
        for stage in self.stages:
            stage.compute_root()

    def __repr__(self):
        return f"Group({', '.join(stage.name for stage in self.stages)})"


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

    def _outputs(self, stage):
        op = self._op(stage)
        return op.output(0) if op.num_outputs == 1 else tuple(op.output(i) for i in range(op.num_outputs))

    @property
    def stages(self):
        """All stages, producers first."""
        return [Stage(self, name) for name in self._stage_names()]

    def cache_read(self, tensor, scope, readers):
        """Copy a tensor to a new stage that the named readers read instead.

        Before ``for i: C[i] = f(A[i])``; after ``for i: A.local[i] = A[i]; for i: C[i] = f(A.local[i])``.

        Parameters: tensor; scope, "local" or "global"; readers, the tensors (or operations, or stages) that shall read the copy.
        Returns: the copy, a tensor for ``s[...]``. compute_at then packs just the block that a reader's loop needs.
        Raises: ScheduleError for another scope, without readers, or if a reader doesn't read the tensor.

        >>> s = te.create_schedule(B)
        >>> AA = s.cache_read(A, "local", [B])
        >>> s[AA].compute_at(s[B], s[B].op.axis[0])
        """
        readers = readers if isinstance(readers, (list, tuple)) else [readers]
        scope = _word("cache_read", "scope", scope)
        name = self._cache_read(self[tensor].name, scope, [self[reader].name for reader in readers], user_line())
        return self._outputs(name)

    def cache_write(self, tensor, scope):
        """Compute a tensor in a new stage, of which the tensor becomes a copy.

        Before ``for i: C[i] = f(A[i])``; after ``for i: C.local[i] = f(A[i]); for i: C[i] = C.local[i]``.

        Parameters: tensor, one that is computed; scope, "local" or "global".
        Returns: the computing stage's tensor, for ``s[...]``. The axes of ``tensor.op`` stay valid: data axes in both stages,
        reduction axes in the new one.
        Raises: ScheduleError for another scope, if the tensor is inlined, or if its loops have been scheduled already.

        >>> s = te.create_schedule(B)
        >>> BB = s.cache_write(B, "local")
        >>> s[BB].compute_at(s[B], s[B].op.axis[0])
        """
        if isinstance(tensor, (list, tuple)) and tensor:
            tensor = tensor[0]
        name = self._cache_write(self[tensor].name, _word("cache_write", "scope", scope), user_line())
        return self._outputs(name)

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
        try:
            position = operator.index(factor_axis)
        except TypeError:
            _refuse("rfactor", f"factor_axis must be an integer, not {factor_axis!r}")
        return self._outputs(self._rfactor(stage.name, stage._name_of("rfactor", axis), position, user_line()))

    def create_group(self, outputs, inputs, include_inputs=False):
        """The stages on the ways from ``inputs`` to ``outputs``, to be placed together.

        Parameters: outputs and inputs, tensors or lists of them; include_inputs, whether the inputs belong to it (placeholders
        never do).
        Returns: a Group; its ``compute_at`` issues one Step for each stage.
        Raises: ScheduleError if no way leads from the inputs to the outputs.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> D = te.compute((64, 64), lambda i, j: C[i, j] * 2, name="D")
        >>> s = te.create_schedule(D)
        >>> group = s.create_group(outputs=C, inputs=A)
        >>> group
        Group(B, C)
        >>> group.compute_at(s[D], s[D].op.axis[0])
        """
        ends = [self[t].name for t in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
        starts = [self[t].name for t in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        reads = {stage.name: self._reads_of(stage.name) for stage in self.stages}
        after = set(starts)
        for name in reads:  # producers first
            if any(source in after for source in reads[name]):
                after.add(name)
        before = set(ends)
        for name in reversed(list(reads)):
            if name in before and name not in starts:
                before.update(reads[name])
        chosen = [name for name in reads if name in after & before and (include_inputs or name not in starts)]
        if not chosen:
            _refuse("create_group", f"a way must lead from {', '.join(starts)} to {', '.join(ends)}; there is none")
        return Group(self, [self[name] for name in chosen if reads[name] or name not in starts])

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

    def check(self):
        """Judge the whole nest: placement, tails, what stands inside vectorized loops. Raises ScheduleError; lowering checks too."""
        self._check()

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
