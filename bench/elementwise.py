"""exp, tanh and erf over 1 M float32, by hand, against NumPy and PyTorch on the CPU: one thread and two.

The results go into an array that is there already, on all sides. Data: standard normal numbers, times 3.
"""
import argparse

import numpy as np

import tensorwright as tw
from tensorwright import te
from bench.harness import Contestant, interleave, report

COUNT = 1 << 20
FUNCTIONS = ["exp", "tanh", "erf"]


def elementwise(name, count=COUNT, lanes=16, vectors=4, chunks=16):
    """(schedule, arguments): chunks of the array for the threads; several vectors at a time hide each other's latency."""
    a = te.placeholder((count,), name="A")
    c = te.compute((count,), lambda i: getattr(te, name)(a[i]), name="C")
    s = te.create_schedule(c)
    task, i = s[c].split(c.op.axis[0], nparts=chunks)
    i, inner = s[c].split(i, factor=lanes * vectors)
    copy, lane = s[c].split(inner, factor=lanes)
    s[c].parallel(task)
    s[c].unroll(copy)
    s[c].vectorize(lane)
    return s, [a, c]


def peers(name, threads, x):
    rows = []
    if threads == 1 and hasattr(np, name):
        out = np.empty_like(x)
        rows.append(Contestant(f"NumPy {np.__version__}", lambda: getattr(np, name)(x, out=out)))
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: left out")
        return rows
    torch.set_num_threads(threads)
    tensor, out_tensor = torch.from_numpy(x), torch.empty(len(x))
    function = getattr(torch, name)
    rows.append(Contestant(f"PyTorch {torch.__version__}", lambda: function(tensor, out=out_tensor)))
    return rows


def contestants(name, threads):
    x = (np.random.default_rng(0).standard_normal(COUNT) * 3).astype("float32")
    out = np.empty_like(x)
    tw.set_num_threads(threads)
    f = tw.build(*elementwise(name), name=name)
    f(x, out)
    return [Contestant(f"tensorwright (bench/elementwise.py:{name})", lambda: f(x, out)), *peers(name, threads, x)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    options, _ = parser.parse_known_args()
    for threads in (1, 2):
        for name in FUNCTIONS:
            rows = contestants(name, threads)
            interleave(rows, options.rounds)
            report(f"{name} of {COUNT} float32, {threads} thread(s)", rows, COUNT / 1e9, "G elements/s")


if __name__ == "__main__":
    main()
