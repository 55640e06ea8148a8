"""The demo on a GPU: tune relu(A @ B + bias), check it, compare it with PyTorch where that is, and build it again from the log.

    ./dev demo --target cuda

Without a GPU it shows what there is to be had: what an estimate says of the schedule that nobody has measured, the text, the launches, what the
compiler makes of it, and what the interpreter finds when it runs the same Steps, every access and every barrier checked, on a smaller product.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

import tensorwright as tw
from tensorwright import te

SMALL = (65, 70, 19)
LINES = 60  # of the text


def tensors(m, n, k):
    A, B, bias = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B"), te.placeholder((n,), name="bias")
    r = te.reduce_axis((0, k), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    D = te.compute((m, n), lambda i, j: te.max(C[i, j] + bias[j], te.const(0, "float32")), name="D")
    return [A, B, bias, D]


def inputs(m, n, k):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n), (n,))]


def expected(a, b, bias):
    return np.maximum(a @ b + bias, 0)


def run(f, a, b, bias):
    """What the function writes, and the arrays on the GPU that it was given."""
    arrays = [tw.device_array(x) for x in (a, b, bias, np.zeros((a.shape[0], b.shape[1]), np.float32))]
    f(*arrays)
    return arrays[-1].numpy(), arrays


def rebuild(shape, target, log, result):
    """The second process: no measuring, one call."""
    f = tw.build(tw.autotune.Task(tensors(*shape), target=target), log=log)
    np.save(result, run(f, *inputs(*shape))[0])


def peer(a, b, bias):
    """Seconds of PyTorch on the same GPU; None where it is not."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    there = [torch.from_numpy(x).cuda() for x in (a, b, bias)]
    call = lambda: torch.relu(torch.addmm(there[2], there[0], there[1]))  # noqa: E731
    times = []
    for _ in range(20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
    return sorted(times)[len(times) // 2]


def on_gpu(shape, options):
    task = tw.autotune.Task(tensors(*shape), target=options.target)
    result = tw.autotune.tune(task, trials=options.trials, log=options.log, seed=0)
    print(f"best of {len(result.trials)} measured in {result.elapsed:.1f} s: {result.best.knobs}")
    tuned, untuned = tw.build(task, log=options.log), tw.build(tensors(*shape), target=options.target, name="untuned")
    arrays = inputs(*shape)
    out, there = run(tuned, *arrays)
    np.testing.assert_allclose(out, expected(*arrays), rtol=1e-3, atol=1e-3)
    print("the result agrees with NumPy")

    m, n, k = shape
    print(f"\nrelu(A @ B + bias), {m}x{n}x{k} float32, {tw.device_info()['name']}")
    rows = [("tensorwright, tuned", tuned.time(*there).median), ("tensorwright, untuned (no schedule given)", untuned.time(*there).median)]
    rows.append(("PyTorch, addmm and relu", peer(*arrays)))
    for name, seconds in rows:
        print(f"  {name:<44} " + (f"{seconds * 1e6:8.1f} us {2 * m * n * k / seconds / 1e9:8.1f} GFLOP/s" if seconds else "not here"))

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.npy")
        demo = os.path.join(os.path.dirname(__file__), "demo.py")
        command = [sys.executable, demo, "--target", options.target, "--shape", options.shape, "--rebuild", path, "--log", options.log]
        subprocess.run(command, check=True, env={**os.environ, "TW_MEASURE": "forbid"})
        if np.load(path).tobytes() != out.tobytes():
            sys.exit("the kernel rebuilt from the log gives other bits")
    print(f"\nrebuilt from {os.path.relpath(options.log)} in a second process without measuring: equal bit for bit")


def without_gpu(shape, target, why):
    print(f"{why}\nWhat there is without one, for {target}:\n")
    given = tensors(*shape)
    s = tw.default_schedule(given, target)
    f = tw.build(s, given, target=target, name="dense")
    print(s.explain(target))
    text = f.source("cuda").splitlines()
    print("\n".join(["\nThe text:", *text[:LINES], f"... {len(text) - LINES} more lines" if len(text) > LINES else ""]))
    print("The launches:\n" + f.source("launches"))
    try:
        for of in f.resources:
            print("The compiler: {function} has {registers} registers, {shared_bytes} bytes of shared memory, {spill_stores} bytes of spills".format(**of))
    except tw.BuildError as error:
        print(f"The compiler: {error}")
    small = tensors(*SMALL)
    arrays = [*inputs(*SMALL), np.zeros(SMALL[:2], np.float32)]
    tw.build(tw.Schedule.from_steps(small[-1:], s.steps), small, target="interp")(*arrays)
    np.testing.assert_allclose(arrays[-1], expected(*arrays[:3]), rtol=1e-3, atol=1e-3)
    print(f"\nThe interpreter: the same Steps on {'x'.join(map(str, SMALL))}, every access and barrier checked, agree with NumPy")
    print(f"\nA GPU elsewhere: tw tune matmul --shape M=257,N=513,K=1025 --target \"{target}\" --pack p.twpack, and tw-measure there (docs/boards.md)")


def main(options):
    shape = tuple(map(int, options.shape.split("x")))
    if options.rebuild:
        return rebuild(shape, options.target, options.log, options.rebuild)
    try:
        tw.device_info()
    except tw.TargetError as error:
        arch = options.target if "-arch" in options.target else "cuda -arch=sm_90a"
        return without_gpu(shape, tw.Target(arch), error.what)
    return on_gpu(shape, options)
