"""Matmuls of narrow types by tensor intrinsics: u8s8s32 1024^3 (vpdpbusd) and bf16 512x4096x4096 (vdpbf16ps), weights packed ahead.

The schedule packs the weights as [n / 16, k / g, 16, g], g values of k side by side. A tile of rows x 16 * vectors sums stays in
registers over the whole of k; a task is a panel of columns.
"""
import argparse
import sys

import numpy as np

import tensorwright as tw
from tensorwright import te
from bench import peers
from bench.harness import Contestant, interleave, report

# shape, values side by side, dtypes, intrinsic, rows and vectors of the tile
CASES = [("u8s8s32", (1024, 1024, 1024), 4, ("uint8", "int8", "int32"), "avx512_vnni_dot_16x4", 4, 4),
         ("bf16", (512, 4096, 4096), 2, ("bfloat16", "bfloat16", "float32"), "avx512_bf16_dot_16x2", 6, 4)]


def dense(shape, group, dtypes, intrin, rows, vectors):
    """(schedule, arguments) of C = A @ W."""
    m, n, k = shape
    a = te.placeholder((m, k), dtypes[0], name="A")
    w = te.placeholder((k, n), dtypes[1], name="W", param=True)
    kk = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, kk].astype(dtypes[2]) * w[kk, j].astype(dtypes[2]), axis=kk), name="C")
    s = te.create_schedule(c)
    s[w].transform_layout(lambda i, j: [j // 16, i // group, j % 16, i % group])
    sums = s.cache_write(c, "local")
    i, j = s[c].op.axis
    io, ii = s[c].split(i, rows)
    jo, ji = s[c].split(j, 16 * vectors)
    jv, lane = s[c].split(ji, 16)
    s[c].reorder(jo, io, ii, jv, lane)
    s[c].parallel(jo)
    s[c].unroll(ii)
    s[c].unroll(jv)
    s[c].vectorize(lane)
    s[sums].compute_at(s[c], io)
    i, j = s[sums].op.axis
    io, ii = s[sums].split(i, rows)
    jv, lane = s[sums].split(j, 16)
    jo, jv = s[sums].split(jv, vectors)
    ko, ki = s[sums].split(s[sums].op.reduce_axis[0], group)
    s[sums].reorder(io, jo, ko, ii, jv, lane, ki)
    s[sums].unroll(ii)
    s[sums].unroll(jv)
    s[sums].tensorize(lane, intrin)
    return s, [a, w, c]


def contestants(shape, group, dtypes, intrin, rows, vectors, threads):
    m, n, k = shape
    rng = np.random.default_rng(0)
    if dtypes[0] == "uint8":
        a, b = rng.integers(0, 256, (m, k)).astype(np.uint8), rng.integers(-128, 128, (k, n)).astype(np.int8)
    else:
        import ml_dtypes

        a, b = (rng.integers(-3, 4, shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, n)))
    ours, theirs = np.empty((m, n), dtypes[2]), np.empty((m, n), dtypes[2])
    tw.set_num_threads(threads)
    f = tw.build(*dense(shape, group, dtypes, intrin, rows, vectors), name="dense")
    packed = f.pack("W", b)
    f(a, packed, ours)
    rows_checked = slice(0, 32)
    np.testing.assert_array_equal(ours[rows_checked], a[rows_checked].astype(np.float64) @ b.astype(np.float64))
    return [Contestant(f"tensorwright (tensorize {intrin})", lambda: f(a, packed, ours)), *peers.vendor(threads, "NarrowMatmul", a, b, theirs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    missing = {"avx512vnni", "avx512bf16"} - set(tw.Target("llvm -mcpu=native").features)
    if missing:
        sys.exit(f"skipped: this CPU lacks {', '.join(sorted(missing))}")
    for threads in (1, 2):
        for name, shape, *how in CASES:
            rows = contestants(shape, *how, threads)
            interleave(rows, rounds)
            report(f"{name} {'x'.join(map(str, shape))}, {threads} thread(s)", rows, 2 * np.prod(shape) / 1e9, "GOP/s")


if __name__ == "__main__":
    main()
