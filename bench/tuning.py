"""Tuning relu(A @ B + bias), 257x513x1025 float32, by the template of examples/dense_template.py: rate, and the kernel it finds."""
import argparse
import pathlib
import sys
import tempfile

import numpy as np

import tensorwright as tw
from bench import peers
from bench.harness import Contestant, interleave, report

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
from dense_template import dense  # noqa: E402

SHAPE = (257, 513, 1025)


def tune(threads: int, trials: int, seed: int):
    tw.set_num_threads(threads)
    task = tw.autotune.Task(dense, args=SHAPE, target="llvm -mcpu=native")
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/dense.jsonl"
        result = tw.autotune.tune(task, trials=trials, log=log, seed=seed, progress=False)
        checked = sum(t.status in ("ok", "beaten") for t in result.trials)
        print(f"{threads} thread(s): {checked} candidates built, run and checked in {result.elapsed:.1f} s "
              f"({checked / result.elapsed:.1f} a second, {len(result.failures)} failed); best {result.best.knobs}")
        return tw.build(task, log=log)


def contestants(tuned, threads: int):
    m, n, k = SHAPE
    rng = np.random.default_rng(0)
    a, b, bias = (rng.standard_normal(s, dtype=np.float32) for s in ((m, k), (k, n), (n,)))
    ours, theirs = np.empty((m, n), np.float32), np.empty((m, n), np.float32)
    tuned(a, b, bias, ours)
    np.testing.assert_allclose(ours, np.maximum(a @ b + bias, 0), rtol=1e-3, atol=1e-3)
    return [Contestant("tensorwright, tuned", lambda: tuned(a, b, bias, ours)),
            *peers.matmul(threads, a, b, theirs, bias, relu=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    m, n, k = SHAPE
    for threads in (1, 2):
        rows = contestants(tune(threads, options.trials, options.seed), threads)
        interleave(rows, options.rounds)
        report(f"relu(A @ B + bias) {m}x{n}x{k} f32, {threads} thread(s)", rows, 2 * m * n * k / 1e9)


if __name__ == "__main__":
    main()
