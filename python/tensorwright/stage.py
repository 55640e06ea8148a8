"""The loops of one tensor in a schedule, and the Steps on them: what ``s[C]`` is."""

from __future__ import annotations

import operator

from . import _core
from ._location import user_line
from ._missing import say_missing
from .errors import ExprError
from .loops import Axis, Fuse, LoopAttrs, OneThread, Singleton, Split, ThreadAxis

__all__ = ["Stage"]


def refuse(step, rule):
    _core._refuse_step(step, rule, user_line())


def _factor(step, field, value):
    if value is None or isinstance(value, _core.Factor):
        return value
    if isinstance(value, (_core.Expr, _core.Var)):
        return _core.Factor(value)
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
            if -(2**63) <= number < 2**63:
                return _core.Factor(number)
        except TypeError:
            pass
    return refuse(step, f"{field} must be a positive integer, not {value!r}")


def _both(step, field, value):
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return refuse(step, f"{field} must be two integers, not {value!r}")
    return [integer(step, field, one) for one in value]


def integer(step, field, value):
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
            if -(2**63) <= number < 2**63:
                return number
        except TypeError:
            pass
    return refuse(step, f"{field} must be an integer, not {value!r}")


def word(step, field, value):
    return value if isinstance(value, str) else refuse(step, f"{field} must be a string, not {value!r}")


def scope_of(step, scope):
    """The name of a scope. Shared memory is allocated at the launch where there is much of it, so "shared.dyn" says nothing more."""
    return "shared" if word(step, "scope", scope) == "shared.dyn" else scope


def _pad_text(value):
    if value is None:
        return ""
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return refuse("transform_layout", f"pad_value must be a number, not {value!r}")


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

    def split(self, axis, factor=None, nparts=None, disable_predication=False, *, tail="auto"):
        """Split a loop in two: ``axis`` becomes ``outer`` (extent ceil(n / factor)) and ``inner`` (extent factor).

        Before ``for i in range(n)``; after ``for io in range(ceil(n / f)): for ii in range(f)`` with ``i = io * f + ii``.

        Parameters: axis, a loop of this stage; exactly one of factor (the extent of the inner loop) or nparts (that of the
        outer one), a positive int, or an expression over te.vars that the kernel requires to be positive (see
        docs/schedule.md#sizes-that-the-caller-gives); tail, what happens to the values past n when the sizes don't divide, one of
        "auto", "guard", "mask", "peel", "pad", "shift_inward" (see docs/schedule.md#tails); disable_predication, tvm's word for
        tail="pad".
        Returns: (outer, inner).
        Raises: ScheduleError if axis is not a loop of this stage or is annotated, if both or neither of factor and nparts are
        given, or one that is not positive or too large, or is of te.vars that no name tells apart, or for an unknown tail; pad on
        a reduction axis, on an output or a scan, on a loop that is not the whole of an axis, or to a size that no memory has or
        that is no number. Judged with the whole nest: shift_inward on a reduction axis, inside a reduction loop or in a parallel
        loop, where visiting a value twice would change the result; pad of a stage that is an argument, that an extern stage reads,
        that is part of a scan, or that rolling_buffer keeps.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, factor=16, tail="mask")
        >>> io.extent, ii.name
        (4, 'i.i')
        """
        if disable_predication:
            tail = "pad" if tail == "auto" else refuse("split", f"tail must be left out beside disable_predication, not {tail!r}")
        name = self._name_of("split", axis)
        sizes = _factor("split", "factor", factor), _factor("split", "nparts", nparts)
        self._schedule._split(self.name, name, *sizes, word("split", "tail", tail), self._whole(), user_line())
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
                refuse("tile", f"{field} must be a positive integer, not None")
        self._schedule._tile(self.name, x, y, *factors, word("tile", "tail", tail), self._whole(), user_line())
        return tuple(self._axis(name) for name in (x + ".o", y + ".o", x + ".i", y + ".i"))

    def fuse(self, *axes):
        """Make one loop of several that stand directly inside each other, given from the outside in.

        Before ``for i in range(n): for j in range(m)``; after ``for f in range(n * m)`` with ``i = f // m, j = f % m``.

        Returns: the fused axis, named after its parts. One axis stays as it is; none of them, as of a tensor without dimensions,
        make a loop of one iteration around all others.
        Raises: ScheduleError if no loop of a scan is named, if they are not directly inside each other, are annotated, mix data and
        reduction axes, or have more than 2**63 - 1 iterations together.

        >>> s = te.create_schedule(B)
        >>> s[B].fuse(i, j)
        Axis(B: i*j, 0..4096)
        """
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = axes[0]
        names = [self._name_of("fuse", axis) for axis in axes]
        self._schedule._fuse(self.name, names, user_line())
        return self._axis("*".join(names)) if names else self.leaf_iter_vars[0]

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

        Of a reduction, before ``for ko, for ki in range(L): S += A[ko * L + ki]``; after ``for ko: P[0:L] += A[ko * L : ko * L + L]``,
        where P are L partial results that begin with the identity, and then they are joined: as long as there are n > 1, each of
        the first n // 2 with the one ceil(n / 2) further on its right, ``P[0:8] += P[8:16]`` for 16 of them, and so on down to one, to
        which ``init=`` is joined from the left. L is the loop's, whatever a register holds, so the result is the same on every
        target. Lane l takes the terms of iteration l, in the order of the other loops; lanes past the end of an uneven split hold
        the identity. Tuples and combiners of ``te.comm_reducer`` have all their components there. It adds in another order: this is
        one of the Steps that reassociate (docs/semantics.md). TVM refuses it; Halide's ``atomic().vectorize(r)`` leaves the order
        open.

        Raises: ScheduleError if the number of iterations is not known before the kernel runs or more than 1024 (TW_MAX_LANES),
        or another loop of the same reduction is vectorized. Judged with the whole nest: a vectorized or parallel loop inside it,
        a loop of a reduction in a stage with tensorize.

        >>> s = te.create_schedule(B)
        >>> s[B].vectorize(j)

        >>> k = te.reduce_axis((0, 64), name="k")
        >>> S = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="S")
        >>> s = te.create_schedule(S)
        >>> ko, ki = s[S].split(k, factor=16)
        >>> s[S].vectorize(ki)
        """
        self._schedule._vectorize(self.name, self._name_of("vectorize", axis), user_line())

    def unroll(self, axis, factor=None):
        """Repeat the body of a loop in the code.

        Before ``for i in range(4): body(i)``; after ``body(0); body(1); body(2); body(3)``.

        Parameters: axis, a loop; factor, how many copies to make: the loop is split by it first, and the inner one unrolled.
        Returns: None, or with factor the two loops (outer, inner).
        Raises: ScheduleError if the number of iterations is not known before the kernel runs. Judged with the whole nest: the same
        of a stage that compute_at has placed, where it is computed, and unrolled loops of a stage that make more than 4096 copies of
        its body (TW_MAX_UNROLL) there.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].unroll(i, factor=4)
        """
        if factor is not None:
            factor = _factor("unroll", "factor", factor)
            if factor.size:
                refuse("unroll", f"factor must be a positive integer, not {factor.size}: the copies stand in the code")
            outer, axis = self.split(axis, factor)
        self._schedule._unroll(self.name, self._name_of("unroll", axis), user_line())
        return None if factor is None else (outer, axis)

    def parallel(self, axis, chunk=None):
        """Spread the iterations of a loop over the threads. What is computed inside is private to an iteration.

        Before ``for i in range(n)``; after ``parallel for i in range(n)``, in any order, several at a time.

        Parameters: axis, a loop; chunk, how many neighbouring iterations a thread takes at a time: the loop is split by it
        first, and the outer one is parallel.
        Returns: None, or with chunk the two loops (outer, inner).
        Raises: ScheduleError if axis is a reduction axis: threads would race for one element. Judged with the whole schedule: two
        iterations may not store to one byte of an int4 or uint4 tensor, so each must begin at an even element and store an even
        number of neighbours.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].parallel(i, chunk=8)
        """
        inner = None
        if chunk is not None:
            axis, inner = self.split(axis, chunk)
        self._schedule._parallel(self.name, self._name_of("parallel", axis), user_line())
        return None if chunk is None else (axis, inner)

    def bind(self, ivar, thread_ivar):
        """Make a loop an index of a device: a block of its grid, or a thread of a block.

        Before ``for io: for ii: body(io, ii)``; after, with io bound to blockIdx.x and ii to threadIdx.x, ``body(bx, tx)`` by all
        blocks and threads at once. Each stage at root is a launch of its own, in the order of the stages. Equal indices of the stages
        of one launch are one: the longest loop says how many there are, and the others have a guard. A stage inside the blocks that
        is "shared" is computed by all threads of the block: by those that its own loops are bound to, else its loops are shared
        out; where threads have to wait for each other follows, and nobody says it. The threads that a reduction's loop is bound to
        each have a part of the sum, and join them.

        A loop that is bound to "vthread" stays with its thread, which goes on with all of its iterations side by side. Before
        ``for v: { P = 0; for k: P = P + A[v, k]; C[v] = P }``; after ``for v: P[v] = 0; for k: for v: P[v] = P[v] + A[v, k];
        for v: C[v] = P[v]``, each ``for v`` unrolled. What is the same for all of them, such as a tile in shared memory, happens once.
        A stage may have several.

        Parameters: ivar, a loop; thread_ivar, a ``te.thread_axis`` or its tag.
        Raises: ScheduleError if the loop is vectorized, unrolled, parallel or bound already, if the stage has that index already,
        for the loop of a reduction and a block or a vthread (rfactor it), or for the time of a scan. Judged with the whole nest: a stage at root
        that is not bound; a stage inside another's loops that is bound to blocks; parallel, prefetching, tensorized, double
        buffered, rolling or extern stages beside bound ones, scans inside of launches; an axis of a scan that is bound where updates read the state at other
        places of it; shift_inward of a bound loop; both threads and lanes of one
        reduction; threads, virtual ones too, whose number is not known, or more than 1024 of a block; memory inside of a launch whose size is not known, or shared memory of more than
        232448 bytes; a vthread outside of launches. ``tw.build`` refuses it for targets without a device.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(s[B].fuse(i, j), factor=64)
        >>> s[B].bind(io, te.thread_axis("blockIdx.x"))
        >>> s[B].bind(ii, te.thread_axis("threadIdx.x"))
        """
        tag = thread_ivar.thread_tag if isinstance(thread_ivar, ThreadAxis) else thread_ivar
        name = self._name_of("bind", ivar)
        if isinstance(thread_ivar, ThreadAxis) and thread_ivar.dom is not None and self._axis(name).extent != thread_ivar.extent:
            refuse("bind", f"axis must have as many iterations as {thread_ivar!r}, not {self._axis(name).extent}")
        self._schedule._bind(self.name, name, word("bind", "thread_ivar", tag), user_line())

    def env_threads(self, threads):
        """Give the launch of this stage indices that none of its own loops has: stages that are computed inside of it bind theirs to
        them.

        Before ``for t: P[t] = ...; C[t] = ...``; after ``env_threads([te.thread_axis("threadIdx.x")])`` the same in a launch, of as
        many threads as the longest loop that is bound in it; the first of them does what is C's own. It is no Step of its own: for each
        index a loop of one iteration is made, as by ``fuse`` of no loop (of a scan, whose time stays outside, as by ``split`` in one part),
        and bound.

        Parameters: threads, a ``te.thread_axis`` or its tag, or a list of them.
        Raises: ScheduleError as bind does.

        >>> s = te.create_schedule(B)
        >>> s[B].env_threads([te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")])
        >>> [s[B].iter_var_attrs[axis].iter_type for axis in s[B].leaf_iter_vars]
        ['blockIdx.x', 'threadIdx.x', 'serial', 'serial']
        """
        threads = list(threads) if isinstance(threads, (list, tuple)) else [threads]
        for thread in reversed(threads):
            tag = thread.thread_tag if isinstance(thread, ThreadAxis) else thread
            if self._is_scan():
                outer, _ = self.split(next(axis for axis in self.leaf_iter_vars[1:] if self.iter_var_attrs[axis].iter_type == "serial"), nparts=1)
            else:
                outer = self.fuse()
            self._schedule._bind(self.name, outer.name, word("env_threads", "threads", tag), user_line())

    def _is_scan(self):
        try:
            return self.op.scan_axis is not None
        except ExprError:
            return False

    def compute_at(self, parent, scope):
        """Compute this stage inside a loop of another one, each time only the region that is read there.

        Before ``for i: P[i] = ...; for i: C[i] = P[i] + P[i + 1]``; after ``for i: { for p in i..i+2: P[p] = ...; C[i] = ... }``.

        Parameters: parent, a stage (``s[C]``, or C itself); scope, a loop of it that encloses everything that reads this stage. Where
        that loop is split or fused later, it is the innermost loop that comes of it.
        A scan is computed from its first time on. In a serial loop that goes along its times, ``t.o`` of ``t.o, t.i``, each iteration
        continues from the states of the one before, and only those of one iteration are kept.
        Raises: ScheduleError if scope is not a loop of parent, if parent is this stage, or stands outside of the group or of the
        scan in which this stage is, if this stage is an output, or a scan whose states differ in shape. Judged with the whole nest:
        a reader outside of that loop, a parent that is inlined, a loop that goes along the times of a scan from another one on,
        with gaps, in parallel, or in steps no longer than its updates look back.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_at(s[C], s[C].op.axis[0])
        >>> s.check()
        """
        if not isinstance(parent, Stage):
            parent = self._schedule[parent]
        group = self._schedule._group_of(self.name)
        if group is not None and parent.name not in group.names:
            refuse("compute_at", f"parent must be a stage of {group!r}, which is placed as one, not {parent.name}: the group's own "
                   "compute_at places all of it")
        self._schedule._compute_at(self.name, parent.name, parent._name_of("compute_at", scope), user_line())

    def compute_root(self):
        """Compute this stage whole, before everything that reads it: undoes compute_at and compute_inline.

        Before ``for i: { P[i] = ...; C[i] = f(P[i]) }``; after ``for i: P[i] = ...; for i: C[i] = f(P[i])``. A stage of a group, or
        of the inside of a scan, is computed where that is.

        Raises: ScheduleError if this stage is a placeholder.

        >>> s = te.create_schedule(B)
        >>> s[B].compute_root()
        """
        group = self.group
        place = group._where() if group is not None else None
        if place is None:
            self._schedule._compute_root(self.name, user_line())
        else:
            self._schedule._compute_at(self.name, *place, user_line())

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
        """Where the values of this stage live: "local" (registers or stack of one thread), "warp" (registers of the lanes of a
        device's warp), "shared" (memory of a block of a device; "shared.dyn" means the same) or "global" (memory).

        Before ``alloc P: float32[64] global``; after ``alloc P: float32[64] local``. The loops stay as they are. Without it, a stage at
        root is global and one inside another's loops is local; what several threads read is kept in memory in any case. Inside
        loops that are bound to blocks, but not to threads, it is shared.

        Of a stage in scope "warp" each of the 32 lanes along ``threadIdx.x`` keeps what it computes, in steps that all have, and reads
        of what others keep become exchanges of registers (``shfl``): without shared memory and without a barrier. Which of a lane's elements
        it is that is read must not depend on the lane.

        Raises: ScheduleError for another scope, or if an output, which lives in the caller's memory, is made local. Judged with the
        whole nest: shared or warp where nothing is bound; in a launch global inside of it, anything else at root, and local of a stage
        whose own loops are bound to threads; warp of a stage that has no loop bound to ``threadIdx.x``, of which there are not 32 lanes, that
        threads of other warps need, or whose elements are computed or read at places that no one lane has.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].set_scope("global")
        """
        self._schedule._set_scope(self.name, scope_of("set_scope", scope), user_line())

    def pragma(self, axis, key, value=None):
        """Attach a hint to a loop: "auto_unroll_max_step" or "unroll_explicit".

        Before ``for i: for j: body``; after ``pragma(i, "auto_unroll_max_step", 16)``: the loops at and inside i are unrolled while that
        makes at most 16 statements. "unroll_explicit" of 0 leaves that unrolling to the code generator.

        Raises: ScheduleError for other keys, a negative value, or more than 4096 statements (TW_MAX_UNROLL).

        >>> s = te.create_schedule(B)
        >>> s[B].pragma(i, "auto_unroll_max_step", 16)
        """
        value = 1 if value is None else _factor("pragma", "value", int(value) if isinstance(value, bool) else value).value
        self._schedule._pragma(self.name, self._name_of("pragma", axis), word("pragma", "key", key), value, user_line())

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
        factor, offset = integer("storage_align", "factor", factor), integer("storage_align", "offset", offset)
        self._schedule._storage_align(self.name, self._name_of("storage_align", axis), factor, offset, user_line())

    def double_buffer(self):
        """Compute the part of this stage that the next iteration reads before this iteration uses its own; two buffers take turns.

        Before ``for x: P = part(x); C[x] = f(P)``; after ``P[0] = part(0)``, then
        ``for x: if x + 1 < n: P[(x + 1) % 2] = part(x + 1); C[x] = f(P[x % 2])``.

        The stage must be computed at a serial loop of its reader, and what it reads must be there before that loop.
        Raises: ScheduleError for an output, a scan or a rolling buffer; the placement is judged with the whole nest.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_at(s[C], s[C].op.axis[0])
        >>> s[B].double_buffer()
        >>> s.check()
        """
        self._schedule._double_buffer(self.name, user_line())

    def pipeline(self, axis, stages=2, by="auto"):
        """Compute on a device, ahead of a loop's iterations, what they find in shared memory: rings of ``stages`` slots.

        Before ``for ko: P = part(ko); C += f(P)`` with P shared; after, for 3 stages, ``P[0], P[1] = part(0), part(1)``, then
        ``for ko: wait; P[(ko + 2) % 3] = part(ko + 2); C += f(P[ko % 3])``: while an iteration computes, what later ones need is on
        its way. The slots, what comes before the loop, its end, waits and barriers follow; one barrier an iteration is enough.

        Parameters: axis, a serial loop of this stage, in which stages in shared memory are computed; each becomes a ring that reads
        nothing which is computed in the loop too. stages, slots, 1..8, an int or a knob; 1 leaves the loop as it is. by, how values
        get there: "cp.async", by copies of the device's own of 4, 8 or 16 bytes that lie side by side in global memory and in the
        slot; "ldg", through registers, read before an iteration's work and stored behind it; "auto", the first where it is
        possible and the other where not, but for operands of four warps' products "tma" where it is possible whatever the sizes are. Sums are computed in time, without either. "tma", from sm_90 on: one thread begins each
        slot, a box of a tensor that the device copies by itself. Its rows are multiples of 16 bytes in the slot and in the tensor, it
        has at most 256 elements along a dimension, and slots begin at multiples of 128 bytes or more; what lies outside of the tensor is 0, and
        ``swizzle`` is of rows that are 32, 64 or 128 bytes long, or, of operands of four warps' products, of several such lines, each a box.
        Raises: ScheduleError if stages or by is none of those. Judged with the whole nest: a loop outside of a launch, a loop that is
        not serial or was split, a loop in which nothing shared is computed ahead, "cp.async" or "tma" for what is no such copy.
        TargetError when it is built for a device without "tma". ArgumentError when a kernel is called with an array whose rows are
        no multiples of 16 bytes, where sizes are symbolic.

        ``double_buffer`` of a stage in shared memory is a ring of two slots for that stage.

        >>> k = te.reduce_axis((0, 64), name="k")
        >>> C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * A[j, k], axis=k), name="C")
        >>> s = te.create_schedule(C)
        >>> ko, ki = s[C].split(k, factor=16)
        >>> s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
        >>> s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
        >>> AS = s.cache_read(A, "shared", [C])
        >>> s[AS].compute_at(s[C], ko)
        >>> s[C].pipeline(ko, 3)
        >>> s.check()
        """
        name, count = self._name_of("pipeline", axis), _factor("pipeline", "stages", stages)
        self._schedule._pipeline(self.name, name, count, word("pipeline", "by", by), user_line())

    def persistent(self, axis, blocks=None):
        """Have as many blocks as a device runs at once, each of which computes one iteration of a loop after the other.

        Before ``for t in range(n)``, bound to blockIdx.x; after ``for b in range(min(n, p))``, bound to blockIdx.x, and in it
        ``for to in range(ceil(n / p)): if to * p + b < n: tile(to * p + b)``. Where ``pipeline`` makes rings of a loop that each tile
        has once, of a known number of iterations, they run on over all tiles of a block: slots, barriers and their phases are made
        once, and the last iterations of a tile begin to fetch what the first ones of the next read, while its results are stored.

        Parameters: axis, a loop of this stage that is bound to blockIdx. blocks, how many there are at most, a positive int or a knob;
        None means as many as the device has multiprocessors that it is built for; 132, those of an H100, where nothing is built.
        Results do not depend on it.
        Returns: (tiles, block), the loop over a block's tiles and the one that is bound now.
        Raises: ScheduleError if axis is not bound to blocks, if the stage is persistent already, or if blocks is not positive. Judged
        with the whole nest: a stage that is bound to another index of blocks too, or whose loop over tiles was split, fused or annotated.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, factor=2)
        >>> s[B].bind(io, te.thread_axis("blockIdx.x"))
        >>> tiles, block = s[B].persistent(io, blocks=8)
        >>> tiles.extent, block.extent
        (4, 8)
        """
        name, count = self._name_of("persistent", axis), _factor("persistent", "blocks", blocks)
        self._schedule._persistent(self.name, name, count, user_line())
        return self._axis(name + ".o"), self._axis(name + ".i")

    def roles(self, producer=1, consumers=None, registers=None):
        """Have threads of their own fill the rings of this stage's pipeline, while those that are bound compute.

        Before ``for ko: wait for part(ko); C += f(P[ko % 3]); meet; begin part(ko + 2)``, by all 128 or 256 threads; after, of 128 more,
        ``if ty < 2: for ko: wait for part(ko); C += f(P[ko % 3]); say that it is read``, ``else: for ko: wait until P[ko % 3] is read;
        begin part(ko)``, by one thread. Nobody waits for all others: barriers in shared memory count what has come and who has read it, so
        that a slot is filled again as soon as its readers are done, and one four warps may store results while others compute. The
        barriers, their counts, turns and phases follow, and registers that copying needs not go to those who compute.

        Parameters: producer, 1, or 0 to leave the loop as it is; a knob may say which. consumers, how many times 128 threads compute, an int
        that has to agree with what is bound; None counts them. registers, two multiples of 8 from 24 to 256, of a thread that copies
        and of one that computes; None shares them out, as (40, 232) for two consumers. Where those who compute would get no more than
        they begin with, nothing is moved.
        Raises: ScheduleError if producer is another number, if consumers is not positive, or if registers are none of those. Judged
        with the whole nest: a stage that is no product of four warps or has no pipeline by "tma", a ring elsewhere in the launch, a
        block that comes back to the loop but by ``persistent``, anything else for which the block's threads meet, a threadIdx.z, more
        than 1024 threads, other consumers than are bound, and more registers than there are, 512 for a thread of each role.

        >>> A, B = te.placeholder((256, 64), "bfloat16", name="A"), te.placeholder((128, 64), "bfloat16", name="B")
        >>> k = te.reduce_axis((0, 64), name="k")
        >>> C = te.compute((256, 128), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
        >>> s = te.create_schedule(C)
        >>> AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
        >>> io, jo, i, j = s[C].tile(*C.op.axis, 128, 128)
        >>> ig, i = s[C].split(i, factor=64)
        >>> ko, k = s[C].split(C.op.reduce_axis[0], factor=16)
        >>> s[C].reorder(io, jo, ig, ko, i, j, k)
        >>> s[C].bind(s[C].fuse(io, jo), te.thread_axis("blockIdx.x"))
        >>> s[C].bind(ig, te.thread_axis("threadIdx.y"))
        >>> s[C].tensorize(i, "wgmma.m64n128k16.bf16")
        >>> for operand in (AS, BS):
        ...     s[operand].compute_at(s[C], ko)
        ...     s[operand].swizzle()
        >>> s[C].pipeline(ko, 3, by="tma")
        >>> s[C].roles()
        >>> s.check()
        """
        first, second = (0, 0) if registers is None else _both("roles", "registers", registers)
        count = None if consumers is None else integer("roles", "consumers", consumers)
        self._schedule._roles(self.name, _factor("roles", "producer", producer), count, first, second, user_line())

    def cluster(self, axis):
        """Have the blocks along a loop reach each other's shared memory, and copy what all of them read once for all.

        Before ``for by in range(2)``, bound to blockIdx.y, ``for ko: AS = box of A at (bx, by); BS = box of B at bx; C += f(AS, BS)``;
        after, each of both blocks brings one half of B's box, and it comes to both: memory is read once for the cluster. That blocks run
        at once, wait for each other before what others read is written over, and end together, follows; and so do the barriers,
        counts and turns for it. With ``roles``, threads that read say so in all blocks; else all threads of the cluster meet.

        Parameters: axis, a loop of this stage that is bound to blockIdx, of 1 to 8 iterations: all of that index of the launch is a
        cluster. Where it is 1, nothing changes, so that a tuner may choose.
        Raises: ScheduleError if axis is not bound to blocks, if it has more than 8 iterations or nobody knows how many, or if the stage
        is a cluster already. Judged with the whole nest: no pipeline by "tma", a block that comes back to it but by ``persistent``, a loop
        that ``persistent`` shares tiles out to, and boxes none of which is the same for all blocks and can be parted among them, each part a multiple of 128 bytes, and of 8 rows where
        they are swizzled.

        >>> A, B = te.placeholder((256, 64), "bfloat16", name="A"), te.placeholder((128, 64), "bfloat16", name="B")
        >>> k = te.reduce_axis((0, 64), name="k")
        >>> C = te.compute((256, 128), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
        >>> s = te.create_schedule(C)
        >>> AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
        >>> io, jo, i, j = s[C].tile(*C.op.axis, 64, 128)
        >>> io, pair = s[C].split(io, factor=2)
        >>> ko, k = s[C].split(C.op.reduce_axis[0], factor=16)
        >>> s[C].reorder(io, pair, jo, ko, i, j, k)
        >>> s[C].bind(io, te.thread_axis("blockIdx.x"))
        >>> s[C].bind(pair, te.thread_axis("blockIdx.y"))
        >>> s[C].tensorize(i, "wgmma.m64n128k16.bf16")
        >>> for operand in (AS, BS):
        ...     s[operand].compute_at(s[C], ko)
        ...     s[operand].swizzle()
        >>> s[C].pipeline(ko, 3, by="tma")
        >>> s[C].cluster(pair)
        >>> s.check()
        """
        self._schedule._cluster(self.name, self._name_of("cluster", axis), user_line())

    def swizzle(self, bytes="auto"):
        """Let parts of 16 bytes change places within the rows of a stage in shared memory, by the rows' numbers.

        Before ``P[i, j]``; after, for ``swizzle(128)`` of float32, ``P[i, (j // 4 ^ i % 8) * 4 + j % 4]``: threads that go down a
        column find its elements in different banks, and 16 bytes still lie side by side. No memory is left empty, as by
        ``storage_align``. Rows shorter than 128 bytes share a number with those beside them. Operands of four warps' products
        (``tensorize``) whose rows are longer than that lie in panels: ``P[k, n]`` of 16 bits at ``P[n // 64, k, n % 64]``, of which lines are rows.

        Parameters: bytes, within which parts change places: 32, 64, 128, "auto" (the most that divides a row, or none) or "none".
        Raises: ScheduleError for an output or a transformed layout. Judged with the whole nest: a stage that is not in shared memory,
        rows that are no multiple of bytes, storage_align beside it.

        >>> C = te.compute((64, 64), lambda i, j: A[j, i], name="C")
        >>> s = te.create_schedule(C)
        >>> s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
        >>> s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
        >>> AS = s.cache_read(A, "shared", [C])
        >>> s[AS].compute_at(s[C], C.op.axis[0])
        >>> s[AS].swizzle()
        >>> s.check()
        """
        self._schedule._swizzle(self.name, "none" if bytes is None else str(bytes), user_line())

    def rolling_buffer(self):
        """Keep what earlier iterations computed of this stage: each iteration adds what is new in its region.

        Before ``for y: for r in range(3): P[r] = row(y + r); C[y] = P[0] + P[1] + P[2]``; after the rows stay in a window of three,
        and an iteration but the first computes one: ``if r >= 2 or y == 0: P[(y + r) % 3] = row(y + r)``.

        The stage must be computed at a serial loop of its reader, along which its region moves in one dimension by the same
        distance in each iteration.
        Raises: ScheduleError for an output, a scan or a double buffer; placement and motion are judged with the whole nest.

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
        source, offset = self._schedule[tensor].name, integer("prefetch", "offset", offset)
        self._schedule._prefetch(self.name, source, self._name_of("prefetch", axis), offset, user_line())

    def tensorize(self, axis, intrin):
        """Replace the loops from ``axis`` inwards by one statement of a tensor intrinsic that computes the same.

        Before ``for j.i in range(16): C[i, j.i] += A[i, k] * B[k, j.i]``; after ``C[i, 0 : 16] = C[i, 0 : 16] + A[i, k] * B[k, 0 : 16]``.

        Parameters: axis, a plain leaf axis of this stage; intrin, what ``te.decl_tensor_intrin`` gave, or the name of a shipped
        one: "fma_16" (float32, 16 columns), "avx512_vnni_dot_16x4" (int32 += uint8 * int8, 16 columns of 4), "avx512_vnni_s8s8_16x4"
        (int8 * int8), "avx_vnni_dot_8x4" and "avx_vnni_s8s8_8x4" (the same over 8 columns), "avx2_maddubs_8x4" (uint8 * int8 over 8
        columns, sums of two products in int16), "avx512_bf16_dot_16x2" (float32 += bfloat16 * bfloat16, 16
        columns of 2), "neon_usdot_4x4" (int32 += uint8 * int8, 4 columns of 4), "neon_sdot_4x4" (int8 * int8), "neon_udot_4x4"
        (uint8 * uint8), "neon_bfdot_4x2" (float32 += bfloat16 * bfloat16, 4 columns of 2, rounded to odd), "neon_smmla_2x2x8" (int32 +=
        int8 * int8, 2 rows and 2 columns of 8), "neon_bfmmla_2x2x4" (the same of bfloat16, of 4, rounded to odd), "amx.bf16" (float32 +=
        bfloat16 * bfloat16, 16 rows and 16 columns of 16 pairs, of which those of the right factor are packed, b[k // 2, j, k % 2]), "amx.u8s8"
        (int32 += uint8 * int8, of 16 fours), "amx.s8s8" (int8 * int8), and with 1 to 15 rows "amx.bf16.m1" to "amx.bf16.m15" and so on. They run on every target. In a launch: "mma.m16n8k16.bf16" and
        "mma.m16n8k16.f16" (float32 += bfloat16 * bfloat16 or float16 * float16, 16 rows, 8 columns, 16 terms), "mma.m16n8k32.s8" (int32 +=
        int8 * int8, 32 terms), "mma.m16n8k8.tf32" (te.tf32(float32) * te.tf32(float32), 8 terms): products of a warp, whose lanes are threadIdx.x;
        and on sm_90a "wgmma.m64n8k16.bf16" to "wgmma.m64n256k16.bf16" and ".f16" (64 rows, any multiple of 8 columns, 16 terms),
        "wgmma.m64n8k8.tf32" to "wgmma.m64n256k8.tf32" (8 terms, rounded where the operand is kept) and "wgmma.m64n8k32.s8" to
        "wgmma.m64n256k32.s8": products of four warps, whose 128 threads are threadIdx.x, of operands in swizzled shared memory.
        "wmma.load_matrix_a", "wmma.load_matrix_b", "wmma.gemm" and "wmma.store_matrix" are of TVM's stages in wmma.* scopes (docs/cuda.md).
        Raises: ScheduleError if the intrinsic is not declared, the axis is annotated or the stage tensorized already; judged with
        the whole nest: if the loops from the axis on are not those of the intrinsic in number, order and extent, have a tail, are
        annotated or hold another stage, if the stage does not compute the same expression, if a read does not advance by
        the same step with each loop, if a reduction outside of the axis finds no update, if the stage is predicated, kept in
        a buffer that turns, part of a scan or inside a vectorized loop, or if products may saturate; of a product of a warp, if the stage is in no
        launch, binds threadIdx.x, sums across threads too, is local or in virtual threads, or has tiles that reach past an end and operands
        that are no stages in shared memory of its own; of
        one of four warps also if an operand is not in shared memory, has rows of no multiple of 32 bytes, is not swizzled, or lies across the terms and
        the product takes a part of a line; of
        any other intrinsic, if the stage is in a launch.

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
        if key == "wmma.store_matrix":  # TVM's word: results go where they belong by themselves
            if self.name not in self._schedule._accumulated:
                refuse("tensorize", f"{key} must be of a stage whose sums are in wmma.accumulator, and those of {self.name} are not")
            self._name_of("tensorize", axis)
            return
        if not isinstance(key, str):
            refuse("tensorize", f"intrin must be a tensor intrinsic or the name of one, not {intrin!r}")
        self._schedule._tensorize(self.name, self._name_of("tensorize", axis), key, user_line())

    def set_store_predicate(self, predicate):
        """Leave out the elements of this stage for which the condition is false: nobody may read them.

        Before ``for i: P[i] = ...``; after ``for i: if i < 10: P[i] = ...``.

        Parameters: predicate, a condition over the axes of the stage's definition. That the one thread stores a result which a sum across
        threads has, ``thread_x.var.equal(0)`` or ``k.var.equal(0)`` of the loop that is bound, may be said and means nothing new.
        Raises: ScheduleError if it is no condition over these axes, if it speaks of threads otherwise (bind says which of them
        compute what), or if it isn't proved that it holds wherever the stage is
        read (an output is read everywhere, and a scan by its updates); judged with the whole nest.

        >>> C = te.compute((10, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].set_store_predicate(s[B].op.axis[0] < 10)
        >>> s.check()
        """
        if isinstance(predicate, OneThread):
            return self._first_thread(predicate)
        if not isinstance(predicate, _core.Expr):
            refuse("set_store_predicate", f"condition must be an expression over the axes of {self.name}, not {predicate!r}")
        self._schedule._set_store_predicate(self.name, predicate, user_line())

    def _first_thread(self, one):
        tag = one.thread.thread_tag
        bound = [axis for axis, attrs in self.iter_var_attrs.items() if attrs.iter_type == tag and not axis.reduction]
        if one.value != 0 or bound:
            why = f"{bound[0].name} of {self.name} is bound to it" if bound else "the first one has the sum"
            refuse("set_store_predicate", f"condition must not choose the threads that store, as {one} does: {why}, and bind says which threads compute what")

    def disable_predication(self):
        """Compute this stage in whole parts, without conditions where its loops don't divide: the rest is computed too, into padding.

        Before ``for io: for ii: if io * 16 + ii < 30: P[io * 16 + ii] = ...``; after ``for io: for ii: P[io * 16 + ii] = ...``, where P has
        room for 32. It is no Step of its own: wherever a split or tile of this stage with tail="auto" leaves a rest of a data axis,
        before or after this call, it has tail="pad" (docs/schedule.md#tails).

        Raises: ScheduleError for a placeholder, for an output, whose memory is the caller's, and where tail="pad" is refused; the
        schedule is as it was then.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].disable_predication()
        >>> io, ii = s[B].split(s[B].op.axis[0], 48)
        >>> print(s.steps[0])
        B.split(i, factor=48, tail=pad)
        """
        self._schedule._whole_parts(self.name, user_line())
        self._schedule._in_whole_parts.add(self.name)

    def _whole(self):
        return self.name in self._schedule._in_whole_parts

    def transform_layout(self, index_map, *, pad_value=None):
        """Keep this stage, or a parameter, in memory by another map: the element at ``i, j`` stands at ``index_map(i, j)``.

        Before ``P[60, 30]; for i: for j: P[i, j] = ...``; after ``P[4, 30, 16]; for io: for j: for ii: P[io, j, ii] = ...`` for
        ``lambda i, j: [i // 16, j, i % 16]``, and whoever reads P goes through the map. Values don't change.

        The map gives each element a place of its own and leaves none free but by padding: it is made of splits (``//`` and ``%`` by
        numbers), fusions (``i * 30 + j``), permutations and mirrors (``29 - j``), in any order. A dimension that is split is rounded
        up to whole parts, here from 60 to 64, where ``pad_value`` says what the rest holds. A stage computed inside another is laid
        out over what is kept of it there.

        Loops of which no step has spoken are made again in the order of the memory: i.o, j, i.i. Others stay as they are.

        A parameter is a placeholder with ``param=True``: the kernel takes it packed, and ``f.pack`` packs it.

        Parameters: index_map, a function of the data axes of the definition that returns the new indices, or a list of texts over
        their names (of a placeholder ax0, ax1, ...); pad_value, what places without an element hold, None where there are none.
        Returns: the loops over the data, from the outside in; none of a placeholder.
        Raises: ScheduleError for an output and for a placeholder that is no parameter (the caller laid them out: ``cache_write`` or
        ``cache_read`` and transform the copy), for a scan or an extern stage, a stage that has been transformed or aligned
        already, a map that isn't proved to be such a bijection, padding without a pad_value, and a pad_value that the dtype
        doesn't hold. Judged with the whole nest: a region, where the stage is computed inside another, that the map doesn't fit;
        an extern stage that reads it; the stage among the arguments.

        >>> C = te.compute((64, 64), lambda i, j: B[j, i] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> [axis.name for axis in s[B].transform_layout(lambda i, j: [i // 16, j, i % 16])]
        ['i.o', 'j', 'i.i']
        """
        axes = self._schedule._layout_axes(self.name)
        indices = index_map(*[axis for _, axis in axes]) if callable(index_map) else index_map
        if not isinstance(indices, (list, tuple)):
            refuse("transform_layout", f"index_map must return a list of indices, not {indices!r}")
        self._schedule._transform_layout(self.name, list(indices), _pad_text(pad_value), user_line())
        return [axis for axis in self.leaf_iter_vars if not axis.reduction]

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
