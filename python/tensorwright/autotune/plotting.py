"""The curve of a tuning, with matplotlib."""

from __future__ import annotations

import math

from ..errors import TuneError

__all__ = ["plot_curve"]


def plot_curve(result, ax=None):
    """Draw into ``ax``, or new axes. Rates where the arithmetic is known, else times."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise TuneError("plot: matplotlib is not installed", "pip install matplotlib, or result.report(\"report.html\")") from None
        ax = pyplot.figure(figsize=(7, 4)).add_subplot()
    flops = result._task._core.arithmetic()
    value = (lambda seconds: flops / seconds / 1e9) if flops else (lambda seconds: seconds * 1e3)
    numbered = list(enumerate(result.trials, 1))
    ax.plot(*_points((n, value(t.seconds)) for n, t in numbered if t.ok), "o", markersize=4, alpha=0.55, label="trial")
    ax.plot(*_points((n, value(t.seconds)) for n, t in numbered if t.status == "beaten"), "o", markersize=4, alpha=0.55,
            fillstyle="none", label="beaten (a bound)")
    ax.plot(*_points((n, value(s)) for n, s in enumerate(result.curve, 1) if math.isfinite(s)), drawstyle="steps-post", label="best")
    ax.plot(*_points((n, 0) for n, t in numbered if not t.ok and t.status != "beaten"), "x", label="failed")
    if flops:
        ax.set_ylim(bottom=0)
    ax.set(xlabel="trial", ylabel="GFLOP/s" if flops else "milliseconds", title=result._task.name)
    ax.legend()
    return ax


def _points(pairs):
    pairs = list(pairs)
    return [x for x, _ in pairs], [y for _, y in pairs]
