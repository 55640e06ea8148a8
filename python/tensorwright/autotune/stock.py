"""Stock operators, tuned by name."""

from __future__ import annotations

from .task import Task
from .tuner import tune

__all__ = ["tune_operator"]

_OPTIONS = frozenset(tune.__kwdefaults__) - {"target"}


def tune_operator(operator, /, *, target=None, **parameters):
    """Tune a stock operator: ``tw.tune("matmul", M=257, N=513, K=1025)``.

    Parameters: operator, its name (docs/ops.md); target; the operator's parameters, numbers, strings, bools or lists; and the
    options of ``tw.autotune.tune``: trials, log, seed, ...
    Returns: TuneResult: ``.best``, ``.schedule``, ``.build()``.
    Raises: ArgumentError for an operator or a parameter that does not exist; what ``tw.autotune.tune`` raises.
    """
    options = {name: parameters.pop(name) for name in list(parameters) if name in _OPTIONS}
    return tune(Task.stock(operator, parameters, target), **options)
