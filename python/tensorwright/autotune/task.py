"""Tasks: a computation with a space of schedules, and a target."""

from __future__ import annotations

import json

from .. import _core
from .._checks import is_positive
from ..errors import ArgumentError, TuneError
from ..schedule import Schedule
from ..target import as_target
from . import template as templates
from .history import log_path
from .entity import ConfigEntity
from .machine import as_machine
from .space import Candidate, Space

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


def _tensors(value):
    """The list, if the value is a tensor or a list of nothing else."""
    values = [value] if isinstance(value, _core.Tensor) else value
    return list(values) if isinstance(values, (list, tuple)) and any(isinstance(v, _core.Tensor) for v in values) else None


class Task:
    """A computation to be tuned for a target: tensors from which a space of schedules is derived, or a template.

    Parameters: template, the tensors that the kernel takes (placeholders and outputs, in the order of its arguments), or one
    that ``@template`` made, its name, or a function (cfg, *args); args, the template's, a tuple; target, a string or tw.Target,
    by default the current one; name, of a task of tensors, for the log. A schedule may pack the placeholders that are declared
    with ``param=True``: they are packed once before a candidate is timed, and ``f.pack`` does it for the function that
    ``tw.build(task)`` gives.
    Attributes: name, args, target, space.
    Raises: TuneError if a template raises, returns something else than (schedule, [tensors]), or is not deterministic, and for
    tensors without an output or with an extent that is not known.

    >>> from tensorwright import te
    >>> A = te.placeholder((64, 100), name="A")
    >>> B = te.compute((64, 100), lambda i, j: A[i, j] * 2, name="B")
    >>> task = Task([A, B])
    >>> len(task.space) > 1
    True
    """

    def __init__(self, template, args=(), target=None, *, name=None):
        self.target = as_target(target)
        tensors = _tensors(template)
        if tensors is not None:
            self._of_tensors(tensors, args, name)
            return
        if name is not None:
            raise TuneError(f"Task: name is for a task of tensors; a template has its own, not {name!r}")
        self.template = templates.find(template)
        self.args = tuple(args) if isinstance(args, (list, tuple)) else args
        text = _json_args(args)
        run = lambda cfg: templates.run(self.template, cfg, self.args)  # noqa: E731
        self._core = _core.TuneTask(self.template.name, text, run, self.target)

    def _of_tensors(self, tensors, args, name):
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, _core.Tensor):
                raise TuneError(f"Task: the list must hold tensors only, not {tensor!r} at {i}")
        if args != ():
            raise TuneError("Task: args are a template's; a list of tensors is complete without them")
        if name is not None and (not isinstance(name, str) or not name):
            raise TuneError(f"Task: name must be a string that is not empty, not {name!r}")
        self.template, self.args = None, ()
        self._core = _core.TuneTask(tensors, self.target, name or "")
        self._again = lambda target: Task(tensors, target=target, name=name)

    @classmethod
    def at_size(cls, tensors, size, value, target=None, *, name=None, others=None):
        """The task of tensors of any size at one: its candidates are kernels that take any size, and are measured at this one.

        Parameters: tensors, as of a Task; size, the ``te.var`` in their extents; value, a positive integer; target; name; others, a
        dict of all other variables in their extents, and where they are meanwhile.
        Raises: ArgumentError for a size that is no variable; TuneError for a variable without a value, for params, scans and
        externs, and for targets that are no CPU.

        >>> from tensorwright import te
        >>> n = te.var("n")
        >>> A = te.placeholder((n, 64), name="A")
        >>> B = te.compute((n, 64), lambda i, j: A[i, j] * 2, name="B")
        >>> Task.at_size([A, B], n, 8).args
        {'n': 8}
        """
        if not isinstance(size, _core.Var):
            raise ArgumentError(f"Task.at_size: size must be a te.var, not {size!r}")
        if not isinstance(others or {}, dict) or not all(isinstance(v, _core.Var) for v in others or {}):
            raise ArgumentError(f"Task.at_size: others must be a dict of te.vars and their values, not {others!r}")
        for var, where in {size: value, **(others or {})}.items():
            if not is_positive(where):
                raise ArgumentError(f"Task.at_size: {var.name} must be a positive integer, not {where!r}")
        task = cls.__new__(cls)
        task.target = as_target(target)
        task._core = _core.TuneTask.at_size(_tensors(tensors) or [], task.target, size, value, name or "", list((others or {}).items()))
        task.template, task.args = None, json.loads(task._core.args())
        task._again = lambda target: Task.at_size(tensors, size, value, target, name=name, others=others)
        return task

    @classmethod
    def stock(cls, operator, parameters, target=None):
        """The task of a stock operator: ``Task.stock("matmul", {"M": 257, "N": 513, "K": 1025})``.

        Parameters: operator, its name; parameters, a dict of its sizes and options; target.
        Raises: ArgumentError for a name or a parameter that does not exist; it lists those that do.
        """
        if not isinstance(operator, str):
            raise ArgumentError(f"tune: the operator must be named by a string, not {operator!r}")
        task = cls.__new__(cls)
        task.target = as_target(target)
        task._core = _core.TuneTask.stock(operator, {name: _text(name, v) for name, v in parameters.items()}, task.target)
        task.template, task.args = None, json.loads(task._core.args())
        task._again = lambda other: Task.stock(operator, parameters, other)
        return task

    @property
    def name(self):
        return self._core.name()

    @property
    def space(self):
        """All candidates; ``len``, index and print it."""
        return Space(self)

    @property
    def branching(self):
        """Whether the template looks at knobs' values, and so runs again for each value that it looks at."""
        return self._core.branching()

    def on(self, target):
        """The same computation for another target."""
        return Task(self.template, self.args, target) if self.template is not None else self._again(target)

    def instantiate(self, config):
        """``(schedule, tensors)`` of a candidate, or of a ConfigEntity whose knobs are a point of this space.

        Raises: TuneError or ArgumentError for knobs that are none; ScheduleError for what is no legal schedule.
        """
        if isinstance(config, ConfigEntity):
            config = self.space[self._core.find(json.dumps(config.knobs))]
        if not isinstance(config, Candidate):
            raise ArgumentError(f"instantiate: config must be a candidate of the space or a ConfigEntity, not {config!r}")
        return config.instantiate()

    def _best_of(self, logs):
        schedule, tensors = self._core.replay_best(list(logs))
        return Schedule(schedule), tensors

    def __tw_build__(self, target=None, name=None, log=None, machine=None):
        if log is None:
            raise TuneError("build: a task is built from a log of measurements; pass log=...")
        if target is not None:
            return self.on(target).__tw_build__(name=name, log=log, machine=machine)
        return self._core.build(log_path("build", log), name or "", as_machine(machine))

    def __repr__(self):
        return f"Task({self.name}, args={self.args}, target={str(self.target)!r}, {len(self.space)} candidates)"


def _text(name, value):
    """A parameter as the operators' table reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "x".join(_text(name, v) for v in value)
    if isinstance(value, (str, int, float)):
        return str(value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return _text(name, value.item())
    raise ArgumentError(f"tune: {name} must be a number, a string, a bool or a list of them, not {value!r}")
