"""How much a kernel that was tuned at several sizes loses against one that was tuned for each."""

from __future__ import annotations

import math
import statistics

from . import _core
from .autotune import Machine, Task, tune

_SPACED = 16
_ROUNDS = 5
_AGAIN = 3  # times as many for what may be the worst


def probed(bounds):
    """Sizes spaced by their logarithms, and both ends of each range."""
    spaced = {round(math.exp(i / (_SPACED - 1) * math.log(bounds[-1]))) for i in range(_SPACED)}
    return sorted(spaced | set(bounds) | {bound + 1 for bound in bounds[:-1]})


def _ratios(ours, theirs, arrays):
    """How much longer ours takes, in each of some rounds; who is first alternates."""
    for round in range(_ROUNDS):
        first, second = (ours, theirs) if round % 2 else (theirs, ours)
        a, b = first.time(*arrays).median, second.time(*arrays).median
        yield a / b if round % 2 else b / a


def worst_of(ratios, again):
    """The size with the largest median. Of a size that would be it more rounds are asked for first: one that was disturbed is not."""
    confirmed = set()
    while True:
        worst = max(ratios, key=lambda n: statistics.median(ratios[n]))
        if worst in confirmed:
            return worst, max(statistics.median(ratios[worst]) - 1, 0.0)
        confirmed.add(worst)
        for _ in range(_AGAIN):
            ratios[worst] += again(worst)


def measure(frozen, tensors, target, log, trials):
    """Tunes at each size, times both in turns, and writes the worst into what is frozen."""
    from .aot import _arrays

    variables = {e.name: e for t in tensors for e in t.shape if isinstance(e, _core.Var)}
    size, others = variables[frozen.size], [(variables[name], value) for name, value in frozen.others]

    def known(n):
        tensors_there = tensors
        for var, value in [(size, n), *others]:
            tensors_there = _core._at_size(tensors_there, var, value)
        return tensors_there

    kernel, tuned = _core._function_of_frozen(frozen), {}
    for n in probed(frozen.bounds()):
        tuned[n] = tune(Task(known(n), target=target), trials=trials, log=log, progress=False).build()
    ratios_at = lambda n: list(_ratios(kernel, tuned[n], _arrays(size, n, known(n), tensors)))  # noqa: E731
    worst, loss = worst_of({n: ratios_at(n) for n in tuned}, ratios_at)
    machine = Machine()
    frozen.set_loss(round(loss, 3), worst, list(tuned), machine.hardware, machine.threads, trials)
