"""Tuning: a template with knobs, candidates measured on this machine, a log to build from.

>>> import tensorwright as tw
>>> from tensorwright import te
>>> @tw.autotune.template("scale")
... def scale(cfg, n):
...     A = te.placeholder((n,), name="A")
...     B = te.compute((n,), lambda i: A[i] * 2, name="B")
...     s = te.create_schedule(B)
...     i, = s[B].op.axis
...     cfg.define_split("tile", i, num_outputs=2, max_factor=64)
...     io, ii = cfg["tile"].apply(s, B, i)
...     s[B].vectorize(ii)
...     return s, [A, B]
>>> task = tw.autotune.Task(scale, args=(1000,))
>>> len(task.space) > 10
True
>>> print(task.space[0])
{"tile": [1000, 1]}

``tw.autotune.tune(task, trials=64, log="scale.jsonl")`` measures, ``tw.build(task, log="scale.jsonl")`` builds the best that the
log holds and measures nothing.
"""

from .history import apply_history_best
from .space import Candidate, Space
from .task import Task
from .template import Template, template
from .tuner import MeasureInput, MeasureResult, TuneResult, Tuner, tune

__all__ = [
    "Candidate",
    "MeasureInput",
    "MeasureResult",
    "Space",
    "Task",
    "Template",
    "TuneResult",
    "Tuner",
    "apply_history_best",
    "template",
    "tune",
]
