"""From a schedule to a function that runs."""
from . import _core
from .errors import ArgumentError
from .schedule import Schedule
from .target import as_target

__all__ = ["build", "default_schedule", "lower"]


def _tensors(call, args):
    if isinstance(args, _core.Tensor):
        args = [args]
    if not isinstance(args, (list, tuple)):
        raise ArgumentError(f"{call}: args must be a list of tensors, not {type(args).__name__}")
    for i, arg in enumerate(args):
        if not isinstance(arg, (_core.Tensor, _core.Var)):
            raise ArgumentError(
                f"{call}: args[{i}] must be a tensor of te or a te.var, not {type(arg).__name__}",
                "arrays are passed when the built function is called",
            )
    return [arg for arg in args if isinstance(arg, _core.Tensor)]


def _scalars(args):
    """The variables among the arguments, each with the number of tensors before it."""
    args = args if isinstance(args, (list, tuple)) else [args]
    return [(arg, sum(isinstance(a, _core.Tensor) for a in args[:i])) for i, arg in enumerate(args) if isinstance(arg, _core.Var)]


def _schedule(call, schedule):
    if not isinstance(schedule, _core.Schedule):
        raise ArgumentError(
            f"{call}: the first argument must be a schedule or a list of tensors, not {type(schedule).__name__}",
            "s = te.create_schedule(C); tw.build(s, [A, B, C])",
        )
    return schedule


def _name(call, name):
    if name is None:
        return "kernel"
    if not isinstance(name, str):
        raise ArgumentError(f"{call}: name must be a string, not {type(name).__name__}")
    return name


def _outputs(call, tensors):
    outputs = [tensor for tensor in tensors if not tensor.op.is_placeholder]
    if not outputs:
        raise ArgumentError(f"{call}: at least one of args must be computed, not a placeholder")
    return outputs


class Kernels(dict):
    """The functions that ``tw.build({...})`` compiled together, by their names."""

    def save(self, path):
        """Write all of them as one object, shared object or, of target c, C file, and a header; ``tw.load(path, name)`` loads one."""
        self._any().save(path)

    def source(self, kind="ir"):
        """The text of all of them, as ``source`` of a function."""
        return self._any().source(kind)

    def _any(self):
        return next(iter(self.values()))


def _several(kernels, target):
    if not kernels:
        raise ArgumentError("build: the dict of kernels must not be empty", 'tw.build({"a": (s, [A, B]), "b": (t, [C, D])})')
    target, declared = as_target(target), []
    for name, given in kernels.items():
        call = f"build {name!r}"
        if isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], _core.Tensor):
            schedule, args = _schedule(call, given[0]), given[1]
        else:
            schedule, args = None, given
        tensors = _tensors(call, args)
        if schedule is None:
            schedule = _core._default_schedule(_outputs(call, tensors), target)
        declared.append((_name("build", name), schedule, tensors, _scalars(args)))
    return Kernels(zip(kernels, _core._build_all(declared, target)))


def build(schedule, args=None, target=None, name=None, *, log=None, machine=None):
    """Compile a schedule to a function.

    Parameters: schedule, of ``te.create_schedule``, or in its place the list of arguments, which is then scheduled by
    ``tw.default_schedule`` or, with log, by the best that the log holds for them, or an ``autotune.Task``, which is built from
    its log, or a dict of kernels, each by its name ``(schedule, args)`` or a list of arguments, which become one object; args, the
    tensors that the function takes, in this order: placeholders and outputs, and intermediates that should
    be written out; target, a ``tw.Target`` or its text, by default the current one; name, a C identifier; machine, a
    ``tw.autotune.Machine`` for which the log's records are chosen, by default the one that we run on. A ``te.var`` among
    the args is a scalar argument; the extents that are variables are read off the arrays' shapes at each call.
    Returns: a function that takes one array per tensor, a number per variable, and writes the outputs in place; for a dict a dict
    of them, with ``save(path)`` and ``source(kind)`` of the whole.
    Raises: ScheduleError when the schedule as a whole is not legal, ArgumentError for bad arguments, TargetError, LogError and
    NoRecord for a log that is none or does not hold it.

    >>> import numpy as np
    >>> import tensorwright as tw
    >>> from tensorwright import te
    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] + 1, name="B")
    >>> f = tw.build([A, B])
    >>> b = np.zeros(4, "float32")
    >>> f(np.arange(4, dtype="float32"), b)
    >>> b.tolist()
    [1.0, 2.0, 3.0, 4.0]
    >>> C = te.compute((4,), lambda i: A[i] * 2, name="C")
    >>> both = tw.build({"add": [A, B], "double": (te.create_schedule(C), [A, C])})
    >>> both["double"](np.arange(4, dtype="float32"), b)
    >>> b.tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    if isinstance(schedule, dict):
        if args is not None or name is not None or log is not None or machine is not None:
            raise ArgumentError("build: args, name, log and machine must be left out when the first argument is a dict of kernels")
        return _several(schedule, target)
    if machine is not None and log is None:
        raise ArgumentError("build: machine chooses among the records of a log; pass log=...")
    if hasattr(schedule, "__tw_build__"):
        return schedule.__tw_build__(target=target, name=name, log=log, machine=machine)
    if log is not None:
        return _from_log(schedule, args, target, name, log, machine)
    target = as_target(target)
    if isinstance(schedule, (list, tuple)):
        if args is not None:
            raise ArgumentError("build: args must be left out when the first argument is the list of them")
        args = schedule
        schedule = _core._default_schedule(_outputs("build", _tensors("build", args)), target)
    elif args is None:
        _schedule("build", schedule)
        raise ArgumentError("build: args is missing: the tensors that the function takes", "tw.build(s, [A, B, C])")
    return _core._build(_schedule("build", schedule), _tensors("build", args), target, _name("build", name), _scalars(args))


def _from_log(tensors, args, target, name, log, machine):
    from .autotune import Task
    from .autotune.history import log_path
    from .autotune.machine import as_machine

    if args is not None or not isinstance(tensors, (list, tuple)):
        raise ArgumentError("build: log needs an autotune.Task or a list of tensors as the first argument", "tw.build(task, log=...)")
    declared = _tensors("build", tensors)
    if all(isinstance(extent, int) for tensor in declared for extent in tensor.shape):
        return Task(declared, target=target).__tw_build__(name=name, log=log, machine=machine)
    options = _core.FreezeOptions()
    options.name, options.log = _name("build", name), log_path("build", log)
    if machine is not None:
        options.hardware = as_machine(machine).hardware
    return _core._function_of_frozen(_core._freeze_any_size(declared, _scalars(tensors), as_target(target), options))


def lower(schedule, args, target=None, name=None, *, plain=False, simple_mode=False):
    """The loop program of a schedule; ``print`` shows it. With a target: after all passes for it, as it is compiled.

    On the way to a target, loops that the schedule left plain get lanes (docs/schedule.md, "Plain loops"). With ``plain=True``
    they stay as they stand. ``simple_mode`` is TVM's and changes nothing: what it prints the program always is.

    >>> from tensorwright import te
    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1, name="B")
    >>> print(lower(te.create_schedule(B), [A, B]))
    kernel kernel(A: float32[8], B: out float32[8]):
      for i in 0..8:
        B[i] = A[i] + 1.0
    """
    schedule, tensors, name = _schedule("lower", schedule), _tensors("lower", args), _name("lower", name)
    if target is None:
        return _core._loop_program(schedule, tensors, name, _scalars(args))
    return _core._lowered_program(schedule, tensors, as_target(target), name, _scalars(args), bool(plain))


def default_schedule(tensors, target=None):
    """The schedule that ``tw.build(tensors)`` uses. Its steps are public: ``print(s)``, ``s.steps``.

    It is the best of the automatic space by the tuner's guess, which measures nothing. Placeholders that are declared with
    ``param=True`` may be packed by it: pass ``f.pack("B", b)``.

    Parameters: tensors, outputs or a whole argument list (placeholders are ignored).
    """
    tensors = _tensors("default_schedule", tensors)
    return Schedule(_core._default_schedule(_outputs("default_schedule", tensors), as_target(target)))
