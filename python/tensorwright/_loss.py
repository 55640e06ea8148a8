"""How much a kernel that was tuned at several sizes loses against one that was tuned for each."""

from __future__ import annotations

import math

from . import _core
from .autotune import Machine, Task, tune

_SPACED = 16
_ROUNDS = 5


def probed(bounds):
    """Sizes spaced by their logarithms, and both ends of each range."""
    spaced = {round(math.exp(i / (_SPACED - 1) * math.log(bounds[-1]))) for i in range(_SPACED)}
    return sorted(spaced | set(bounds) | {bound + 1 for bound in bounds[:-1]})


def measure(frozen, size, tensors, target, log, trials):
    """Tunes at each size, times both in turns, and writes the worst into what is frozen."""
    from .aot import _arrays

    kernel, bounds, losses = _core._function_of_frozen(frozen), frozen.bounds(), {}
    for n in probed(bounds):
        tuned = tune(Task(_core._at_size(tensors, size, n), target=target), trials=trials, log=log, progress=False).build()
        arrays = _arrays(size, n, tensors, tensors)
        times = [(kernel.time(*arrays).median, tuned.time(*arrays).median) for _ in range(_ROUNDS)]
        ours, theirs = (sorted(t)[_ROUNDS // 2] for t in zip(*times))
        losses[n] = max(ours / theirs - 1, 0.0)
    worst, machine = max(losses, key=losses.get), Machine()
    frozen.set_loss(round(losses[worst], 3), worst, list(losses), machine.hardware, machine.threads, trials)
