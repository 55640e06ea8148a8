"""Reports: logs as pages."""

from __future__ import annotations

import os

from .. import _core
from ..errors import ArgumentError
from .history import log_path
from .task import Task

__all__ = ["report"]


def written(page, output):
    """The path to which the page was written, or the page itself without one."""
    if output is None:
        return page
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as e:
        raise ArgumentError(f"report: {output} cannot be written: {e.strerror}") from None
    return output


def report(log, output=None, *, task=None):
    """A log as one HTML page: for each task the curve, the roofline, failures, what the best has and the rest does not, and the
    best schedule as Python and as C.

    Parameters: log, a path; output, a path to write to; task, whose records are shown: a log holds no computations, so only a
    task, or a stock operator that the log names, has code.
    Returns: the path, or the text without one.
    Raises: LogError for a log that is missing or not ours, NoRecord for one without measurements.
    """
    if task is not None and not isinstance(task, Task):
        raise ArgumentError(f"report: task must be a tw.autotune.Task, not {task!r}")
    path = log_path("report", log)
    page = _core._report_log(path, None if task is None else task._core, f"Tuning report: {os.path.basename(path)}")
    return written(page, output)
