"""Halide's Adams2019, which measures nothing, on one matmul, in a process of its own: build/peers/halide/bin/python.

usage: halide_schedule.py THREADS M N K
Says {"wall": seconds of scheduling and compiling} on stdout, then answers each line "N" with the seconds of one of N calls.
"""
import glob
import json
import os
import sys
import time

threads, *shape = sys.argv[1:]
os.environ["HL_NUM_THREADS"] = threads  # read when the pool starts

import halide as hl  # noqa: E402
import numpy as np  # noqa: E402


def pipeline(m, n, k):
    a, b = hl.ImageParam(hl.Float(32), 2, "A"), hl.ImageParam(hl.Float(32), 2, "B")
    i, j, r = hl.Var("i"), hl.Var("j"), hl.RDom([(0, k)])
    total, out = hl.Func("C"), hl.Func("D")
    total[j, i] = 0.0
    total[j, i] += a[r, i] * b[j, r]
    out[j, i] = total[j, i]
    a.set_estimates([hl.Range(0, k), hl.Range(0, m)])
    b.set_estimates([hl.Range(0, n), hl.Range(0, k)])
    out.set_estimates([hl.Range(0, n), hl.Range(0, m)])
    return a, b, hl.Pipeline(out)


def main() -> None:
    m, n, k = map(int, shape)
    hl.load_plugin(glob.glob(hl.__path__[0] + "/**/libautoschedule_adams2019.so", recursive=True)[0])
    a, b, whole = pipeline(m, n, k)
    begin = time.perf_counter()
    whole.apply_autoscheduler(hl.get_host_target(), hl.AutoschedulerParams("Adams2019", {"parallelism": int(threads)}))
    x, y = np.random.rand(m, k).astype("float32"), np.random.rand(k, n).astype("float32")
    a.set(hl.Buffer(x))
    b.set(hl.Buffer(y))
    whole.compile_jit(hl.get_host_target())
    wall = time.perf_counter() - begin
    out = hl.Buffer(hl.Float(32), [n, m])
    whole.realize(out)
    np.testing.assert_allclose(np.array(out), x @ y, rtol=1e-3)
    print(json.dumps({"wall": wall}), flush=True)
    for line in sys.stdin:
        calls = int(line)
        begin = time.perf_counter()
        for _ in range(calls):
            whole.realize(out)
        print((time.perf_counter() - begin) / calls, flush=True)


if __name__ == "__main__":
    main()
