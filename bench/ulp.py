"""Largest error of exp, log, tanh, sigmoid, erf, rsqrt (all float32 inputs) and pow (2^28 pairs): the numbers of docs/math.md.

Options: --every N takes each N-th block of 65,536 inputs; --target T another target than this machine.
"""
import argparse
import pathlib
import subprocess
import sys

import tensorwright


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--target", default="llvm -mcpu=native")
    options, _ = parser.parse_known_args()  # ./dev bench gives the options of all benches
    program = pathlib.Path(tensorwright.__file__).resolve().parents[2] / "bench" / "bench_ulp"
    if not program.exists():
        print("bench ulp: skipped: a build without LLVM")
        return 0
    return subprocess.run([program, options.target, str(options.every)]).returncode


if __name__ == "__main__":
    sys.exit(main())
