"""What stands around a kernel, for the 1024^3 matmul of bench/matmul.py: a Step, lowering, features, te to callable; a parallel region; a call, also of a
function for a CUDA device, by a driver whose launches take no time (tests/fake_cuda)."""
import os
import pathlib
import statistics
import subprocess
import sys
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


DEVICE_CALLS = """
import numpy as np, tensorwright as tw
from tensorwright import te
from bench.overheads import median_seconds
a, b = te.placeholder((64,), name="a"), te.placeholder((64,), name="b")
c = te.compute((64,), lambda i: a[i] + b[i], name="c")
s = te.create_schedule(c)
s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
add = tw.build(s, [a, b, c], target="cuda", name="add")
x, y, z = (tw.device_array(np.ones(64, "float32")) for _ in range(3))
def many(call, *arrays):
    def run():
        for _ in range(10_000):
            call(*arrays)
    return median_seconds(run, 11) / 10_000 * 1e6
print(f"call of a device's function: {many(add, x, y, z):.2f} us with DeviceArrays, {many(add.graph(x, y, z)):.2f} us of its graph, medians of 11 x 10000")
"""


def main() -> None:
    def declare_and_build():
        s, args = dense(1024, 1024, 1024)
        return tw.build(s, args, name="dense")

    build = pathlib.Path(tw.__file__).parents[2]
    program = build / "bench" / "bench_overheads"
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
    fake = {"TW_CUDA_DRIVER": str(build / "tests" / "libfake_cuda.so"), "TW_CUDA_IMAGES": "ir", "FAKE_CUDA_IDLE": "1"}
    subprocess.run([sys.executable, "-c", DEVICE_CALLS], check=True, env={**os.environ, **fake})


if __name__ == "__main__":
    main()
