"""The best of earlier logs, in scope of a ``with``."""

from __future__ import annotations

import contextlib
import contextvars
import os

from .. import _core
from ..errors import LogError

__all__ = ["apply_history_best"]

_logs = contextvars.ContextVar("tensorwright_logs", default=())


def current_logs():
    return _logs.get()


def log_path(log):
    """The path of a log given as a string or a path."""
    try:
        return os.fspath(log)
    except TypeError:
        raise LogError(f"a tuning log must be named by a path, not {type(log).__name__} {log!r}") from None


def apply_history_best(*logs):
    """Inside, a template called with arguments returns its best recorded ``(s, tensors)`` for the current target.

    Parameters: logs, paths of logs that ``tune`` wrote; of several, the fastest record counts.
    Raises: LogError for a log that is missing or not ours; inside, NoRecord for a task that no log holds.
    """
    flat = [log for group in logs for log in (group if isinstance(group, (list, tuple)) else [group])]
    paths = tuple(log_path(log) for log in flat)
    for path in paths:
        _core._check_log(path)
    return _applied(paths)


@contextlib.contextmanager
def _applied(paths):
    token = _logs.set(paths)
    try:
        yield
    finally:
        _logs.reset(token)
