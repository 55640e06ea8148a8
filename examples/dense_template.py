"""A template: relu(A @ B + bias) in register tiles, with the sizes left to the tuner.

Tiles of D are walked by the threads; inside one, C's accumulators stay in registers over the whole of k, and the tile's panel of B
is packed so that it is read in a straight line.
"""

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
    io, ii = cfg["tile_i"].apply(s, D, i)
    jo, ji = cfg["tile_j"].apply(s, D, j)
    s[D].reorder(jo, io, ii, ji)
    s[D].parallel(jo)
    s[D].vectorize(ji)

    s[C].compute_at(s[D], io)
    ci, cj = s[C].op.axis
    s[C].reorder(k, ci, cj)
    s[C].unroll(ci)
    s[C].vectorize(cj)

    s[packed].compute_at(s[D], jo)
    s[packed].vectorize(s[packed].op.axis[1])
    return s, [A, B, bias, D]
