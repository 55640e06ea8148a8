"""Tuning: a space of schedules derived from tensors, or a template with knobs; candidates measured on this machine; a log.

``result = tw.autotune.tune([A, B, C], trials=64, log="c.jsonl")`` measures; ``result.build()`` is the best as a function,
``result.schedule.to_python()`` the code for it. ``tw.build([A, B, C], log="c.jsonl")`` builds the best that the log holds and
measures nothing. A template declares its own space:

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
"""

from . import record
from .entity import ConfigEntity
from .history import (
    Record,
    apply_history_best,
    export_autotvm,
    import_autotvm,
    load_log,
    merge_logs,
    pick_best,
    prune_log,
)
from .machine import Machine
from .measuring import Builder, BuildResult, MeasureInput, MeasureResult, Runner
from .packing import Pack, pack
from .ray_runner import RayRunner
from .rpc_runner import RPCRunner
from .reporting import report
from .scheduler import TaskScheduler
from .sizes import SizedResult
from .space import Candidate, Space
from .task import Task
from .template import Template, template
from .tuner import TuneResult, Tuner, tune

__all__ = [
    "BuildResult",
    "Builder",
    "Candidate",
    "ConfigEntity",
    "Machine",
    "MeasureInput",
    "MeasureResult",
    "Pack",
    "RPCRunner",
    "RayRunner",
    "Record",
    "Runner",
    "SizedResult",
    "Space",
    "Task",
    "TaskScheduler",
    "Template",
    "TuneResult",
    "Tuner",
    "apply_history_best",
    "export_autotvm",
    "import_autotvm",
    "load_log",
    "merge_logs",
    "pack",
    "pick_best",
    "prune_log",
    "record",
    "report",
    "template",
    "tune",
]
