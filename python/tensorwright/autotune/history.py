"""The best of earlier logs, in scope of a ``with``."""

from __future__ import annotations

import contextlib
import contextvars
import os

from .. import _core

__all__ = ["apply_history_best"]

_logs = contextvars.ContextVar("tensorwright_logs", default=())


def current_logs():
    return _logs.get()


@contextlib.contextmanager
def apply_history_best(*logs):
    """Inside, a template called with arguments returns its best recorded ``(s, tensors)`` for the current target.

    Parameters: logs, paths of logs that ``tune`` wrote; of several, the fastest record counts.
    Raises: LogError for a log that is missing or not ours; inside, NoRecord for a task that no log holds.
    """
    flat = [log for group in logs for log in (group if isinstance(group, (list, tuple)) else [group])]
    for log in flat:
        _core._check_log(os.fspath(log))
    token = _logs.set(tuple(flat))
    try:
        yield
    finally:
        _logs.reset(token)
