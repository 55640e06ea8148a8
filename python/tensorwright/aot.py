"""Production builds: kernels are frozen where they are tuned, and built from what was frozen (docs/production.md)."""

from __future__ import annotations

import os

import numpy as np

from . import _core
from ._checks import is_positive, path_of, positive
from .autotune import Task
from .building import _outputs, _scalars, _tensors
from .errors import ArgumentError
from .target import Target, as_target

__all__ = ["BySize", "check", "freeze", "library"]


def _target(value):
    return as_target(Target(_core._target_named(value)) if isinstance(value, str) else value)


def _targets(call, targets):
    if isinstance(targets, (str, _core.Target)):
        targets = [targets]
    if not isinstance(targets, (list, tuple)) or not targets:
        raise ArgumentError(f"{call}: targets must be a list of targets, not {targets!r}", 'targets=["x86-64-v2", "x86-64-v3"]')
    return [_target(t) for t in targets]


def _kernels(call, kernels):
    if not isinstance(kernels, dict) or not kernels or not all(isinstance(name, str) for name in kernels):
        raise ArgumentError(
            f"{call}: kernels must be a dict of kernels by their names, not {kernels!r}",
            "each is an autotune.Task, a list of tensors, a pair of a schedule and its tensors, or an aot.BySize",
        )
    return kernels


def _arrays(size, n, tensors, args):
    """Random arrays for the tensors where the size is n."""
    if _scalars(args):
        raise ArgumentError("BySize.measured: args must be tensors alone; a scalar among them has no typical value")
    generator, arrays = np.random.default_rng(0), []
    for tensor in tensors:
        shape = [n if isinstance(e, _core.Var) and e.same_as(size) else e for e in tensor.shape]
        if not all(isinstance(e, int) for e in shape):
            raise ArgumentError(f"BySize.measured: extents must be numbers or {size.name}, not {tensor.shape} of {tensor.name}")
        values = generator.standard_normal(shape) if "float" in tensor.dtype else generator.integers(0, 2, shape)
        try:
            arrays.append(values.astype(tensor.dtype))
        except TypeError:
            raise ArgumentError(f"BySize.measured: NumPy has no {tensor.dtype}, the dtype of {tensor.name}") from None
    return arrays


class BySize:
    """A kernel with a schedule for each range of a size; it chooses among them at each call, by comparing the size.

    Parameters: size, a ``te.var`` that is an extent of the tensors; schedules, a dict: up to each of its keys the schedule that is
    its value; otherwise, the schedule beyond the largest, so that all sizes are covered; args, the tensors that the kernel takes.
    Raises: ArgumentError for a size that is no variable, and keys that are no positive integers.

    >>> import numpy as np
    >>> import tensorwright as tw
    >>> from tensorwright import te
    >>> n = te.var("n")
    >>> A = te.placeholder((n, 64), name="A")
    >>> B = te.compute((n, 64), lambda i, j: A[i, j] * 2, name="B")
    >>> few, many = te.create_schedule(B), te.create_schedule(B)
    >>> _ = few[B].vectorize(B.op.axis[1])
    >>> _ = many[B].parallel(B.op.axis[0])
    >>> f = tw.build(BySize(n, {8: few}, otherwise=many, args=[A, B]))
    >>> b = np.zeros((3, 64), "float32")
    >>> f(np.ones((3, 64), "float32"), b)
    >>> float(b.sum())
    384.0
    """

    def __init__(self, size, schedules, otherwise, args):
        if not isinstance(size, _core.Var):
            raise ArgumentError(f"BySize: size must be a te.var, not {size!r}")
        if not isinstance(schedules, dict) or not schedules or not all(map(is_positive, schedules)):
            raise ArgumentError(f"BySize: schedules must be a dict with positive integers for keys, not {schedules!r}")
        for schedule in (*schedules.values(), otherwise):
            if not isinstance(schedule, _core.Schedule):
                raise ArgumentError(f"BySize: schedules and otherwise must be schedules, not {schedule!r}")
        self.size, self.schedules, self.otherwise = size, dict(sorted(schedules.items())), otherwise
        self.tensors, self.scalars = _tensors("BySize", args), _scalars(args)

    @classmethod
    def measured(cls, size, candidates, sizes, args, target=None):
        """The table by timing schedules on this machine: each of them at each size, with random arrays. Up to each size, and from the
        one before it, the schedule counts that is the fastest there; beyond the last one that of the last.

        Parameters: size, a ``te.var``, the only variable of the tensors; candidates, a list of schedules; sizes, a list of positive
        integers; args, the tensors that the kernel takes; target, by default the current one.
        Returns: a BySize, with the attribute ``seconds``: for each size a list of one time for each candidate.
        Raises: ArgumentError for bad arguments, and tensors with other variables; TuneError where measuring is forbidden.

        >>> from tensorwright import te
        >>> n = te.var("n")
        >>> A = te.placeholder((n, 64), name="A")
        >>> B = te.compute((n, 64), lambda i, j: A[i, j] * 2, name="B")
        >>> plain, wide = te.create_schedule(B), te.create_schedule(B)
        >>> _ = wide[B].vectorize(B.op.axis[1])
        >>> kernel = BySize.measured(n, [plain, wide], [4, 64], [A, B])
        >>> sorted(kernel.seconds), len(kernel.seconds[64])
        ([4, 64], 2)
        """
        if not isinstance(candidates, (list, tuple)) or not candidates:
            raise ArgumentError(f"BySize.measured: candidates must be a list of schedules, not {candidates!r}")
        if not isinstance(sizes, (list, tuple)) or not sizes:
            raise ArgumentError(f"BySize.measured: sizes must be a list of positive integers, not {sizes!r}")
        cls(size, dict.fromkeys(sizes, candidates[0]), candidates[-1], args)  # refuses what is no size or schedule
        target, tensors = as_target(target), _tensors("BySize.measured", args)
        functions = [_core._build(s, tensors, target, "kernel", _scalars(args)) for s in candidates]
        seconds = {}
        for n in sorted(set(sizes)):
            arrays = _arrays(size, n, tensors, args)
            seconds[n] = [f.time(*arrays).median for f in functions]
        best = {n: candidates[min(range(len(times)), key=times.__getitem__)] for n, times in seconds.items()}
        kernel = cls._of_best(size, best, args)
        kernel.seconds = seconds
        return kernel

    @classmethod
    def _of_best(cls, size, best, args):
        """Of a schedule for each of ascending sizes: those of equal Steps that follow each other are one range."""
        bounds = list(best)
        last = {n: best[n] for n, after in zip(bounds, bounds[1:]) if best[n].steps != best[after].steps}  # of a range
        return cls(size, last or {bounds[0]: best[bounds[0]]}, best[bounds[-1]], args)

    def _frozen(self, target, options):
        return _core._freeze_by_size(self.size.name, list(self.schedules.items()), self.otherwise, self.tensors, self.scalars, target, options)

    def __tw_build__(self, target=None, name=None, log=None, machine=None):
        if log is not None:
            raise ArgumentError("build: log chooses one schedule, and a BySize has its own")
        options = _core.FreezeOptions()
        options.name = name or "kernel"
        return _core._function_of_frozen(self._frozen(as_target(target), options))


class _Declared:
    """A kernel for one target: a task, or a schedule that is complete."""

    def __init__(self, call, name, what, target):
        self.name, self.target, self.task, self.sized, self.any_size = name, target, None, None, None
        if isinstance(what, BySize):
            self.sized, self.schedule, self.tensors = what, what.otherwise, what.tensors
            return
        if isinstance(what, Task):
            self.task = what if str(what.target) == str(target) else what.on(target)
            return
        if isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], _core.Schedule):
            self.schedule, args = what
            self.tensors, self.scalars = _tensors(call, args), _scalars(args)
            return
        self.tensors, self.scalars = _tensors(call, what), _scalars(what)
        if not self.scalars and all(isinstance(n, int) for t in self.tensors for n in t.shape):
            self.task = Task(self.tensors, target=target, name=name)
        else:
            self.any_size = _outputs(call, self.tensors)

    @property
    def hash(self):
        if self.task is not None:
            return self.task._core.hash()
        return _core._computation_hash(self.any_size or self.schedule.outputs, self.tensors)

    def frozen(self, options):
        options.name = self.name
        if self.task is not None:
            return _core._freeze_task(self.task._core, options)
        if self.sized is not None:
            return self.sized._frozen(self.target, options)
        if self.any_size is not None:
            return _core._freeze_any_size(self.tensors, self.scalars, self.target, options)
        return _core._freeze_schedule(self.schedule, self.tensors, self.scalars, self.target, options)


def _declared(call, kernels, targets):
    targets = _targets(call, targets)
    return [_Declared(call, name, what, target) for name, what in _kernels(call, kernels).items() for target in targets]


def _measure_losses(kernels, log, trials):
    from ._loss import measure

    positive("freeze", "measure_loss", trials)
    by_sizes = [(one, frozen) for one, frozen in kernels if one.any_size is not None and frozen.bounds()]
    if not by_sizes:
        raise ArgumentError("freeze: measure_loss needs a kernel that the log has tuned at several sizes", "tw.autotune.tune(tensors, sizes={n: [1, 8, 64]}, log=log)")
    for one, frozen in by_sizes:
        measure(frozen, one.tensors, one.target, log, trials)


def freeze(kernels, *, targets, log=None, hardware=None, threads=None, out=".", allow_default=False, source=None, measure_loss=0):
    """Write kernels by their best records as files ``NAME.TARGET.twk``, from which ``library`` and ``tw build`` make code.

    Which record is the best follows from the log and these parameters, on any machine.

    Parameters: kernels, a dict of names, each with an ``autotune.Task``, a list of tensors, a pair of a schedule and its tensors, or a
    ``BySize``; targets, a list of CPUs and GPUs (``"x86-64-v3"``, ``"neoverse-n1"``, ``"sm_80"``) or targets; log, the records, without which
    default schedules are frozen; hardware and threads, of the log's: needed where it has several machines, and by default the most
    threads; out, the folder; allow_default, whether a kernel without a record gets its default schedule; source, what the commands
    in messages name; measure_loss, trials: kernels that were tuned at several sizes are timed against schedules that are tuned, with
    so many trials into the same log, for each of 16 sizes and the ends of the ranges, and the worst stands in file and header.
    Returns: the paths, a list.
    Raises: ArgumentError and TargetError for bad arguments; LogError for a log that is none, has several machines, or not this one;
    NoRecord, which names the kernel, its sizes and its target. Then nothing is written.

    >>> import tempfile
    >>> from tensorwright import te
    >>> A = te.placeholder((64,), name="A")
    >>> B = te.compute((64,), lambda i: A[i] * 2, name="B")
    >>> [path] = freeze({"double": [A, B]}, targets=["x86-64-v3"], out=tempfile.mkdtemp())
    >>> os.path.basename(path)
    'double.x86-64-v3.twk'
    """
    options = _core.FreezeOptions()
    options.log, out = "" if log is None else path_of("freeze", "log", log), path_of("freeze", "out", out)
    options.hardware, options.threads = hardware or "", threads or 0
    options.allow_default, options.source = bool(allow_default), source or ""
    declared = _declared("freeze", kernels, targets)
    frozen = [one.frozen(options) for one in declared]
    if measure_loss:
        _measure_losses(list(zip(declared, frozen)), options.log, measure_loss)
    return _core._write_frozen(frozen, out)


def check(kernels, *, targets, log=None, out=".", require_tuned=False, source=None):
    """What ``freeze`` would write otherwise today: because a source declares something else, or a log has a better record.

    Parameters: as of ``freeze``; require_tuned, whether each must be frozen by a record.
    Returns: a list of one line for each kernel, with its sizes, its target and the command that mends it; empty where all agree.
    Raises: ArgumentError for a file that is damaged or newer.
    """
    log, out = "" if log is None else path_of("check", "log", log), path_of("check", "out", out)
    messages = []
    for one in _declared("check", kernels, targets):
        path = os.path.join(out, _core._frozen_name(one.name, one.target))
        if not os.path.exists(path):
            messages.append(f"{one.name}, for {one.target}: there is no {path}; freeze it: tw freeze {source or 'ops.py'} --out {out}")
        elif (message := _core._frozen_stale(path, one.hash, log, bool(require_tuned))) is not None:
            messages.append(message)
    return messages


def library(paths, out, *, name="kernels", prefix="", baseline=None, archive=True, shared=False, debug_lines=False, externs=()):
    """Compile files that ``freeze`` wrote into a C header and libraries (docs/libraries.md). What has not changed since the last
    time is taken from the folder.

    Parameters: paths, of the files, one for each kernel and target; out, the folder; name, of the files; prefix, of what C sees;
    baseline, what every CPU has that the library is for; archive and shared, whether ``libNAME.a`` and ``libNAME.so`` are made;
    debug_lines, line tables of the files; externs, C functions that kernels may call and the caller links.
    Returns: a dict: "files", "compiled" and "unchanged" objects.
    Raises: ArgumentError and ParseError for files that are damaged, newer or not safe, for two kernels of one name, and for a baseline
    that a variant needs not or no variant runs on. Then nothing is written.

    >>> import tempfile
    >>> from tensorwright import te
    >>> A = te.placeholder((64,), name="A")
    >>> B = te.compute((64,), lambda i: A[i] * 2, name="B")
    >>> folder = tempfile.mkdtemp()
    >>> made = library(freeze({"double": [A, B]}, targets=["x86-64-v2", "x86-64-v3"], out=folder), folder, prefix="acme_")
    >>> made["compiled"]
    ['acme_double.x86-64-v2.o', 'acme_double.x86-64-v3.o']
    """
    if isinstance(paths, (str, bytes, os.PathLike)) or not hasattr(paths, "__iter__"):
        paths = [paths]
    given = [path_of("library", "paths", path) for path in paths]
    if baseline is not None:
        baseline = _target(baseline)
    return _core._build_frozen(given, path_of("library", "out", out), name, prefix, baseline, archive, shared, debug_lines, list(externs))
