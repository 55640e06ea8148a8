"""What stands around a kernel, for the 1024^3 matmul of bench/matmul.py: a Step, lowering, features, te to callable; a parallel region; a call."""
import pathlib
import statistics
import subprocess
import time

import numpy as np

import tensorwright as tw
from tensorwright import te
from bench.matmul import dense


def median_seconds(f, rounds: int) -> float:
    f()
    out = []
    for _ in range(rounds):
        begin = time.perf_counter()
        f()
        out.append(time.perf_counter() - begin)
    return statistics.median(out)


def main() -> None:
    def declare_and_build():
        s, args = dense(1024, 1024, 1024)
        return tw.build(s, args, name="dense")

    program = pathlib.Path(tw.__file__).parents[2] / "bench" / "bench_overheads"
    subprocess.run([program], check=True)
    whole = median_seconds(declare_and_build, 21)
    print(f"te to callable: {whole * 1e3:.1f} ms, median of 21", flush=True)

    n = 64
    a, b = te.placeholder((n,), name="a"), te.placeholder((n,), name="b")
    c = te.compute((n,), lambda i: a[i] + b[i], name="c")
    s = te.create_schedule(c)
    s[c].vectorize(c.op.axis[0])
    add = tw.build(s, [a, b, c], name="add")
    x, y, z = (np.ones(n, np.float32) for _ in range(3))
    calls = 10_000

    def many():
        for _ in range(calls):
            add(x, y, z)

    print(f"call from Python with NumPy arrays, 64-element add: {median_seconds(many, 11) / calls * 1e6:.2f} us a call, median of 11 x {calls}")


if __name__ == "__main__":
    main()
