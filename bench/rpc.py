"""Boards over the network, on loopback: an empty call, a trial over one of this machine's own, four boards, traffic, a slow network."""
import contextlib
import pathlib
import platform
import re
import subprocess

import tensorwright as tw

PACKAGE = pathlib.Path(tw.__file__).parent
BENCH = PACKAGE.parents[1] / "bench"
BOARD = PACKAGE / "boards" / f"tw-board-{platform.machine()}"


def started(ends, *command):
    """The address of which the program's first line speaks."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ends.callback(process.wait)
    ends.callback(process.kill)
    return re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())[0]


def main() -> None:
    print(f"{BOARD.name}: {BOARD.stat().st_size / 1e6:.1f} MB")
    with contextlib.ExitStack() as ends:
        board = started(ends, BOARD, "--listen", "127.0.0.1:0")
        tracker = started(ends, PACKAGE / "tw", "rpc-tracker", "--listen", "127.0.0.1:0")
        started(ends, BOARD, "--tracker", tracker, "--key", "bench")
        stubs = [started(ends, BENCH / "bench_fake_board", 50, "a stub") for _ in range(4)]
        subprocess.run([BENCH / "bench_rpc", board, tracker, "bench", *stubs], check=True)


if __name__ == "__main__":
    main()
