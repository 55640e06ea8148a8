"""What a board reaches: for the first person who has one of a kind. Without --boards, on a board that this machine plays itself.

    ./dev bench board --boards=pi4-1:9090 --secret=farm.secret

Each row is tuned on the boards, then the best and the default schedule are called on the first of them in turn: milliseconds and GFLOP/s
(GB/s where memory bounds it) of both, how many trials 95 % took, how often a board was too hot. Both must give the same first. The last
lines say what the boards are.
"""
import argparse
import contextlib
import dataclasses
import pathlib
import platform
import re
import statistics
import subprocess
import tempfile
import time
from typing import Callable

import numpy as np

import tensorwright as tw
from bench.tune_rows import arrays_of, batch_matmul, layernorm, matmul, softmax

BOARD = pathlib.Path(tw.__file__).parent / "boards" / f"tw-board-{platform.machine()}"
ROUNDS = 9
ENOUGH = 0.95  # of the best that tuning found


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    tensors: Callable[[], list]
    flops: float = 0

    def rate(self, arrays, seconds) -> str:
        work = self.flops or sum(a.nbytes for a in arrays)
        return f"{work / seconds / 1e9:7.2f} {'GFLOP/s' if self.flops else 'GB/s'}"


ROWS = [
    Row("matmul 257x513x512", lambda: matmul(257, 513, 512), 2 * 257 * 513 * 512),
    Row("matmul 512^3", lambda: matmul(512, 512, 512), 2 * 512**3),
    Row("matmul u8s8 256^3", lambda: matmul(256, 256, 256, ("uint8", "int8", "int32")), 2 * 256**3),
    Row("12x(128x128x64)", lambda: batch_matmul(12, 128, 128, 64), 2 * 12 * 128 * 128 * 64),
    Row("matmul 1x2048x2048", lambda: matmul(1, 2048, 2048)),
    Row("layernorm 512x768", lambda: layernorm(512, 768)),
    Row("softmax 512x1023", lambda: softmax(512, 1023)),
]


def address_here(ends) -> str:
    process = subprocess.Popen([BOARD, "--listen", "127.0.0.1:0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ends.callback(process.wait)
    ends.callback(process.kill)
    return re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())[0]


def tune(row, runner, trials, folder):
    """The shared objects of the best and of the default schedule, and what tuning said."""
    task, log = tw.autotune.Task(row.tensors(), target=runner.target), folder / "log.jsonl"
    result = tw.autotune.tune(task, runner=runner, trials=trials, log=log, progress=False)
    tw.build(task, log=log, machine=runner.machine).save(folder / "best.so")
    tw.build(row.tensors(), target=runner.target, name="untuned").save(folder / "default.so")
    return result, [folder / "best.so", folder / "default.so"]


def called(session, paths, arrays):
    """Medians of seconds a call of each, in turn."""
    results, timers, there = [], [], [session.array(a) for a in arrays]
    for path in paths:
        session.upload(path)
        f = session.load_module(path.name)
        f(*there)
        results.append(there[-1].numpy().astype(np.float64))
        timers.append(f.time_evaluator(number=1, repeat=1, min_repeat_ms=20))
    np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-3)
    rounds = [[timer(*there).mean for timer in timers] for _ in range(ROUNDS)]
    return [statistics.median(seconds) for seconds in zip(*rounds)]


def show(row, result, wall, seconds):
    arrays = arrays_of(row.tensors())
    rates = "   ".join(f"{name} {s * 1e3:9.3f} ms {row.rate(arrays, s)}" for name, s in zip(("tuned", "default"), seconds))
    hot = sum(trial.status == "throttled" for trial in result.trials)
    print(f"{row.name:<24} {rates}   {len(result.trials)} trials in {wall:.0f} s, {ENOUGH:.0%} after {enough(result)}, {hot} throttled", flush=True)


def enough(result) -> int:
    return next(i + 1 for i, seconds in enumerate(result.curve) if seconds <= result.curve[-1] / ENOUGH)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--boards", default="", help="HOST:PORT,... of boards that listen, all alike")
    parser.add_argument("--secret", help="the file that tw rpc-key made")
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--rows", default="", help="only those whose name has this in it")
    options = parser.parse_args()
    with contextlib.ExitStack() as ends:
        boards = [b for b in options.boards.split(",") if b] or [address_here(ends)]
        host, port = boards[0].rsplit(":", 1)
        for row in (r for r in ROWS if options.rows in r.name):
            folder = pathlib.Path(ends.enter_context(tempfile.TemporaryDirectory()))
            begin = time.perf_counter()
            with tw.autotune.RPCRunner(boards=boards, secret=options.secret) as runner:
                about = f"{runner.machine}\n{runner.target}"
                result, paths = tune(row, runner, options.trials, folder)
            wall = time.perf_counter() - begin
            with tw.rpc.connect(host, int(port), secret=options.secret) as session:
                show(row, result, wall, called(session, paths, arrays_of(row.tensors())))
        print(about)


if __name__ == "__main__":
    main()
