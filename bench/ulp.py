"""Largest errors of the functions of real numbers: all float32 inputs (2^28 pairs of power), 10^8 float64 inputs.

The numbers of docs/math.md. Options: --every N takes each N-th block of 65,536 inputs; --target T another target than this machine; --function F one
of them; --write puts the table into docs/math.md (of a run over all inputs only).
"""
import argparse
import pathlib
import re
import subprocess
import sys

import tensorwright

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/math.md"
LINE = re.compile(r"(\w+)\s+(float32|float64)\s+([\d.]+) ulp")


def written(page: str, errors: dict) -> str:
    """The page with the columns of numbers in its table replaced."""

    def row(match: re.Match) -> str:
        name, method = match[1], match[2]
        if (name, "float32") not in errors:
            return match[0]
        return f"| `{name}` | {errors[name, 'float32']} | {errors[name, 'float64']} | {method} |"

    return re.sub(r"^\| `(\w+)` \| [^|]* \| [^|]* \| (.*) \|$", row, page, flags=re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--target", default="llvm -mcpu=native")
    parser.add_argument("--function")
    parser.add_argument("--write", action="store_true")
    options, _ = parser.parse_known_args()  # ./dev bench gives the options of all benches
    program = pathlib.Path(tensorwright.__file__).parents[2] / "bench" / "bench_ulp"
    if not program.exists():
        print("bench ulp: skipped: a build without LLVM")
        return 0
    command = [program, options.target, str(options.every), *([options.function] if options.function else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    errors = {}
    for line in process.stdout:
        print(line, end="", flush=True)
        if found := LINE.match(line):
            errors[found[1], found[2]] = f"{float(found[3]):.2f}"
    if options.write and process.wait() == 0 and options.every == 1:
        PAGE.write_text(written(PAGE.read_text(), errors))
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
