"""Declare, tune, check, compare, and build again from the log: relu(A @ B + bias) of the awkward size 257x513x1025.

    ./dev demo
    ./dev demo --target cuda    on a GPU, or what there is without one (demo_cuda.py)

A second process then builds the kernel from the log alone, under TW_MEASURE=forbid, and must give the same bits.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import tensorwright as tw

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

from bench.harness import Contestant, interleave, ratio  # noqa: E402
from bench.peers import onednn  # noqa: E402
import demo_cuda  # noqa: E402
from dense_template import dense  # noqa: E402

SHAPE = (257, 513, 1025)


def inputs():
    m, n, k = SHAPE
    rng = np.random.default_rng(0)
    a, b, bias = (rng.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n), (n,)))
    return a, b, bias, np.empty((m, n), np.float32)


def make_task():
    return tw.autotune.Task(dense, args=SHAPE, target="llvm -mcpu=native")


def rebuild(log, result):
    """The second process: no measuring, one call."""
    f = tw.build(make_task(), log=log)
    arrays = inputs()
    f(*arrays)
    np.save(result, arrays[-1])


def contestants(tuned, arrays):
    a, b, bias, out = arrays
    _, tensors = make_task().space[0].instantiate()
    untuned = tw.build(tensors, name="untuned")
    rows = [
        Contestant("tensorwright, tuned", lambda: tuned(a, b, bias, out)),
        Contestant("tensorwright, untuned (no schedule given)", lambda: untuned(a, b, bias, out)),
        Contestant("NumPy", lambda: np.maximum(a @ b + bias, 0)),
    ]
    missing = None
    try:
        lib = onednn.load()
        lib.tw_peer_threads(tw.num_threads())
        name = f"oneDNN {lib.tw_peer_version().decode()} with the same post-ops"
        rows.append(Contestant(name, onednn.Matmul(lib, a, b, np.empty_like(out), bias=bias, activation="relu")))
    except onednn.Missing as why:
        missing = str(why)
    return rows, missing


def table(rows, missing):
    m, n, k = SHAPE
    work = 2 * m * n * k / 1e9
    rounds = len(rows[0].seconds)
    print(f"\nrelu(A @ B + bias), {m}x{n}x{k} float32, {tw.num_threads()} threads, {rounds} interleaved rounds, medians")
    for row in rows:
        line = f"  {row.name:<44} {row.median * 1e3:8.3f} ms {work / row.median:8.1f} GFLOP/s"
        if row is not rows[0]:
            line += f"   tuned is {ratio(rows[0], row)[0]:.2f} x as fast"
        print(line)
    if missing:
        print(f"  oneDNN: peer missing: {missing}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--log", default=str(ROOT / "build" / "demo.jsonl"), help="where measurements go; starts empty")
    parser.add_argument("--target", default="llvm", help="llvm, which is this machine, or cuda")
    parser.add_argument("--shape", default="257x513x1025", help=argparse.SUPPRESS)  # of the product on a GPU
    parser.add_argument("--rebuild", metavar="RESULT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    kind = options.target.split()[:1]
    if kind not in (["llvm"], ["cuda"]) or options.target.startswith("llvm "):
        parser.error(f"--target must be llvm or cuda, not {options.target!r}")
    if options.rebuild and kind == ["llvm"]:
        return rebuild(options.log, options.rebuild)

    pathlib.Path(options.log).parent.mkdir(parents=True, exist_ok=True)
    if not options.rebuild:
        pathlib.Path(options.log).unlink(missing_ok=True)
    if kind == ["cuda"]:
        return demo_cuda.main(options)
    task = make_task()
    print(task.space)
    result = tw.autotune.tune(task, trials=options.trials, log=options.log, seed=0)
    print(f"best of {len(result.trials)} measured in {result.elapsed:.1f} s: {result.best.knobs}")

    tuned = tw.build(task, log=options.log)
    arrays = inputs()
    a, b, bias, out = arrays
    tuned(*arrays)
    np.testing.assert_allclose(out, np.maximum(a @ b + bias, 0), rtol=1e-3, atol=1e-3)
    print("the result agrees with NumPy")
    rows, missing = contestants(tuned, arrays)
    interleave(rows, options.rounds)
    table(rows, missing)

    tuned(*arrays)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.npy")
        command = [sys.executable, __file__, "--rebuild", path, "--log", options.log]
        subprocess.run(command, check=True, env={**os.environ, "TW_MEASURE": "forbid"})
        again = np.load(path)
    if again.tobytes() != out.tobytes():
        sys.exit("the kernel rebuilt from the log gives other bits")
    print(f"\nrebuilt from {os.path.relpath(options.log)} in a second process without measuring: equal bit for bit")
    return None


if __name__ == "__main__":
    main()
