"""Templates: functions that declare a computation and schedule it with knobs."""

from __future__ import annotations

import functools
import itertools

from .. import _core
from ..errors import Error, TuneError
from ..schedule import Schedule
from .config import Config

__all__ = ["Template", "template"]

_by_name = {}


class Template:
    """A registered template. ``dense(257, 513, 1025)`` gives ``(s, args)``: the best recorded schedule inside
    ``apply_history_best``, and elsewhere the one in which every knob has its first value, or what ``cfg.fallback_split`` says."""

    def __init__(self, name, function):
        functools.update_wrapper(self, function)
        self.name = name
        self.function = function
        self.has_fallback = False  # it has asked for cfg.is_fallback

    def __call__(self, *args):
        from .history import current_logs
        from .task import Task

        logs = current_logs()
        task = Task(self, args)
        if logs:
            return task._best_of(logs)
        nearest = itertools.islice(task.space, 256)
        first = next((c for c in nearest if task.space.is_index_valid(c.index)), task.space[0])
        if not self.has_fallback:
            return first.instantiate()
        schedule, tensors = run_with(self, Config(task._core.config(first.index), fallback=True), task.args)
        return Schedule(_core._plain(schedule)), tensors

    def __repr__(self):
        return f"Template({self.name})"


def template(name=None):
    """Register a template: ``@tw.autotune.template("dense")`` above ``def dense(cfg, M, N, K)``.

    The function gets a Config and the task's arguments, and returns ``(schedule, [tensors])``. It must give the same each time
    it runs with the same knobs. It runs twice when a Task is made, and not while tuning, unless it looks at a knob's value:
    then once for each value that it looks at.
    """
    if callable(name):
        return template()(name)

    def register(function):
        made = Template(function.__name__ if name is None else name, function)
        _by_name[made.name] = made
        return made

    if name is not None and (not isinstance(name, str) or not name):
        raise TuneError(f"template: name must be a string that is not empty, not {name!r}")
    return register


def find(template_or_name):
    """A Template from itself, a plain function, or a name."""
    if isinstance(template_or_name, Template):
        return template_or_name
    if isinstance(template_or_name, str):
        if template_or_name in _by_name:
            return _by_name[template_or_name]
        known = ", ".join(sorted(_by_name)) or "none"
        raise TuneError(f"there is no template {template_or_name!r}; registered: {known}")
    if callable(template_or_name):
        return Template(getattr(template_or_name, "__name__", "template"), template_or_name)
    raise TuneError(f"Task: the first argument must be a template or its name, not {template_or_name!r}")


def run(template, core_config, args):
    """Call the template and check what it returns: (core schedule, tensors)."""
    return run_with(template, Config(core_config), args)


def run_with(template, config, args):
    try:
        result = template.function(config, *args)
        template.has_fallback = template.has_fallback or config._asked
    except Error:
        raise
    except Exception as e:
        raise TuneError(f"the template {template.name} raised {type(e).__name__}: {e}") from e
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TuneError(f"the template {template.name} must return (schedule, [tensors]), not {_brief(result)}")
    schedule, tensors = result
    if not isinstance(schedule, _core.Schedule):
        raise TuneError(f"the template {template.name} must return a schedule first, not {_brief(schedule)}")
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise TuneError(f"the template {template.name} must return a list of tensors second, not {_brief(tensors)}")
    for tensor in tensors:
        if not isinstance(tensor, _core.Tensor):
            raise TuneError(f"the template {template.name} must return tensors in its list, not {_brief(tensor)}")
    return schedule, list(tensors)


def _brief(value):
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) < 80 else text[:77] + '...'}"
