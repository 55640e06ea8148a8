"""Systems that find schedules as Tensorwright does: TVM's MetaSchedule, by measuring, and Halide's Adams2019, without.

Each runs in an interpreter of its own (python/requirements-tvm.txt and -halide.txt say how to make them) and is sampled over a pipe, in
the same interleaved rounds as everything else. One that is missing says why and is left out.
"""
import json
import pathlib
import statistics
import subprocess
import sys

import tensorwright as tw
from bench.harness import Contestant, ratio

ROOT = pathlib.Path(__file__).resolve().parents[2]


class OtherProcess(Contestant):
    """A kernel in a process of its own, which counts its calls itself."""

    def __init__(self, name, command):
        super().__init__(name, lambda: self.sample(1))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = self.process.stdout.readline()
        if not said:
            last = (self.process.stderr.read().strip().splitlines() or ["it ended without a word"])[-1]
            raise OSError(last)
        self.facts = json.loads(said)

    def sample(self, calls):
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def __del__(self):
        process = getattr(self, "process", None)
        if process:
            process.stdin.close()
            process.wait()


def start(name, program, *arguments):
    """A list of one contestant, or an empty one."""
    interpreter = ROOT / "build/peers" / name / "bin/python"
    if not interpreter.exists():
        print(f"peer missing: no {interpreter.relative_to(ROOT)}; python/requirements-{name}.txt says how to make it", file=sys.stderr)
        return []
    try:
        return [OtherProcess(program, [str(interpreter), str(pathlib.Path(__file__).with_name(f"{program}.py")), *map(str, arguments)])]
    except OSError as why:
        print(f"peer missing: {program}: {why}", file=sys.stderr)
        return []


def contestants(row, options) -> list[Contestant]:
    found = []
    if options.tvm and row.tvm:
        found += start("tvm", "tvm_tune", tw.Target("llvm -mcpu=native").cpu, options.threads, options.trials, *row.tvm)
    if options.halide and row.tvm and row.tvm[0] == "matmul":
        found += start("halide", "halide_schedule", options.threads, *row.tvm[1:])
    return found


def report(tuned, others) -> None:
    """How much faster the tuned kernel, or for Halide the default schedule, is; and what it took."""
    for other in others:
        ours, what = (tuned.default, "default schedule") if other.name == "halide_schedule" else (tuned.ours, "tuned kernel")
        rate = tuned.row.work(tuned.arrays) / statistics.median(other.seconds)
        print(f"{'':<28} {other.name}: {rate:.1f} {tuned.row.unit} after {other.facts['wall']:.1f} s; our {what} is {ratio(ours, other)[0]:.2f} x"
              f" as fast, our wall time {tuned.wall / other.facts['wall']:.3f} of it\n", flush=True)
