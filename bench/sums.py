"""Sums of 4096x4096 float32 over rows, over columns and over all, by hand, against a read of the same memory in C."""
from functools import partial

import numpy as np

import tensorwright as tw
from tensorwright import te
from bench import peers
from bench.harness import Contestant, compare_bandwidth
from bench.reductions import in_vectors

SHAPES = ["rows", "columns", "all"]
SIZE = 4096


def rows(n, tasks=16):
    """(schedule, arguments) of B[i] = sum of row i."""
    a, k = te.placeholder((n, n), name="A"), te.reduce_axis((0, n), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b)
    row_sums(s, b, tasks)
    return s, [a, b]


def row_sums(s, b, tasks):
    """Threads take shares of the rows; a row's sum is made in vectors."""
    total = s.cache_write(b, "local")
    task, row = s[b].split(b.op.axis[0], nparts=tasks)
    s[b].parallel(task)
    in_vectors(s, total, b, row)


def columns(n, tasks=4, streams=8):
    """(schedule, arguments) of B[j] = sum of column j.

    A task sums a share of the rows, `streams` of them side by side: its n partial results are read and written once for that many
    rows, and memory gives several streams faster than one, provided that they are far apart.
    """
    a, k = te.placeholder((n, n), name="A"), te.reduce_axis((0, n), name="k")
    b = te.compute((n,), lambda j: te.sum(a[k, j], axis=k), name="B")
    s = te.create_schedule(b)
    share, _ = s[b].split(k, nparts=tasks)
    partial = s.rfactor(b, share)
    share, j = partial.op.axis
    stream, row = s[partial].split(partial.op.reduce_axis[0], nparts=streams)
    jo, lane = s[partial].split(j, 64)
    s[partial].reorder(share, row, jo, stream, lane)
    s[partial].parallel(share)
    s[partial].unroll(stream)
    s[partial].vectorize(lane)
    jo, lane = s[b].split(b.op.axis[0], 64)
    s[b].reorder(jo, s[b].op.reduce_axis[0], lane)
    s[b].vectorize(lane)
    return s, [a, b]


def all_of(n, tasks=16):
    """(schedule, arguments) of B = sum of all elements: the sums of the rows, then their sum."""
    a = te.placeholder((n, n), name="A")
    i, k = te.reduce_axis((0, n), name="i"), te.reduce_axis((0, n), name="k")
    total = te.compute((n,), lambda row: te.sum(a[row, k], axis=k), name="total")
    b = te.compute((1,), lambda _: te.sum(total[i], axis=i), name="B")
    s = te.create_schedule(b)
    result = s.cache_write(b, "local")
    row_sums(s, total, tasks)
    in_vectors(s, result, b, b.op.axis[0])
    return s, [a, b]


def contestants(name, threads):
    x = np.random.default_rng(0).standard_normal((SIZE, SIZE), dtype=np.float32)
    make, expected = {"rows": (rows, x.sum(axis=1, dtype=np.float64)), "columns": (columns, x.sum(axis=0, dtype=np.float64)),
                      "all": (all_of, x.sum(dtype=np.float64).reshape(1))}[name]
    schedule, arguments = make(SIZE)
    out = np.empty(arguments[-1].shape, np.float32)
    tw.set_num_threads(threads)
    f = tw.build(schedule, arguments, name="sum")
    f(x, out)
    np.testing.assert_allclose(out, expected, atol=0.05)
    return [Contestant(f"tensorwright (bench/sums.py:{make.__name__})", lambda: f(x, out)), *peers.read(threads, x)]


def main() -> None:
    compare_bandwidth(__doc__, [(f"sum of {SIZE}x{SIZE} f32 over {name}", 4 * SIZE * SIZE, partial(contestants, name)) for name in SHAPES])


if __name__ == "__main__":
    main()
