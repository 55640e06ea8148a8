"""A template: relu(A @ B + bias) in register tiles, with the sizes left to the tuner.

A task of the threads is a panel of columns and a share of the rows: it packs the panel of B, then walks its tiles, whose
accumulators stay in registers over the whole of k. `python dense_template.py [TRIALS]` tunes it into dense.jsonl.
"""

import sys

import tensorwright as tw
from tensorwright import te


@tw.autotune.template("dense_bias_relu")
def dense(cfg, M, N, K):
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    bias = te.placeholder((N,), name="bias")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((M, N), lambda i, j: te.max(C[i, j] + bias[j], te.const(0, "float32")), name="D")

    s = te.create_schedule(D)
    packed = s.cache_read(B, "global", [C])
    i, j = s[D].op.axis
    cfg.define_split("tile_i", i, num_outputs=2, max_factor=14)
    cfg.define_split("tile_j", j, num_outputs=2, max_factor=96, filter=lambda tile: tile.size[1] >= 16)
    cfg.define_knob("shares", [1, 2, 3, 4])
    io, ii = cfg["tile_i"].apply(s, D, i)
    jo, ji = cfg["tile_j"].apply(s, D, j)
    share, io = s[D].split(io, nparts=cfg["shares"].val)
    s[D].reorder(jo, share, io, ii, ji)
    task = s[D].fuse(jo, share)
    s[D].parallel(task)
    s[D].vectorize(ji)

    s[C].compute_at(s[D], io)
    ci, cj = s[C].op.axis
    s[C].reorder(k, ci, cj)
    s[C].unroll(ci)
    s[C].vectorize(cj)

    s[packed].compute_at(s[D], task)
    s[packed].vectorize(s[packed].op.axis[1])
    return s, [A, B, bias, D]


if __name__ == "__main__":
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 32
    task = tw.autotune.Task(dense, args=(257, 513, 1025), target="llvm -mcpu=native")
    print(tw.autotune.tune(task, trials=trials, log="dense.jsonl").schedule.to_python())
