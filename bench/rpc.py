"""Boards over the network, on loopback: an empty call, a trial over one of this machine's own, four boards, traffic, a slow network;
and a pack in an emulated machine."""
import contextlib
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time

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


def pack_in_a_machine() -> None:
    program, arm = pathlib.Path(__file__).resolve().parents[1] / "tests/board/board.py", PACKAGE / "boards/tw-board-aarch64"
    task = tw.autotune.Task.stock("matmul", {"M": 64, "N": 65, "K": 66}, target="llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")
    with tempfile.TemporaryDirectory() as name:
        folder, seconds = pathlib.Path(name), []
        tw.autotune.pack(task, folder / "pack", trials=64)
        for log in ("one", "two"):
            start = time.monotonic()
            command = [sys.executable, program, "--tw-board", arm, "measure", "--icount", folder / "pack", "--log", folder / log, "--quiet"]
            measured = subprocess.run(command, capture_output=True, text=True)
            if measured.returncode != 0:
                print(f"  a pack in an emulated machine: skipped: {measured.stderr.strip()}")
                return
            seconds.append(time.monotonic() - start)
        one, two = (re.sub(r'"(time|checksum)":"[^"]*"', "", (folder / log).read_text()) for log in ("one", "two"))
    took = f"{max(seconds):.1f} s, logs {'equal' if one == two else 'DIFFER'}"
    print(f"  {'a pack of 64 matmul 64x65x66 in a machine, with its boot':58} {took:24} <= 60 s, equal", flush=True)


def main() -> None:
    print(f"{BOARD.name}: {BOARD.stat().st_size / 1e6:.1f} MB")
    with contextlib.ExitStack() as ends:
        board = started(ends, BOARD, "--listen", "127.0.0.1:0")
        tracker = started(ends, PACKAGE / "tw", "rpc-tracker", "--listen", "127.0.0.1:0")
        started(ends, BOARD, "--tracker", tracker, "--key", "bench")
        stubs = [started(ends, BENCH / "bench_fake_board", 50, "a stub") for _ in range(4)]
        subprocess.run([BENCH / "bench_rpc", board, tracker, "bench", *stubs], check=True)
    pack_in_a_machine()


if __name__ == "__main__":
    main()
