"""Where a stage is computed."""

from __future__ import annotations

from .._location import user_line
from .arguments import refuse


class PlacementSteps:
    """Where ``s[C]`` can be put."""

    __slots__ = ()

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
