"""Softmax over the rows of 4096x1024 and 1000x1023 float32, by hand, against oneDNN: one thread and two."""
from functools import partial

import numpy as np

import tensorwright as tw
from tensorwright import te
from bench import peers
from bench.harness import Contestant, compare_bandwidth
from bench.reductions import in_vectors

SHAPES = [(4096, 1024), (1000, 1023)]


def softmax(rows, columns, lanes=16, vectors=4, tasks=16):
    """(schedule, arguments) of B[i, j] = exp(A[i, j] - max of row i) / sum of the same over row i."""
    a = te.placeholder((rows, columns), name="A")
    j = te.reduce_axis((0, columns), name="j")
    largest = te.compute((rows,), lambda i: te.max(a[i, j], axis=j), name="largest")
    e = te.compute((rows, columns), lambda i, j: te.exp(a[i, j] - largest[i]), name="E")
    k = te.reduce_axis((0, columns), name="k")
    total = te.compute((rows,), lambda i: te.sum(e[i, k], axis=k), name="total")
    scale = te.compute((rows,), lambda i: 1.0 / total[i], name="scale")  # one division a row instead of one an element
    b = te.compute((rows, columns), lambda i, j: e[i, j] * scale[i], name="B")
    s = te.create_schedule(b)
    task, row = s[b].split(b.op.axis[0], nparts=tasks)
    s[b].parallel(task)
    s[b].vectorize(b.op.axis[1])
    for stage in (scale, e):  # all passes over a row before the next row: it stays in the first cache
        s[stage].compute_at(s[b], row)
    s[e].vectorize(e.op.axis[1])
    for stage in (largest, total):
        in_vectors(s, stage, b, row, lanes, vectors)
    return s, [a, b]


def contestants(rows, columns, threads):
    x = np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)
    ours, theirs = np.empty_like(x), np.empty_like(x)
    tw.set_num_threads(threads)
    f = tw.build(*softmax(rows, columns), name="softmax")
    f(x, ours)
    exact = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(ours, exact / exact.sum(axis=1, keepdims=True), rtol=1e-5)
    return [Contestant("tensorwright (bench/softmax.py:softmax)", lambda: f(x, ours)), *peers.vendor(threads, "Softmax", x, theirs)]


def main() -> None:
    compare_bandwidth(__doc__, [(f"softmax {rows}x{columns} f32", 8 * rows * columns, partial(contestants, rows, columns))
                                for rows, columns in SHAPES])


if __name__ == "__main__":
    main()
