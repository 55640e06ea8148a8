"""``python -m tensorwright`` and the command ``tw`` of an installed package: the program beside this file takes over."""

import os
import pathlib
import sys


def main():
    program = str(pathlib.Path(__file__).parent / "tw")
    os.environ.setdefault("TW_PYTHON", sys.executable)  # for what tw leaves to Python: sources of tw freeze
    os.execv(program, ["tw", *sys.argv[1:]])


if __name__ == "__main__":
    main()
