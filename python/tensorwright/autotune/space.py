"""Spaces and their candidates."""

from __future__ import annotations

import json
import operator

from ..schedule import Schedule

__all__ = ["Candidate", "Space"]


class Candidate:
    """One point of a space: ``index``, ``knobs`` (a dict), ``steps``, ``instantiate()``."""

    def __init__(self, task, index):
        self._task = task
        self.index = index
        self.knobs = json.loads(task._core.describe(index))

    @property
    def steps(self):
        """The Steps, as ``Schedule.steps`` gives them."""
        return json.loads(self._task._core.steps(self.index))

    def instantiate(self):
        """``(schedule, tensors)``; raises ScheduleError for a candidate that is no legal schedule."""
        schedule, tensors = self._task._core.candidate(self.index)
        return Schedule(schedule), tensors

    def __getitem__(self, name):
        return self.knobs[name]

    def __eq__(self, other):
        return isinstance(other, Candidate) and self._task is other._task and self.index == other.index

    def __hash__(self):
        return hash(self.index)

    def __str__(self):
        return json.dumps(self.knobs)

    def __repr__(self):
        return f"Candidate({self.index}, {self})"


class Space:
    """The candidates of a task: ``len(space)``, ``space[i]``, ``print(space)``."""

    def __init__(self, task):
        self._task = task

    def __len__(self):
        return self._task._core.space_size()

    def __getitem__(self, index):
        number = operator.index(index)
        if number < 0:
            number += len(self)
        if not 0 <= number < len(self):
            raise IndexError(f"index {index} is outside a space of {len(self)} points")
        return Candidate(self._task, number)

    def get(self, index):
        """``space[index]``."""
        return self[index]

    def is_index_valid(self, index):
        """Whether the candidate of this index is a legal schedule that no filter leaves out."""
        return 0 <= index < len(self) and self._task._core.is_legal(index)

    def __iter__(self):
        return (Candidate(self._task, i) for i in range(len(self)))

    def __str__(self):
        return self._task._core.space_text().rstrip()

    __repr__ = __str__
