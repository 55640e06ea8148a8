"""Tasks: a template with its arguments and a target."""

from __future__ import annotations

import json

from .. import _core
from ..errors import TuneError
from ..schedule import Schedule
from ..target import as_target
from . import template as templates
from .history import log_path
from .space import Space

__all__ = ["Task"]


def _json_args(args):
    if isinstance(args, str) or not isinstance(args, (tuple, list)):
        raise TuneError(f"Task: args must be a tuple of the template's arguments, not {args!r}")
    try:
        return json.dumps([_plain(a) for a in args], allow_nan=False)
    except (TypeError, ValueError):
        allowed = "numbers, strings, bools, None, or tuples of them"
        raise TuneError(f"Task: args must be {allowed}, not {args!r}") from None


def _plain(value):
    """NumPy's numbers as Python's."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


class Task:
    """A template to be tuned for these arguments and this target.

    Parameters: template, one that ``@template`` made, its name, or a function (cfg, *args); args, a tuple; target, a string or
    tw.Target, by default the current one. A schedule may pack the placeholders that are declared with ``param=True``: they are
    packed once before a candidate is timed, and ``f.pack`` does it for the function that ``tw.build(task)`` gives.
    Attributes: name, args, target, space.
    Raises: TuneError if the template raises, returns something else than (schedule, [tensors]), or is not deterministic.
    """

    def __init__(self, template, args=(), target=None):
        self.template = templates.find(template)
        self.args = tuple(args) if isinstance(args, (list, tuple)) else args
        text = _json_args(args)
        self.target = as_target(target)
        run = lambda cfg: templates.run(self.template, cfg, self.args)  # noqa: E731
        self._core = _core.TuneTask(self.template.name, text, run, self.target)

    @property
    def name(self):
        return self.template.name

    @property
    def space(self):
        """All candidates; ``len``, index and print it."""
        return Space(self)

    @property
    def branching(self):
        """Whether the template looks at knobs' values, and so runs again for each value that it looks at."""
        return self._core.branching()

    def _best_of(self, logs):
        schedule, tensors = self._core.replay_best(list(logs))
        return Schedule(schedule), tensors

    def __tw_build__(self, target=None, name=None, log=None):
        if log is None:
            raise TuneError("build: a task is built from a log of measurements; pass log=...")
        if target is not None:
            return Task(self.template, self.args, target).__tw_build__(name=name, log=log)
        return self._core.build(log_path(log), name or "")

    def __repr__(self):
        return f"Task({self.name}, args={self.args}, target={str(self.target)!r}, {len(self.space)} candidates)"
