"""Many tasks, one budget."""

from __future__ import annotations

from .. import _core
from ..errors import ArgumentError
from .ray_runner import RayRunner
from .rpc_runner import RPCRunner
from .tuner import Bar, TuneResult, as_task, core_options

__all__ = ["TaskScheduler"]


class TaskScheduler:
    """Spends one budget on many tasks: the next batch goes to the task where it should save most.

    Parameters: tasks, Tasks or lists of tensors; weights, how often each kernel runs in the whole, by default once; target, of
    lists of tensors.
    """

    def __init__(self, tasks, weights=None, *, target=None):
        if not isinstance(tasks, (list, tuple)) or not tasks:
            raise ArgumentError(f"TaskScheduler: tasks must be a list that is not empty, not {tasks!r}")
        self.tasks = [as_task(task, target) for task in tasks]
        self.weights = [1.0] * len(self.tasks) if weights is None else [float(w) for w in weights]
        if len(self.weights) != len(self.tasks):
            raise ArgumentError(f"TaskScheduler: {len(self.tasks)} tasks need as many weights, not {len(self.weights)}")

    def tune(self, *, trials=64, log=None, seed=0, search="evolutionary", model="auto", early_stop=None, stop_without_gain=False,
             model_file=None, transfer=(), timeout=10, number=None, repeat=None, progress=True, runner=None):
        """Measure, ``trials`` in all; the other options are those of ``tw.autotune.tune``, runner a RayRunner, an RPCRunner or None.

        Returns: a list of TuneResults in the order of the tasks.
        """
        options = core_options(trials=trials, log=log, seed=seed, search=search, model=model, early_stop=early_stop,
                               stop_without_gain=stop_without_gain, model_file=model_file, transfer=transfer, timeout=timeout,
                               number=number, repeat=repeat)
        if runner is not None and not isinstance(runner, (RayRunner, RPCRunner)):
            raise ArgumentError(f"TaskScheduler: runner must be a RayRunner, an RPCRunner or None, not {runner!r}")
        bar = Bar(f"{len(self.tasks)} tasks", trials) if progress else None
        try:
            results = _core.tune_many([task._core for task in self.tasks], self.weights, options, bar,
                                      runner and runner._core_runner())
        finally:
            if bar is not None:
                bar.close()
        return [TuneResult(task, core) for task, core in zip(self.tasks, results)]
