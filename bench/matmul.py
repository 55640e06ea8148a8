"""Matmul by hand, from public primitives: 1024^3, 257x513x1025 and 513^3 float32, weights row-major, packing inside the clock.

The same schedule for all, and for a kernel of every shape: a panel of 64 columns a task; B's panel is packed by the thread that uses it; 6 x 64 accumulators stay
in registers over the whole of k.
"""
import argparse

import numpy as np

import tensorwright as tw
from tensorwright import te
from bench import peers
from bench.harness import Contestant, interleave, report

SHAPES = [(1024, 1024, 1024), (257, 513, 1025), (513, 513, 513)]


def dense(m, n, k, rows=6, columns=64):
    """(schedule, arguments) of C = A @ B."""
    a = te.placeholder((m, k), name="A")
    b = te.placeholder((k, n), name="B")
    kk = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, kk] * b[kk, j], axis=kk), name="C")
    s = te.create_schedule(c)
    packed = s.cache_read(b, "global", [c])
    i, j = s[c].op.axis
    jo, ji = s[c].split(j, factor=columns)
    io, ii = s[c].split(i, factor=rows)
    s[c].reorder(jo, io, kk, ii, ji)
    s[c].parallel(jo)
    s[c].unroll(ii)
    s[c].vectorize(ji)
    s[packed].compute_at(s[c], jo)
    _, lane = s[packed].split(s[packed].op.axis[1], factor=columns)
    s[packed].vectorize(lane)
    return s, [a, b, c]


def contestants(m, n, k, threads):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    ours, theirs = np.empty((m, n), np.float32), np.empty((m, n), np.float32)
    tw.set_num_threads(threads)
    schedule, arguments = dense(m, n, k)
    f = tw.build(schedule, arguments, name="dense")
    every_shape = tw.build(*dense(*(te.size_var(name) for name in "mnk")), name="dense_symbolic")
    default = tw.build(arguments, name="dense_default")
    f(a, b, ours)
    np.testing.assert_allclose(ours, a @ b, rtol=1e-3, atol=1e-3)
    return [Contestant("tensorwright (bench/matmul.py:dense)", lambda: f(a, b, ours)),
            Contestant("tensorwright, the same for every shape", lambda: every_shape(a, b, ours)),
            Contestant("tensorwright, no schedule given", lambda: default(a, b, ours)),
            *peers.matmul(threads, a, b, theirs, packed=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    for threads in (1, 2):
        for m, n, k in SHAPES:
            rows = contestants(m, n, k, threads)
            interleave(rows, rounds)
            report(f"matmul {m}x{n}x{k} f32, {threads} thread(s)", rows, 2 * m * n * k / 1e9)


if __name__ == "__main__":
    main()
