"""Recurrences: values over time, each computed from earlier ones."""

from .. import _core
from .._core import Tensor
from ..errors import ExprError
from .tags import annotated

__all__ = ["scan"]


def _tensors(name, what, given):
    given = list(given) if isinstance(given, (list, tuple)) else [given]
    for tensor in given:
        if not isinstance(tensor, Tensor):
            raise ExprError(f"scan {name}: {what} must be a tensor or a list of tensors, not {tensor!r}")
    return given


def scan(init, update, state_placeholder, inputs=None, name="scan", tag="", attrs=None):
    """A recurrence over time, the first dimension: ``out[t] = init[t]`` for the first times, then ``out[t] = update[t]``.

    Parameters: init, the values at the first times; update, a compute of the whole shape that reads the state at earlier times;
    state_placeholder, a placeholder that stands for out inside of update; or a list of each, for several states, of one time and as many dimensions.
    tag and attrs as for ``te.compute``; inputs are taken for the sake of tvm programs and mean nothing here.
    Returns: out, or a tuple of tensors. ``out.op.scan_axis`` is time, ``out.op.spatial_axis_`` are the other axes.
    Stages between the state and the update have time as their first axis and read each other at their own time; sums may go
    over all earlier times (``te.reduce_axis((0, t))``, or ``where=k < t``). A schedule
    computes them inside of the time loop, which stays the outermost loop, serial and whole; all else is free.
    Raises: ExprError if shapes don't fit, the state is read at its own or a later time, or a stage between breaks these rules;
    DTypeError if dtypes differ.

    >>> X = te.placeholder((16, 4), name="X")
    >>> state = te.placeholder((16, 4), name="state")
    >>> init = te.compute((1, 4), lambda _, i: X[0, i], name="init")
    >>> update = te.compute((16, 4), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    >>> te.scan(init, update, state, name="sums")
    Tensor(sums: float32[16, 4])
    """
    states = _tensors(name, "state_placeholder", state_placeholder)
    made = _core.scan(_tensors(name, "init", init), _tensors(name, "update", update), states, name)
    return annotated(f"scan {name}", made, tag, attrs)
