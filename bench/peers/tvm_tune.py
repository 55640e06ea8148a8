"""TVM's MetaSchedule on one row, in a process of its own (TVM brings its own LLVM and versions of packages): build/peers/tvm/bin/python.

usage: tvm_tune.py CPU THREADS TRIALS matmul M N K | conv2d CHANNELS FILTERS SIZE KERNEL PADDING
Says {"wall": seconds of tuning, "trials": n} on stdout, then answers each line "N" with the seconds of one of N calls.
"""
import json
import os
import sys
import tempfile
import time

import numpy as np


def matmul(te, tirx, m, n, k):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    return [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")]


def conv2d(te, tirx, channels, filters, size, kernel, padding):
    x = te.placeholder((1, size, size, channels), name="X")
    w = te.placeholder((kernel, kernel, channels, filters), name="W")
    p = te.compute((1, size + 2 * padding, size + 2 * padding, channels), lambda n, h, v, c: tirx.if_then_else(
        tirx.all(h >= padding, h < size + padding, v >= padding, v < size + padding),
        x[n, h - padding, v - padding, c], tirx.const(0, "float32")), name="P")
    kh, kw, c = te.reduce_axis((0, kernel)), te.reduce_axis((0, kernel)), te.reduce_axis((0, channels))
    result = size + 2 * padding - kernel + 1
    return [x, w, te.compute((1, result, result, filters), lambda n, h, v, f: te.sum(
        p[n, h + kh, v + kw, c] * w[kh, kw, c, f], axis=[kh, kw, c]), name="Y")]


def main() -> None:
    cpu, threads, trials, operator, *shape = sys.argv[1:]
    os.environ["TVM_NUM_THREADS"] = threads
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # TVM prints tables while it tunes
    import tvm
    from tvm import te, tirx
    from tvm.s_tir import meta_schedule as ms

    tensors = {"matmul": matmul, "conv2d": conv2d}[operator](te, tirx, *map(int, shape))
    function = te.create_prim_func(tensors)
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": int(threads)})
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        database = ms.tune_tir(mod=function, target=target, work_dir=folder, max_trials_global=int(trials),
                               num_trials_per_iter=min(64, int(trials)))
        wall = time.perf_counter() - begin
        count = len(database.get_all_tuning_records())
        schedule = ms.tir_integration.compile_tir(database, function, target)
    arrays = [tvm.runtime.tensor(np.random.rand(*map(int, t.shape)).astype("float32")) for t in tensors]
    built = tvm.compile(schedule.mod, target=target)
    run = built["main"]
    run(*arrays)
    print(json.dumps({"wall": wall, "trials": count}), file=answers)
    for line in sys.stdin:
        calls = int(line)
        begin = time.perf_counter()
        for _ in range(calls):
            run(*arrays)
        print((time.perf_counter() - begin) / calls, file=answers)


if __name__ == "__main__":
    main()
