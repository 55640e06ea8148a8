"""Tensors and schedules as JSON text, and in pickles."""

import json

from .. import _core
from .._core import Operation, Tensor
from ..errors import ArgumentError, Error, ParseError
from ..schedule import Schedule

__all__ = ["load_json", "save_json"]


def save_json(node):
    """A tensor, an operation, a list of tensors or a schedule as JSON text, which ``load_json`` of the same release reads.

    It holds the definitions of all that they are computed from, and a schedule's Steps. ``pickle`` does the same.
    Raises: ArgumentError for anything else, and where a stage is extern.

    >>> T = te.load_json(te.save_json(B))
    >>> str(T.op.body[0]) == str(B.op.body[0])
    True
    """
    if isinstance(node, Schedule):
        return json.dumps({"schedule": node.steps, "whole": sorted(node._in_whole_parts), "graph": _graph(node.outputs)})
    if isinstance(node, Tensor):
        return json.dumps({"tensor": 0, "graph": _graph([node])})
    if isinstance(node, Operation):
        return json.dumps({"operation": 0, "graph": _graph([node.output(0)])})
    if isinstance(node, (list, tuple)) and node and all(isinstance(t, Tensor) for t in node):
        return json.dumps({"tensors": len(node), "graph": _graph(node)})
    raise ArgumentError(f"save_json: a tensor, an operation, a list of tensors or a schedule expected, not {node!r}")


def load_json(text):
    """What ``save_json`` wrote. An operation that was read before, in this process, is the same again, so that tensors which were
    written one by one fit together.

    Raises: ParseError for other text.
    """
    try:
        saved = json.loads(text)
        tensors = _core._tensors_from_json(json.dumps(saved["graph"]))
    except Error:
        raise
    except (TypeError, ValueError, KeyError):
        raise ParseError(f"load_json: expected what save_json gives, not {text!r:.60}") from None
    if "operation" in saved:
        return tensors[0].op
    if "schedule" not in saved:
        return tensors if "tensors" in saved else tensors[0]
    schedule = Schedule.from_steps(tensors, saved["schedule"])
    schedule._in_whole_parts.update(saved["whole"])
    return schedule


def _graph(tensors):
    return json.loads(_core._tensors_to_json(list(tensors)))


def _itself(self, memo=None):
    return self


Tensor.__reduce__ = lambda self: (load_json, (save_json(self),))
Operation.__reduce__ = lambda self: (load_json, (save_json(self),))
Schedule.__reduce__ = lambda self: (load_json, (save_json(self),))
for _class in (Tensor, Operation):
    _class.__copy__ = _class.__deepcopy__ = _itself
