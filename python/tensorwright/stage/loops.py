"""Steps on the loops themselves: how many there are, in which order, and how each of them runs."""

from __future__ import annotations

from .._location import user_line
from ..errors import ExprError
from .arguments import all_or_none, factor_of, refuse, word


class LoopSteps:
    """What ``s[C]`` can do with its loops."""

    __slots__ = ()

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
        a reduction axis of what is no sum, on an output's own axis or a scan, on a loop that is not the whole of an axis, or to a
        size that no memory has or that is no number. Judged with the whole nest: shift_inward on a reduction axis, inside a
        reduction loop or in a parallel loop, where visiting a value twice would change the result; pad of a stage that is an
        argument, that an extern stage reads, that is part of a scan, or that rolling_buffer keeps.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, factor=16, tail="mask")
        >>> io.extent, ii.name
        (4, 'i.i')
        """
        if disable_predication:
            tail = "pad" if tail == "auto" else refuse("split", f"tail must be left out beside disable_predication, not {tail!r}")
        name = self._name_of("split", axis)
        sizes = factor_of("split", "factor", factor), factor_of("split", "nparts", nparts)
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
        factors = factor_of("tile", "x_factor", x_factor), factor_of("tile", "y_factor", y_factor)
        for field, factor in zip(("x_factor", "y_factor"), factors):
            if factor is None:
                refuse("tile", f"{field} must be a positive integer, not None")
        self._schedule._tile(self.name, x, y, *factors, word("tile", "tail", tail), self._whole(), user_line())
        return tuple(self._axis(name) for name in (x + ".o", y + ".o", x + ".i", y + ".i"))

    def fuse(self, *axes):
        """Make one loop of several that stand directly inside each other, given from the outside in, or each behind the one that it stands
        directly around: the values come in the order of the loops.

        Before ``for i in range(n): for j in range(m)``; after ``for f in range(n * m)`` with ``i = f // m, j = f % m``.

        Returns: the fused axis, named after its parts. One axis stays as it is; none of them, as of a tensor without dimensions,
        make a loop of one iteration around all others, of a scan inside of its time.
        Raises: ScheduleError if they are not directly inside each other, are annotated, mix data and reduction axes, or have more than
        2**63 - 1 iterations together.

        >>> s = te.create_schedule(B)
        >>> s[B].fuse(i, j)
        Axis(B: i*j, 0..4096)
        """
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = axes[0]
        names = self._outside_in([self._name_of("fuse", axis) for axis in axes])
        self._schedule._fuse(self.name, names, user_line())
        return self._axis("*".join(names)) if names else self.leaf_iter_vars[1 if self._is_scan() else 0]

    def _is_scan(self):
        try:
            return self.op.scan_axis is not None
        except ExprError:
            return False

    def _outside_in(self, names):
        """Each that stands directly around those before it is put in front of them."""
        place = {axis.name: n for n, axis in enumerate(self.leaf_iter_vars)}
        ordered = names[:1]
        for name in names[1:]:
            around = name in place and place.get(ordered[0]) == place[name] + 1
            ordered.insert(0 if around else len(ordered), name)
        return ordered

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
            factor = factor_of("unroll", "factor", factor)
            if factor.size:
                refuse("unroll", f"factor must be a positive integer, not {factor.size}: the copies stand in the code")
            outer, axis = self.split(axis, factor)
        self._schedule._unroll(self.name, self._name_of("unroll", axis), user_line())
        return None if factor is None else (outer, axis)

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
        with all_or_none(self._schedule):
            if chunk is not None:
                axis, inner = self.split(axis, chunk)
            self._schedule._parallel(self.name, self._name_of("parallel", axis), user_line())
        return None if chunk is None else (axis, inner)

    def pragma(self, axis, key, value=None):
        """Attach a hint to a loop: "auto_unroll_max_step" or "unroll_explicit".

        Before ``for i: for j: body``; after ``pragma(i, "auto_unroll_max_step", 16)``: the loops at and inside i are unrolled while that
        makes at most 16 statements. "unroll_explicit" of 0 leaves that unrolling to the code generator.

        Raises: ScheduleError for other keys, a negative value, or more than 4096 statements (TW_MAX_UNROLL).

        >>> s = te.create_schedule(B)
        >>> s[B].pragma(i, "auto_unroll_max_step", 16)
        """
        value = 1 if value is None else factor_of("pragma", "value", int(value) if isinstance(value, bool) else value).value
        self._schedule._pragma(self.name, self._name_of("pragma", axis), word("pragma", "key", key), value, user_line())
