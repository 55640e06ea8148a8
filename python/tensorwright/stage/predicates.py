"""Which elements of a stage are computed: fewer than its definition has, or more."""

from __future__ import annotations

from .. import _core
from .._location import user_line
from ..loops import OneThread
from .arguments import refuse


class PredicateSteps:
    """What ``s[C]`` can do with conditions."""

    __slots__ = ()

    def set_store_predicate(self, predicate):
        """Leave out the elements of this stage for which the condition is false: nobody may read them.

        Before ``for i: P[i] = ...``; after ``for i: if i < 10: P[i] = ...``.

        Parameters: predicate, a condition over the axes of the stage's definition. That the one thread stores a result which a sum across
        threads has, ``thread_x.var.equal(0)`` or ``k.var.equal(0)`` of the loop that is bound, may be said and means nothing new.
        Raises: ScheduleError if it is no condition over these axes, if it speaks of threads otherwise (bind says which of them
        compute what), or if it isn't proved that it holds wherever the stage is
        read (an output is read everywhere, and a scan by its updates; what is read under a condition of indices, there only); judged
        with the whole nest.

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
