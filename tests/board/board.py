"""What is run in a second machine, which this one emulates.

    ./dev board measure p.twpack --log l.jsonl   tw-board measure, there, on copies; the log's new lines come back
    ./dev board run CMD...                       a command
    ./dev board shell                            a shell on the machine's console; exit ends it
    ./dev board setup                            only fetches what the others need
"""
import argparse
import pathlib
import shlex
import sys

import machine


def measure(board, pack, log, more):
    """Lines are only ever appended to a log, there as here. Names are the same each time: with --icount their length would show."""
    with open(log, "a+b") as file:
        file.seek(0)
        known = file.read()
        files = {"sent/pack": pack.read_bytes(), "work/log": known}
        status, back = board.run(["tw-board", "measure", "/sent/pack", "--log", "log", *more], files)
        file.write(back["log"][len(known):])
    return status


def ports(text):
    here, there = text.split(":")
    return int(here), int(there)


def arguments():
    parser = argparse.ArgumentParser(prog="./dev board", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("--tw-board", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True)
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--cpu", choices=machine.CPUS, default="cortex-a72")
    options.add_argument("--cores", type=int, default=1)
    options.add_argument("--icount", action="store_true", help="a clock that counts instructions, of one core")
    options.add_argument("--forward", type=ports, action="append", default=[], metavar="HERE:THERE",
                         help="connections to this port of 127.0.0.1 reach that one of the machine")
    measuring = commands.add_parser("measure", parents=[options], allow_abbrev=False, epilog="Others, as --NAME=VALUE, are tw-board's.")
    measuring.add_argument("pack", type=pathlib.Path)
    measuring.add_argument("--log", type=pathlib.Path, required=True)
    running = commands.add_parser("run", parents=[options], allow_abbrev=False)
    running.add_argument("program")
    running.add_argument("words", nargs=argparse.REMAINDER)
    commands.add_parser("shell", parents=[options], allow_abbrev=False)
    asked, more = parser.parse_known_args()
    if more and asked.command != "measure":
        parser.error(f"unknown arguments: {shlex.join(more)}")
    if asked.icount and asked.cores != 1:
        parser.error("--icount counts the instructions of one core")
    return asked, more


def main():
    asked, more = arguments()
    if reason := machine.missing():
        sys.exit(f"board: {reason}")
    board = machine.Machine(asked.tw_board, asked.cpu, asked.cores, asked.icount, asked.forward)
    try:
        if asked.command == "measure":
            return measure(board, asked.pack, asked.log, more)
        return board.run([asked.program, *asked.words])[0] if asked.command == "run" else board.shell()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        sys.exit(f"board: {error}")


if __name__ == "__main__":
    sys.exit(main())
