"""``tune`` and what it returns."""

from __future__ import annotations

import json
import contextlib
import sys
import tempfile

from .. import _core
from .._checks import path_of, positive
from ..building import build
from ..errors import ArgumentError, TuneError
from ..schedule import Schedule
from ..target import as_target
from .history import log_path
from .measuring import Builder, MeasureInput, MeasureResult, Runner, build_hook
from .plotting import plot_curve
from .reporting import written
from .sizes import SizedResult, tasks_of
from .space import Candidate
from .task import Task

__all__ = ["SizedResult", "TuneResult", "Tuner", "tune"]


class Trial:
    """One measured configuration: ``candidate``, ``index``, ``knobs``, ``steps``, ``status`` ("ok", "beaten", "wrong_answer",
    "crashed", ...), ``seconds`` (median of one call; a lower bound when beaten), ``spread``, ``runs``, ``detail``."""

    def __init__(self, task, core):
        self._core = core
        self._task = task
        for name in ("index", "status", "seconds", "spread", "runs", "detail", "ok"):
            setattr(self, name, getattr(core, name))
        self.knobs = json.loads(core.knobs)

    @property
    def candidate(self):
        return Candidate(self._task, self.index)

    config = candidate

    @property
    def schedule(self):
        """The Schedule; ``print(trial.schedule.to_python())`` shows how to write it."""
        return Schedule(self._task._core.built(self._core)[0])

    @property
    def steps(self):
        return json.loads(self._core.steps)

    @property
    def gflops(self):
        """Arithmetic of the declared computation per second, in 10^9."""
        return self._task._core.arithmetic() / self.seconds / 1e9 if self.ok else 0.0

    def __repr__(self):
        time = f"{self.seconds * 1e3:.4g} ms" if self.seconds else ""
        return f"Trial({self.index}, {self.status}{', ' + time if time else ''}, {json.dumps(self.knobs)})"


class TuneResult:
    """``best`` (a Trial, or None when tuning was stopped before one succeeded), ``trials`` in order, ``curve`` (seconds of the
    best after each trial, inf while there is none), ``failures`` (Trials), ``measured`` (by this call), ``pruned`` (never built:
    their lower bound exceeds the best time), ``alike`` (never built: other knobs for the same loops), ``elapsed`` (seconds)."""

    def __init__(self, task, core):
        self._task = task
        self._core = core
        self.best = Trial(task, core.best) if core.best is not None else None
        self.trials = [Trial(task, t) for t in core.trials]
        self.failures = [Trial(task, t) for t in core.failures]
        self.curve = list(core.curve)
        self.measured = core.measured
        self.pruned = core.pruned
        self.alike = core.alike
        self.elapsed = core.elapsed_s
        self.note = core.note

    def _found(self):
        if self.best is None:
            raise TuneError("there is no best schedule: tuning was stopped before a candidate succeeded")
        return self.best

    @property
    def schedule(self):
        """The best Schedule."""
        return self._found().schedule

    def build(self, name=None):
        """The best schedule as a function. Measures nothing."""
        schedule, tensors = self._task._core.built(self._found()._core)
        return build(Schedule(schedule), tensors, self._task.target, name or self._task._core.kernel_name())

    def report(self, output=None):
        """One HTML page: the curve, the roofline, failures, what the best has and the rest does not, the best as code.

        Parameters: output, a path to write it to.
        Returns: the path, or the text without one.
        """
        return written(_core._report_result(self._task._core, self._core, f"Tuning report: {self._task.name}"), output)

    def plot(self, ax=None):
        """Draw the best after each trial, and every trial, with matplotlib. Returns the axes."""
        return plot_curve(self, ax)

    def _repr_html_(self):
        return _core._summary(self._task._core, self._core)

    def __repr__(self):
        return f"TuneResult(best={self.best}, {len(self.trials)} trials, {len(self.failures)} failures, {self.elapsed:.1f} s)"


class Tuner:
    """The tuning under way, as callbacks see it: ``task``, ``n_trial``, ``best`` (a Trial or None), ``trials``."""

    def __init__(self, task, n_trial):
        self.task = task
        self.n_trial = n_trial
        self.trials = []
        self.best = None

    def _add(self, trials):
        self.trials += trials
        for trial in trials:
            if trial.ok and (self.best is None or trial.seconds < self.best.seconds):
                self.best = trial

    best_config = property(lambda self: self.best and self.best.candidate)
    best_flops = property(lambda self: self.best.gflops * 1e9 if self.best else 0.0)


class Bar:
    """Progress on stderr: a tqdm bar in a terminal or a notebook, and elsewhere a line for every tenth of the trials."""

    def __init__(self, name, trials):
        self.name, self.trials, self.bar, self._tenths = name, trials, None, 0
        if not sys.stderr.isatty() and "ipykernel" not in sys.modules:
            return
        with contextlib.suppress(ImportError):
            from tqdm.auto import tqdm

            self.bar = tqdm(total=trials, desc=name, unit="trial", file=sys.stderr, dynamic_ncols=True)

    def __call__(self, done, best, failures):
        words = f"{best}, {failures}" if failures else best
        if self.bar is not None:
            self.bar.set_postfix_str(words, refresh=False)
            self.bar.update(done - self.bar.n)
        elif done * 10 // self.trials > self._tenths:
            self._tenths = done * 10 // self.trials
            print(f"{self.name}: {done * 100 // self.trials} %, {done} of {self.trials} trials, {words}", file=sys.stderr, flush=True)

    def close(self):
        if self.bar is not None:
            self.bar.close()


_FOR_EACH_SIZE = ("trials", "log", "seed", "search", "model", "early_stop", "stop_without_gain", "model_file", "transfer", "callbacks",
                  "timeout", "number", "repeat", "progress", "runner")
_CORE = set(_FOR_EACH_SIZE) - {"callbacks", "progress", "runner"}


def tune(task, *, target=None, trials=64, log=None, seed=0, search="evolutionary", model="auto", early_stop=None,
         stop_without_gain=False, model_file=None, transfer=(), callbacks=(), timeout=10, number=None, repeat=None, progress=True,
         range_idx=None, builder=None, runner=None, sizes=None):
    """Measure candidates of a task and keep the best.

    Runs on the same log continue: nothing is measured twice, and ``trials`` counts what the log holds already. Ctrl-C keeps what
    was measured.

    Parameters: task, a Task, or the tensors of one (placeholders and outputs, in the order of the kernel's arguments); target,
    of such tensors, by default the current one; trials, how many configurations are measured at most; log, a path to append one
    JSON line per measurement to; seed; search, "random", "grid" or "evolutionary"; model, "xgb" (learned while tuning), None, or
    "auto" (xgb where it was built in); early_stop, stop after so many trials without a better one; stop_without_gain, stop when
    two batches brought nothing and the model sees nothing better; model_file, a path: the model starts from it where it exists,
    and is kept in it; transfer, logs of any tasks that the model learns from first; callbacks, each called as
    ``callback(tuner, inputs, results)`` after a batch; timeout, seconds for one build or run; number and repeat, calls per
    repeat and repeats (by default as many as a steady median takes); progress, whether a bar is shown on stderr; range_idx, the
    first and the last index of the space that may be measured; builder and runner, a Builder and a Runner of one's own, in Python
    (docs/tuning.md): slow, for times that this machine's clock doesn't tell; sizes, of tensors whose size varies, a dict of the
    ``te.var`` in their extents and the values at which they are tuned, with so many trials each: ``{n: [1, 8, 64, 512]}``; of
    several variables a list for the one by which the kernel chooses, and a number, where it is meanwhile, for each other:
    ``{n: [1, 8, 64, 512], m: 128}``.
    Returns: TuneResult; with sizes a SizedResult, whose ``kernel`` chooses by the size and whose ``results`` are one for each.
    Raises: TuneError if every candidate fails or measuring is forbidden, LogError for a log that is not ours, ArgumentError.
    """
    if sizes is not None:
        if builder is not None or range_idx is not None:
            raise ArgumentError("tune: sizes take no builder and no range_idx, as each size has a space of its own")
        size, others, tensors, tasks = tasks_of(task, sizes, target)
        options = {name: value for name, value in locals().items() if name in _FOR_EACH_SIZE}
        results = {value: tune(one, **options) for value, one in tasks.items()}
        return SizedResult(size, tensors, results, as_target(target), _ranges(size, others, tensors, results, options))
    task = as_task(task, target)
    callbacks = [callbacks] if callable(callbacks) else callbacks or ()
    if not isinstance(callbacks, (list, tuple)) or not all(callable(c) for c in callbacks):
        raise ArgumentError(f"tune: callbacks must be functions of (tuner, inputs, results), not {callbacks!r}")
    options = core_options(trials=trials, log=log, seed=seed, search=search, model=model, early_stop=early_stop,
                           stop_without_gain=stop_without_gain, model_file=model_file, transfer=transfer, timeout=timeout,
                           number=number, repeat=repeat)
    if range_idx is not None:
        if not isinstance(range_idx, (tuple, list)) or len(range_idx) != 2 or not all(type(i) is int and i >= 0 for i in range_idx):
            raise ArgumentError(f"tune: range_idx must be the first and the last index, not {range_idx!r}")
        options.range = tuple(range_idx)
    tuner = Tuner(task, trials)
    bar = Bar(task.name, trials) if progress else None

    def on_batch(batch):
        new = [Trial(task, t) for t in batch]
        tuner._add(new)
        for callback in callbacks:
            callback(tuner, [MeasureInput(task.target, task, t.candidate) for t in new], [MeasureResult.of(t) for t in new])

    with contextlib.ExitStack() as ends:
        if bar is not None:
            ends.callback(bar.close)
        build, by = _hooks(task, builder, runner, ends)
        core = _core.tune(task._core, options, bar, on_batch if callbacks else None, build, by)
    return TuneResult(task, core)


def _ranges(size, others, tensors, results, options):
    """The trial for each range of sizes; none by a Runner in Python, which is told of candidates by their places in one space."""
    runner = options["runner"]
    if runner is not None and type(runner)._core_runner is Runner._core_runner:
        return []
    tuned = [(value, r._task._core, r._core) for value, r in results.items()]
    core = core_options(**{name: value for name, value in options.items() if name in _CORE})
    return _core.time_ranges(tensors, size, list(others.items()), tuned, core, None if runner is None else runner._core_runner())


def _hooks(task, builder, runner, ends):
    for name, given, kind in (("builder", builder, Builder), ("runner", runner, Runner)):
        if given is not None and not isinstance(given, kind):
            raise ArgumentError(f"tune: {name} must be a tw.autotune.{kind.__name__} or None, not {given!r}")
    build = None
    if builder is not None:
        build = build_hook(builder, task, ends.enter_context(tempfile.TemporaryDirectory(prefix="tensorwright")))
    return build, None if runner is None else runner._core_runner(task)


def as_task(task, target=None):
    """A Task from itself or from its tensors."""
    if isinstance(task, Task):
        if target is not None and as_target(target) != task.target:
            raise ArgumentError(f"tune: the task is for {task.target}, and target is another; task.on(target) is the task for it")
        return task
    if isinstance(task, (list, tuple, _core.Tensor)):
        return Task(task if task else [None], target=target)
    raise ArgumentError(f"tune: the first argument must be a tw.autotune.Task or a list of tensors, not {task!r}")


def core_options(*, trials, log, seed, search, model, early_stop, stop_without_gain, model_file, transfer, timeout, number, repeat):
    if model is not None and not isinstance(model, str):
        raise ArgumentError(f"tune: model must be None or \"xgb\", not {model!r}")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise ArgumentError(f"tune: timeout must be seconds, not {timeout!r}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise ArgumentError(f"tune: seed must be an integer that is not negative, not {seed!r}")
    transfer = transfer if isinstance(transfer, (list, tuple)) else [transfer]
    options = _core.TuneOptions()
    options.trials = positive("tune", "trials", trials)
    options.log = "" if log is None else log_path("tune", log)
    options.seed = seed
    options.search = search
    options.model = "none" if model is None else model
    options.early_stop = 0 if early_stop is None else positive("tune", "early_stop", early_stop)
    options.stop_without_gain = bool(stop_without_gain)
    options.model_file = "" if model_file is None else path_of("tune", "model_file", model_file)
    options.transfer = [log_path("tune", path, "transfer") for path in transfer]
    options.timeout_s = timeout
    options.number = 0 if number is None else positive("tune", "number", number)
    options.repeat = 0 if repeat is None else positive("tune", "repeat", repeat)
    return options
