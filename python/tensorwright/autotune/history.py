"""Logs: what they hold, their best, joined and shortened, and in scope of a ``with``."""

from __future__ import annotations

import contextlib
import contextvars
import json
import os

from .. import _core
from .._checks import path_of, positive
from ..errors import ArgumentError, LogError

__all__ = ["Record", "apply_history_best", "export_autotvm", "import_autotvm", "load_log", "merge_logs", "pick_best", "prune_log"]

_logs = contextvars.ContextVar("tensorwright_logs", default=())


def current_logs():
    return _logs.get()


def log_path(call, log, name="log"):
    """The path of a log given as a string or a path."""
    return path_of(call, name, log, LogError)


def apply_history_best(*logs):
    """Inside, a template called with arguments returns its best recorded ``(s, tensors)`` for the current target.

    Parameters: logs, paths of logs that ``tune`` wrote; of several, the fastest record counts.
    Raises: LogError for a log that is missing or not ours; inside, NoRecord for a task that no log holds.
    """
    flat = [log for group in logs for log in (group if isinstance(group, (list, tuple)) else [group])]
    paths = tuple(log_path("apply_history_best", log, "logs") for log in flat)
    for path in paths:
        _core._load_log(path)
    return _applied(paths)


@contextlib.contextmanager
def _applied(paths):
    token = _logs.set(paths)
    try:
        yield
    finally:
        _logs.reset(token)


class Record:
    """One line of a log: ``kind`` ("trial", or "confirm": a leader timed again), ``task``, ``args``, ``call`` (the two as people
    write them), ``hash`` (of the computation), ``target``, ``threads``, ``hardware``, ``knobs``, ``steps``, ``status``, ``ok``,
    ``seconds``, ``spread``, ``runs``, ``detail``, ``flops`` (of one call), ``seed``, ``version``, ``time``."""

    _OWN = ("kind", "task", "call", "hash", "target", "threads", "hardware", "flops", "seed", "version", "time")
    _TRIALS = ("status", "ok", "seconds", "spread", "runs", "detail")

    def __init__(self, core):
        self._core = core
        for name in self._OWN:
            setattr(self, name, getattr(core, name))
        for name in self._TRIALS:
            setattr(self, name, getattr(core.trial, name))
        self.args = json.loads(core.args)
        self.knobs = json.loads(core.trial.knobs)

    @property
    def steps(self):
        return json.loads(self._core.trial.steps)

    @property
    def gflops(self):
        """Arithmetic of the declared computation per second, in 10^9; 0 where it is not known."""
        return self.flops / self.seconds / 1e9 if self.ok and self.seconds else 0.0

    def __repr__(self):
        return f"Record({self.kind}, {self.call}, {self.status}, {self.seconds * 1e3:.4g} ms)"


def load_log(log):
    """The records of a log, in their order. Damaged lines are left out: ``tw log check`` names them.

    Raises: LogError for a file that is missing, not a log, or of a newer release.
    """
    return [Record(core) for core in _core._load_log(log_path("load_log", log))[0]]


def pick_best(log, output=None):
    """The fastest record of each task, target, thread count and machine in a log.

    Parameters: log, a path; output, a path to which their lines are written, as a log of its own.
    Returns: a list of Records.
    """
    path = log_path("pick_best", log)
    best = [Record(core) for core in _core._pick_best(path)]
    if output is not None:
        _core._write_best(path, log_path("pick_best", output, "output"))
    return best


def merge_logs(logs, output):
    """Write all valid lines of several logs, each once, to ``output``.

    Returns: a dict: "kept", "repeated" (lines that were there already), "dropped", a list of (path, line, why).
    Raises: LogError for a file that is not a log, and for an output that exists and is none of ``logs``.
    """
    if isinstance(logs, (str, os.PathLike)):
        raise ArgumentError(f"merge_logs: logs must be a list of paths, not {logs!r}")
    return _core._merge_logs([log_path("merge_logs", log, "logs") for log in logs], log_path("merge_logs", output, "output"))


def prune_log(log, output=None, keep=1):
    """Keep the fastest ``keep`` configurations of each task, with their confirmations, in ``output`` (by default in place).

    Returns: a dict: "kept", "worse" (records left out), "dropped", a list of (path, line, why).
    """
    path = log_path("prune_log", log)
    written = path if output is None else log_path("prune_log", output, "output")
    return _core._prune_log(path, written, positive("prune_log", "keep", keep))


def import_autotvm(log, output, task=None):
    """Write a log of AutoTVM, format 0.2, as one of ours to ``output``, which must not exist.

    Its lines say which knobs were chosen and how long it took, not what was computed. With ``task``, a Task whose template has
    these knobs, they become its measurements, from which ``tune`` goes on; without, they can only be looked at.
    Returns: a dict: "kept", "dropped", a list of (path, line, why).
    Raises: LogError for a file in which no line is of that format, and for an output that exists.
    """
    if task is not None and not hasattr(task, "_core"):
        raise ArgumentError(f"import_autotvm: task must be a tw.autotune.Task or None, not {task!r}")
    return _core._import_autotvm(log_path("import_autotvm", log), log_path("import_autotvm", output, "output"), task and task._core)


def export_autotvm(log, output):
    """Write the records of a log in the format of AutoTVM 0.2 to ``output``, which must not exist; ``import_autotvm`` brings them
    back as they were.

    Returns: a dict: "kept", "dropped", a list of (path, line, why).
    Raises: LogError for a file that is not a log, and for an output that exists.
    """
    return _core._export_autotvm(log_path("export_autotvm", log), log_path("export_autotvm", output, "output"))
