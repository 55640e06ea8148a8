"""Builders and runners of one's own, in Python: for boards, simulators and counters that the tuner knows nothing of.

Each candidate passes through Python one by one, is built in this process, and runs in a worker once more than is timed, so that no
time is recorded without a checked output: this is the slow path.
"""

from __future__ import annotations

import math
import os
import shutil
from typing import NamedTuple

from .. import _core
from ..errors import TuneError

__all__ = ["BuildResult", "Builder", "MeasureInput", "MeasureResult", "Runner"]


class BuildResult(NamedTuple):
    """What a Builder made of a candidate: ``filename`` of a shared object, or ``error``, why there is none."""

    filename: str | None = None
    arg_info: tuple = ()
    error: object = None
    time_cost: float = 0.0


class MeasureInput:
    """What is measured: ``target``, ``task``, ``config`` (a Candidate; ``config.instantiate()`` gives the schedule and the tensors)."""

    def __init__(self, target, task, config):
        self.target, self.task, self.config = target, task, config

    def __repr__(self):
        return f"MeasureInput({self.task!r}, {self.config!r})"


class MeasureResult:
    """``costs`` (seconds of each repeat), ``error_no`` (0: ok), ``all_cost``, ``timestamp``; from the tuner ``status`` and ``trial`` too."""

    def __init__(self, costs, error_no=0, all_cost=0.0, timestamp=0.0, *, status=None, trial=None):
        self.costs, self.error_no, self.all_cost, self.timestamp = tuple(costs), error_no, all_cost, timestamp
        self.status = status or ("ok" if error_no == 0 else "crashed")
        self.trial = trial

    @classmethod
    def of(cls, trial):
        failed = not trial.ok and trial.status != "beaten"
        return cls((trial.seconds if trial.ok else math.inf,), int(failed), trial.seconds, status=trial.status, trial=trial)

    def __repr__(self):
        return f"MeasureResult(costs={self.costs}, status={self.status})"


class Builder:
    """Makes shared objects of candidates. Override ``build``; this one builds as ``tw.build`` does, in this process."""

    def build(self, measure_inputs):
        """A list of BuildResults, one for each input. The kernel must have the name ``candidate``."""
        return [self._built(x) for x in measure_inputs]

    def _built(self, measure_input):
        from ..building import build

        path = os.path.join(self.folder, f"{measure_input.config.index}.so")
        schedule, tensors = measure_input.config.instantiate()
        build(schedule, tensors, measure_input.target, "candidate").save(path)
        return BuildResult(path)

    folder = None  # set by the tuner: for files that live as long as the tuning


class Runner:
    """Times candidates. Override ``run``."""

    def run(self, measure_inputs, build_results):
        """A list of MeasureResults, one for each input: ``costs`` in seconds, or an ``error_no`` that is not 0."""
        raise NotImplementedError("a Runner must define run(measure_inputs, build_results)")

    def describe(self):
        """What it measures on: records of other machines never meet. By default this machine."""
        return _core._host_hardware()

    def _core_runner(self, task):
        return _core.PythonRunner(run_hook(self, task), self.describe())


def _only(what, call, results):
    if not isinstance(results, (list, tuple)) or len(results) != 1:
        raise TuneError(f"tune: the {what}'s {call} must return one result for each input, not {results!r}")
    return results[0]


def build_hook(builder, task, folder):
    """What the tuner calls for a candidate: ``hook(index, path)``, "" or why there is no shared object at the path."""
    builder.folder = folder

    def hook(index, path):
        built = _only("builder", "build", builder.build([MeasureInput(task.target, task, task.space[index])]))
        if built.error is not None or built.filename is None:
            return str(built.error or "no file") or "failed"
        shutil.copyfile(built.filename, path)
        return ""

    return hook


def run_hook(runner, task):
    """What the tuner calls for a candidate: ``hook(index, shared object)``, the seconds and "", or why there are none."""

    def hook(index, shared_object):
        measure_input = MeasureInput(task.target, task, task.space[index])
        result = _only("runner", "run", runner.run([measure_input], [BuildResult(shared_object)]))
        if result.error_no != 0:
            return [], f"error number {result.error_no} of the runner"
        return [float(cost) for cost in result.costs], ""

    return hook
