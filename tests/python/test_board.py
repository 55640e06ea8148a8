"""By way of a second machine: what is packed here is measured there, twice alike, and its log says here what to build."""

import json
import pathlib
import subprocess
import sys

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
