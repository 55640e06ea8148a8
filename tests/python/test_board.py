"""A second machine: what is packed here is measured there, twice alike, and its log says here what to build. And what no process
of this machine can have: a power switch and a clock of its own."""

import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import threading
import time

import boards
import pytest

import tensorwright as tw

BOARD = pathlib.Path(__file__).resolve().parents[1] / "board"
sys.path.insert(0, str(BOARD))

import machine  # noqa: E402

TW_BOARD = pathlib.Path(tw.__file__).parent / "boards/tw-board-aarch64"
TARGET = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"


def missing():
    return machine.missing() or ("" if TW_BOARD.exists() else "tw-board is not built for AArch64 (Debian: g++-aarch64-linux-gnu)")


pytestmark = pytest.mark.skipif(bool(missing()), reason=f"skipped: {missing()}")


def there(command, *arguments):
    done = subprocess.run([sys.executable, BOARD / "board.py", "--tw-board", TW_BOARD, command, "--icount", *arguments],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_what_it_is():
    answer = there("run", "tw-board", "describe", "--json")
    assert answer["hardware"].startswith("cortex-a72, 1 cores")
    assert tw.Target(answer["target"]).features == tw.Target(TARGET).features
    assert set(answer["sandbox"].values()) == {"holds"}, answer["sandbox"]


def test_two_machines_write_the_same_log(tmp_path):
    task = tw.autotune.Task.stock("matmul", {"M": 32, "N": 33, "K": 34}, target=TARGET)
    tw.autotune.pack(task, tmp_path / "p.twpack", trials=16)
    logs = [tmp_path / "first.jsonl", tmp_path / "second.jsonl"]
    answers = [there("measure", tmp_path / "p.twpack", f"--log={log}", "--json") for log in logs]
    assert [(a["measured"], a["failures"]) for a in answers] == [(16, 0)] * 2
    assert logs[0].read_bytes() == logs[1].read_bytes()
    trials = [r for r in map(json.loads, logs[0].read_text().splitlines()) if r["kind"] == "trial"]
    assert {r["result"]["status"] for r in trials} <= {"ok", "beaten"}
    (best,) = tw.autotune.pick_best(logs[0], tmp_path / "best.jsonl")
    assert best.hardware.startswith("cortex-a72")
    assert tw.build(task, log=logs[0]).source("asm") == tw.build(task, log=tmp_path / "best.jsonl").source("asm")


LISTENS = """
umask 077
echo "$1" > secret
while sleep 0.3; do date -s @4000000000; sleep 0.3; date -s @1000; done >/dev/null &
exec tw-board --listen 0.0.0.0:9090 --secret secret
"""


@contextlib.contextmanager
def listening_there(port, secret):
    """A machine whose wall clock jumps by a century three times a second; it is switched off at the end."""
    process = subprocess.Popen([sys.executable, BOARD / "board.py", "--tw-board", TW_BOARD, "run", f"--forward={port}:9090",
                                "sh", "-c", LISTENS, "sh", secret.read_text().strip()], stdout=subprocess.PIPE, text=True)
    try:
        assert "listens on" in process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_machine_that_is_switched_off_costs_nothing_and_its_clock_means_nothing(tmp_path):
    secret, log = boards.new_secret(tmp_path / "secret"), tmp_path / "log.jsonl"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    task = tw.autotune.Task.stock("matmul", {"M": 8, "N": 9, "K": 10}, target=TARGET)
    with contextlib.ExitStack() as machines:
        machines.enter_context(listening_there(port, secret))
        with tw.autotune.RPCRunner(boards=[f"127.0.0.1:{port}"], secret=secret) as runner:
            def switch():
                boards.until(lambda: log.exists() and len(log.read_bytes().splitlines()) >= 4, "4 lines", 60)
                machines.close()
                machines.enter_context(listening_there(port, secret))

            switching = threading.Thread(target=switch)
            switching.start()
            result = tw.autotune.tune(task, runner=runner, trials=8, log=log, progress=False)
            switching.join()
    assert result.measured == 8 and not result.failures
