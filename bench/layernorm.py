"""Layer normalisation of 512x768 and 4096x4096 float32, by hand, against oneDNN: one thread and two."""
from functools import partial

import numpy as np

import tensorwright as tw
from tensorwright import te
from bench import peers
from bench.harness import Contestant, compare_bandwidth
from bench.reductions import in_vectors

SHAPES = [(512, 768), (4096, 4096)]
TOGETHER = {4096: 4}  # rows that a loop reads side by side: memory gives several streams faster than one, the caches do not
EPSILON = 1e-5


def layernorm(rows, columns, tasks=16, together=1):
    """(schedule, arguments) of B[i, j] = (A[i, j] - mean of row i) / sqrt(variance of row i + epsilon) * scale[j] + shift[j]."""
    a = te.placeholder((rows, columns), name="A")
    scale, shift = te.placeholder((columns,), name="scale"), te.placeholder((columns,), name="shift")
    j, k = te.reduce_axis((0, columns), name="j"), te.reduce_axis((0, columns), name="k")
    total = te.compute((rows,), lambda i: te.sum(a[i, j], axis=j), name="total")
    mean = te.compute((rows,), lambda i: total[i] * (1 / columns), name="mean")
    squares = te.compute((rows,), lambda i: te.sum((a[i, k] - mean[i]) * (a[i, k] - mean[i]), axis=k), name="squares")
    factor = te.compute((rows,), lambda i: te.rsqrt(squares[i] * (1 / columns) + EPSILON), name="factor")
    b = te.compute((rows, columns), lambda i, j: (a[i, j] - mean[i]) * factor[i] * scale[j] + shift[j], name="B")
    s = te.create_schedule(b)
    task, row = s[b].split(b.op.axis[0], nparts=tasks)
    row, one = s[b].split(row, together)
    part, lane = s[b].split(b.op.axis[1], 64)
    s[b].reorder(row, part, one, lane)
    s[b].parallel(task)
    s[b].unroll(one)
    s[b].vectorize(lane)
    for stage in (factor, mean):  # three passes over a row before the next: all but the first find it in a cache
        s[stage].compute_at(s[b], row)
    for stage in (squares, total):
        in_vectors(s, stage, b, row)
    return s, [a, scale, shift, b]


def contestants(rows, columns, threads):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns), dtype=np.float32) * 2 + 1
    scale, shift = (rng.standard_normal(columns, dtype=np.float32) for _ in range(2))
    ours, theirs = np.empty_like(x), np.empty_like(x)
    tw.set_num_threads(threads)
    f = tw.build(*layernorm(rows, columns, together=TOGETHER.get(rows, 1)), name="layernorm")
    f(x, scale, shift, ours)
    exact = x.astype(np.float64)
    exact -= exact.mean(axis=1, keepdims=True)
    exact = exact / np.sqrt(exact.var(axis=1, keepdims=True) + EPSILON) * scale + shift
    np.testing.assert_allclose(ours, exact, rtol=1e-4, atol=1e-5)
    return [Contestant("tensorwright (bench/layernorm.py:layernorm)", lambda: f(x, scale, shift, ours)),
            *peers.vendor(threads, "LayerNorm", x, scale, shift, EPSILON, theirs)]


def main() -> None:
    compare_bandwidth(__doc__, [(f"layernorm {rows}x{columns} f32", 8 * rows * columns, partial(contestants, rows, columns))
                                for rows, columns in SHAPES])


if __name__ == "__main__":
    main()
