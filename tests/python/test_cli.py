"""The command tw: what it prints, as text and as JSON, and what it says about mistakes."""

import json
import os
import re
import signal
import subprocess
import time

import boards
import pytest
import tuning_logs
from commands import TW
from commands import run_tw as run

import tensorwright as tw

measures = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM: nothing to measure")


def answer(*arguments, code=0):
    return json.loads(run(*arguments, "--json", code=code).stdout)


@pytest.fixture
def log(tmp_path):
    task = tuning_logs.plain_task()
    path = tmp_path / "some.jsonl"
    lines = [tuning_logs.line(task, n, seconds=s) for n, s in enumerate((4e-3, 2e-3, 3e-3))]
    lines += [tuning_logs.line(task, 3, status="crashed", seconds=0, detail="signal 11"),
              tuning_logs.line(task, 1, kind="confirm", seconds=2.5e-3)]
    path.write_text("".join(lines))
    return path


class TestHelp:
    @pytest.mark.parametrize("command", [["tune"], ["log"], ["log", "merge"], ["report"], ["doctor"]])
    def test_each_command_explains_itself(self, command):
        assert "--help" in run(*command, "--help").stdout

    def test_wrong_usage(self):
        assert run("tune", "--frobnicate", code=2).stderr
        assert run(code=2).stderr
        assert "tw 0.1.0" in run("--version").stdout


    def test_a_command_that_is_none_is_named(self):
        assert 'tw log: unknown command "merg"' in (said := run("log", "merg", code=2).stderr) and "did you mean merge?" in said
        assert 'tw: unknown command "frobnicate"' in (said := run("frobnicate", "x", code=2).stderr) and "tune, build" in said
        assert "tw log: a command must follow: show" in run("log", code=2).stderr


class TestLog:
    def test_show(self, log):
        text = run("log", "show", log).stdout
        assert "some(3, 4)" in text and "4 trials, 1 crashed, 3 ok" in text and "best 2.5 ms, 800 GFLOP/s" in text
        (task,) = answer("log", "show", log)["tasks"]
        assert task["statuses"] == {"ok": 3, "crashed": 1} and task["confirmations"] == 1

    def test_best_prefers_what_was_confirmed(self, log, tmp_path):
        (best,) = answer("log", "best", log, "-o", tmp_path / "best.jsonl")["best"]
        assert best["best"]["seconds"] == 2.5e-3 and best["best"]["knobs"] == {"n": 1}
        assert len((tmp_path / "best.jsonl").read_text().splitlines()) >= 1

    def test_best_of_failures_fails(self, tmp_path):
        path = tmp_path / "bad.jsonl"
        path.write_text(tuning_logs.line(tuning_logs.plain_task(), 0, status="crashed"))
        assert "no trial succeeded" in run("log", "best", path, code=1).stderr

    def test_check_names_damaged_lines(self, log):
        assert answer("log", "check", log)["ok"]
        log.write_text(log.read_text().replace('"seconds":0.002,', '"seconds":0.001,'))
        damaged = answer("log", "check", log, code=1)["damaged"]
        assert [d["line"] for d in damaged] == [2] and "checksum" in damaged[0]["why"]
        assert "line 2: " in run("log", "check", log, code=1).stdout

    def test_merge_keeps_what_is_valid_and_says_what_it_dropped(self, log, tmp_path):
        other = tmp_path / "other.jsonl"
        other.write_text(log.read_text() + tuning_logs.line(tuning_logs.plain_task("more"), 0) + '{"tensorwright":1,"cut')
        edit = answer("log", "merge", log, other, "-o", tmp_path / "both.jsonl")
        assert edit["kept"] == 6 and edit["repeated"] == 5
        assert [(d["file"], d["line"]) for d in edit["dropped"]] == [(str(other), 7)]
        assert len(answer("log", "show", tmp_path / "both.jsonl")["tasks"]) == 2

    def test_prune(self, log, tmp_path):
        edit = answer("log", "prune", log, "-o", tmp_path / "short.jsonl")
        assert edit["kept"] == 2 and edit["worse"] == 3
        assert answer("log", "best", tmp_path / "short.jsonl")["best"] == answer("log", "best", log)["best"]

    def test_autotvm_goes_out_and_comes_back(self, log, tmp_path):
        assert answer("log", "export", log, "-o", tmp_path / "tvm.log")["kept"] == 5
        assert json.loads((tmp_path / "tvm.log").read_text().splitlines()[0])["version"] == 0.2
        with open(tmp_path / "tvm.log", "a") as file:
            file.write("nonsense\n")
        edit = answer("log", "import", tmp_path / "tvm.log", "-o", tmp_path / "back.jsonl")
        assert edit["kept"] == 5 and [d["line"] for d in edit["dropped"]] == [6]
        assert answer("log", "show", tmp_path / "back.jsonl") == answer("log", "show", log)
        assert run("log", "import", log, "-o", tmp_path / "none.jsonl", code=1).stderr
        assert not (tmp_path / "none.jsonl").exists()

    def test_errors(self, tmp_path):
        (tmp_path / "foreign").write_text("hello\n")
        assert "not a tuning log" in run("log", "show", tmp_path / "foreign", code=1).stderr
        error = json.loads(run("log", "show", tmp_path / "none", "--json", code=1).stdout)
        assert "there is no tuning log" in error["error"] and error["notes"]


class TestOutput:
    def test_a_full_disk_is_an_error(self, log):
        with open("/dev/full", "w") as full:
            done = subprocess.run([TW, "log", "show", log, "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "what it prints cannot be written: No space left on device" in done.stderr

    def test_no_other_file_takes_the_place_of_a_stream_that_is_closed(self):
        """What is printed would go into it."""
        command = [TW, "rpc-tracker", "--listen", "127.0.0.1:0"]
        tracker = subprocess.Popen(command, preexec_fn=lambda: [os.close(number) for number in range(3)])
        try:
            boards.until(lambda: len(os.listdir(f"/proc/{tracker.pid}/fd")) > 3, "it listens")
            assert {os.readlink(f"/proc/{tracker.pid}/fd/{number}") for number in range(3)} == {"/dev/null"}
        finally:
            tracker.kill()
            tracker.wait()

    def test_a_report_says_why_it_cannot_be_written(self, log):
        message = "report: /dev/full cannot be written: No space left on device"
        assert message in run("report", log, "-o", "/dev/full", code=1).stderr

    @pytest.mark.parametrize("arguments", [["log", "prune"], ["log", "show"], ["report"]])
    @pytest.mark.parametrize("path", ["loop", "some.jsonl/below", "a" * 300], ids=["loop", "below", "long"])
    def test_paths_that_are_none(self, arguments, path, log):
        (log.parent / "loop").symlink_to("loop")
        done = run(*arguments, log.parent / path, code=1)
        assert "filesystem" not in done.stderr and path in done.stderr


class TestTune:
    def test_list(self):
        assert "matmul" in run("tune", "--list").stdout
        kernels = {k["name"]: [p["name"] for p in k["parameters"]] for k in answer("tune", "--list")}
        assert {"M", "N", "K"} <= set(kernels["matmul"]) and "conv2d" in kernels

    @pytest.mark.parametrize("arguments, message", [
        ([], "an operator is needed"),
        (["matmull", "--shape", "M=1"], "matmul"),
        (["matmul", "--shape", "M=4,N=4"], "K"),
        (["matmul", "--shape", "M=4,N=4,K=4,Q=4"], "Q"),
        (["matmul", "--shape", "M"], "NAME=VALUE"),
        (["matmul", "--shape", "M=1,M=2"], "twice"),
        (["matmul", "--shape", "M=4,N=4,K=4", "--target", "llvm -mcpu=zen99"], "zen99"),
        (["matmul", "--shape", "M=4,N=4,K=4", "--search", "magic"], "magic"),
        (["matmul", "--shape", "M=4,N=4,K=4", "--save", "kernel.txt"], "--save must be a file .so or .o, not kernel.txt"),
        (["matmul", "--shape", "M=4,N=4,K=4", "--save", "nowhere/kernel.so"], "--save: there is no folder nowhere"),
    ])
    def test_mistakes_are_one_line_and_notes(self, arguments, message):
        done = run("tune", *arguments, code=1)
        assert message in done.stderr and done.stderr.startswith("tw: ") and ".cc" not in done.stderr

    @measures
    def test_a_folder_that_cannot_be_made_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setenv("TMPDIR", "/proc")
        done = run("tune", "matmul", "--shape", "M=4,N=4,K=4", "--log", tmp_path / "x.jsonl", code=1)
        assert "no temporary folder /proc/tensorwright-" in done.stderr and "TMPDIR" in done.stderr

    @measures
    def test_a_pack_may_go_anywhere(self):
        assert answer("tune", "matmul", "--shape", "M=4,N=4,K=4", "--trials", 1, "--pack", "/dev/null")["bytes"] > 0

    @measures
    def test_tunes_keeps_continues_and_saves(self, tmp_path):
        log, kernel = tmp_path / "m.jsonl", tmp_path / "m.so"
        command = ["tune", "matmul", "--shape", "M=17,N=33,K=9", "--log", log]
        first = run(*command, "--trials", 3, "--save", kernel)
        assert "te.create_schedule" in first.stdout and "GFLOP/s" in first.stdout and "3/3" in first.stderr
        result = answer(*command, "--trials", 4)
        assert result["trials"] == 4 and result["measured"] == 1
        assert result["args"]["M"] == 17 and result["best"]["gflops"] > 0
        assert tw.load(str(kernel)) is not None
        page = tmp_path / "r.html"
        assert answer("report", log, "-o", page)["tasks"][0]["trials"] == 4
        assert "te.create_schedule" in page.read_text()

    @measures
    def test_what_the_command_wrote_python_builds(self, tmp_path):
        log = tmp_path / "m.jsonl"
        run("tune", "matmul", "--shape", "M=16,N=16,K=16", "--trials", 2, "--log", log, "--quiet")
        assert tw.build(tw.autotune.Task.stock("matmul", {"M": 16, "N": 16, "K": 16}), log=log) is not None

    @measures
    @pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
    def test_ctrl_c_keeps_what_was_measured(self, sent, tmp_path):
        log, folder = tmp_path / "m.jsonl", tmp_path / "folder"
        folder.mkdir()
        command = [TW, "tune", "matmul", "--shape", "M=64,N=64,K=64", "--trials", "100000", "--log", log]
        process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "TMPDIR": str(folder)})
        deadline = time.time() + 60
        while time.time() < deadline and (not log.exists() or not log.read_text()):
            time.sleep(0.05)
        process.send_signal(sent)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130 and "interrupted after" in err
        assert answer("log", "check", log)["trials"] > 0 and not any(folder.iterdir())


class TestDoctor:
    @measures
    def test_json(self):
        result = answer("doctor")
        checks = {c["name"]: c for c in result["checks"]}
        assert {"LLVM", "workers", "CPU", "threads", "sandbox", "measuring"} <= set(checks)
        assert all(c["state"] in ("ok", "warn", "fail") and c["detail"] for c in checks.values())
        assert all(c["way_out"] or c["state"] == "ok" for c in checks.values())
        assert checks["measuring"]["state"] == "ok"

    @measures
    def test_the_peak_follows_the_rates_that_were_measured(self, tmp_path, monkeypatch):
        def peak(*options):
            clock = next(c for c in answer("doctor", *options)["checks"] if c["name"] == "clock")
            return float(re.search(r"(\d+) GFLOP/s a core", clock["detail"])[1])

        monkeypatch.setenv("TW_CACHE_DIR", str(tmp_path))
        measured, kept = peak("--calibrate"), tmp_path / "rates.json"
        text = json.loads(kept.read_text())
        for machine in text["machines"].values():
            machine["issue"] *= 10
        kept.write_text(json.dumps(text))
        assert 8 * measured < peak() < 12 * measured

    def test_a_missing_worker_is_found_and_the_way_out_named(self, monkeypatch):
        monkeypatch.setenv("TW_WORKER", "/nowhere/tw-worker")
        checks = {c["name"]: c for c in answer("doctor", code=1)["checks"]}
        assert checks["workers"]["state"] == "fail" and "TW_WORKER" in checks["workers"]["way_out"]
