"""./dev bench [NAME ...]: runs bench/NAME.py (all of them without a name), each in a process of its own; --list says what each measures."""
import ast
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NOT_BENCHES = {"run", "harness", "reductions", "tune_rows", "pattern_rows", "__init__"}


def main() -> int:
    names = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in NOT_BENCHES)
    chosen, options = [], []
    for argument in sys.argv[1:]:
        (options if argument.startswith("-") else chosen).append(argument)
    if "--list" in options:
        for name in names:
            said = ast.get_docstring(ast.parse((HERE / name).with_suffix(".py").read_text()))
            print(f"{name:16} {' '.join(said.split()).split('. ')[0].rstrip('.')}")
        return 0
    unknown = [n for n in chosen if n not in names]
    if unknown:
        print(f"no bench called {', '.join(unknown)}; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    status = 0
    for name in chosen or names:
        status |= subprocess.run([sys.executable, "-m", f"bench.{name}", *options], cwd=HERE.parent).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
