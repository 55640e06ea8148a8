"""Lines of AutoTVM's format 0.2 by themselves: ``record.encode`` and ``record.decode``; whole logs: ``import_autotvm``."""

from __future__ import annotations

import json
import math

from .. import _core
from ..errors import ArgumentError, LogError
from .entity import ConfigEntity
from .measuring import MeasureInput, MeasureResult
from .space import Candidate

__all__ = ["decode", "encode"]


_NO_TIME = 1e9  # AutoTVM's, of what failed; JSON has no infinity


class TaskName:
    """The task of a line: ``name``, ``args`` and ``target``, as it says; not what is computed."""

    def __init__(self, name, args, target):
        self.name, self.args, self.target = name, args, target

    def __repr__(self):
        return f"TaskName({self.name}, args={self.args})"


def encode(inp, result, protocol="json"):
    """A measurement as a line of AutoTVM's log; it holds a record of ours besides.

    Parameters: inp, a MeasureInput; result, a MeasureResult; protocol, "json".
    """
    if protocol != "json":
        raise ArgumentError(f"record.encode: protocol must be json, not {protocol!r}")
    if not isinstance(inp.config, Candidate):
        raise ArgumentError(f"record.encode: the config must be a candidate of a task's space, not {inp.config!r}")
    seconds = sorted(cost for cost in result.costs if math.isfinite(cost))
    ok = result.error_no == 0 and seconds
    status = "ok" if ok else result.status
    record = _core._measurement(inp.task._core, inp.config.index, seconds[len(seconds) // 2] if ok else 0.0, len(seconds), status, "")
    line = json.loads(_core._to_autotvm(record))
    line["result"] = [[min(cost, _NO_TIME) for cost in result.costs], result.error_no, result.all_cost, result.timestamp]
    return json.dumps(line, separators=(",", ":"))


def decode(row, protocol="json", *, task=None):
    """``(MeasureInput, MeasureResult)`` of a line of AutoTVM's log.

    Parameters: row, the line; task, the Task that it means: the input's config is then a candidate of its space, else a ConfigEntity.
    Raises: LogError for a line that is none, and for knobs that are no point of the task's space.
    """
    if protocol != "json":
        raise ArgumentError(f"record.decode: protocol must be json, not {protocol!r}")
    if not isinstance(row, str):
        raise LogError(f"record.decode: a line must be a string, not {type(row).__name__}")
    core = _core._from_autotvm(row, task and task._core)
    knobs = json.loads(core.trial.knobs)
    if task is not None:
        measured = MeasureInput(task.target, task, task.space[task._core.find(core.trial.knobs)])
    else:
        measured = MeasureInput(core.target, TaskName(core.task, json.loads(core.args), core.target), ConfigEntity(knobs, core.trial.index))
    costs, error_no, all_cost, timestamp = json.loads(row)["result"]
    return measured, MeasureResult(costs, error_no, all_cost, timestamp, status=core.trial.status)
