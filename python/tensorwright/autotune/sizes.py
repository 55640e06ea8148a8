"""Tuning of kernels whose size varies: at several sizes, each with its own best schedule."""

from __future__ import annotations

from .. import _core
from .._checks import is_positive
from ..errors import ArgumentError
from ..schedule import Schedule
from ..target import as_target
from .task import Task

__all__ = ["SizedResult", "tasks_of"]


def tasks_of(tensors, sizes, target):
    """The variable, all others with their values, the tensors, and the tasks by the variable's values, ascending."""
    if isinstance(tensors, _core.Tensor):
        tensors = [tensors]
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, _core.Tensor) for t in tensors):
        raise ArgumentError(f"tune: with sizes the first argument must be a list of tensors, not {tensors!r}")
    if not isinstance(sizes, dict) or not all(isinstance(size, _core.Var) for size in sizes):
        raise ArgumentError(f"tune: sizes must be a dict of te.vars and their values, not {sizes!r}", "sizes={n: [1, 8, 64, 512]}")
    for size, values in sizes.items():
        if not is_positive(values) and not (isinstance(values, (list, tuple)) and values and all(map(is_positive, values))):
            raise ArgumentError(f"tune: the sizes of {size.name} must be a list of positive integers, not {values!r}")
        if not any(isinstance(e, _core.Var) and e.same_as(size) for t in tensors for e in t.shape):
            raise ArgumentError(f"tune: {size.name} must be an extent of the tensors")
    others = {size: value for size, value in sizes.items() if is_positive(value)}
    if len(others) != len(sizes) - 1:
        raise ArgumentError("tune: sizes must have a list of values for one te.var, by which the kernel chooses its schedule, and a number for "
                            f"each other, not {sizes!r}", "sizes={n: [1, 8, 64, 512], m: 128}")
    [(size, values)] = [(size, value) for size, value in sizes.items() if not is_positive(value)]
    target, tensors = as_target(target), list(tensors)
    return size, others, tensors, {value: Task.at_size(tensors, size, value, target, others=others) for value in sorted(set(values))}


class SizedResult:
    """``results`` (a TuneResult for each size), ``kernel`` (an ``aot.BySize``: for each range of sizes up to one of these the schedule
    that loses least in it, beyond the largest size that of the last range), ``target``."""

    def __init__(self, size, tensors, results, target, ranges):
        self.results, self.target = results, target
        self._size, self._tensors, self._ranges = size, tensors, ranges

    @property
    def kernel(self):
        from ..aot import BySize

        best = {}
        for i, (value, r) in enumerate(self.results.items()):
            best[value] = Schedule(r._task._core.built(self._ranges[i] if self._ranges else r._found()._core)[0])
        return BySize._of_best(self._size, best, self._tensors)

    def build(self, name=None):
        """The kernel as a function. Measures nothing."""
        return self.kernel.__tw_build__(self.target, name)

    def __repr__(self):
        return f"SizedResult({self._size.name}: {self.results})"
