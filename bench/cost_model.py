"""How the prior, XGBoost cold and XGBoost transferred rank measured candidates: pair accuracy and top-8 recall on held-out tasks; candidates a second.

Measures random candidates of matmuls and convolutions of several shapes (--trials each), or takes logs that are given. Each task is
held out once: "cold" has seen a third of its own trials, "transferred" the other tasks only.
"""
import argparse
import pathlib
import subprocess
import tempfile

import tensorwright as tw
from bench.tune_rows import conv2d, matmul

SHAPES = [(512, 512, 512), (257, 513, 1025), (128, 768, 768), (31, 33, 1000), (4096, 64, 64), (384, 640, 256)]
CONVOLUTIONS = [(64, 64, 28, 3, 1, 1), (128, 128, 14, 3, 1, 1), (64, 128, 28, 1, 1, 0)]  # channels, filters, size, kernel, stride, padding


def collect(folder: str, trials: int) -> list[str]:
    logs = []
    for tensors in [matmul(*shape) for shape in SHAPES] + [conv2d(*shape) for shape in CONVOLUTIONS]:
        logs.append(f"{folder}/{len(logs)}.jsonl")
        task = tw.autotune.Task(tensors, target="llvm -mcpu=native")
        result = tw.autotune.tune(task, trials=trials, log=logs[-1], search="random", model=None, progress=False)
        print(f"{[tuple(t.shape) for t in tensors]}: {len(result.trials)} random candidates in {result.elapsed:.0f} s, "
              f"{len(result.failures)} failed")
    return logs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", help="logs of earlier runs, instead of measuring")
    parser.add_argument("--trials", type=int, default=96)
    options = parser.parse_args()
    program = pathlib.Path(tw.__file__).parents[2] / "bench" / "bench_cost_model"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, *(options.logs or collect(folder, options.trials))], check=True)


if __name__ == "__main__":
    main()
