"""Logs as they are reviewed: what changes, what is stale, one line of each kernel."""

import json

import pytest
import tuning_logs
from commands import run_tw

import tensorwright as tw


def write(path, *lines):
    path.write_text("".join(lines))
    return path


def trial(name, factor, seconds, **more):
    return tuning_logs.line(tuning_logs.plain_task(name), factor, seconds=seconds, steps=[["split", "C", "i", factor, None, "auto"]], **more)


class TestDiff:
    def test_which_kernels_change_and_by_how_much(self, tmp_path):
        before = write(tmp_path / "a.jsonl", trial("same", 4, 1e-3), trial("other", 4, 2e-3), trial("gone", 4, 3e-3), trial("fails", 4, 1e-3))
        after = write(tmp_path / "b.jsonl", trial("other", 4, 2e-3), trial("other", 8, 5e-4), trial("same", 4, 1.1e-3), trial("same", 8, 4e-3),
                      trial("new", 4, 7e-3), trial("fails", 8, 0, status="crashed"))
        text = run_tw("log", "diff", before, after).stdout
        assert "other(3, 4)\n  on llvm " in text and "2 threads of" in text
        assert "another schedule: 2 ms -> 500 us, 4.00 x as fast" in text or "another schedule: 2 ms -> 0.5 ms, 4.00 x as fast" in text
        assert "removed: 3 ms" in text and "added: 7 ms" in text and "1 ms -> none that succeeded" in text
        assert text.endswith("4 kernels change, 1 stay as they are\n") and "same(" not in text
        changes = json.loads(run_tw("log", "diff", before, after, "--json").stdout)["changes"]
        assert [(c["task"], c["change"], c["before"], c["after"]) for c in changes] == [
            ("same", "same", 1e-3, 1.1e-3), ("other", "other", 2e-3, 5e-4), ("gone", "removed", 3e-3, None), ("fails", "other", 1e-3, None),
            ("new", "added", None, 7e-3)]

    def test_it_takes_two(self, tmp_path):
        log = write(tmp_path / "a.jsonl", trial("same", 4, 1e-3))
        assert "two logs" in run_tw("log", "diff", log, code=1).stderr
        assert run_tw("log", "diff", log, log).stdout == "0 kernels change, 1 stay as they are\n"
        assert "there is no tuning log" in run_tw("log", "diff", log, tmp_path / "none", code=1).stderr


def test_prune_to_the_line_that_decides(tmp_path):
    confirmed = [trial("dense", 4, 2.2e-3, kind="confirm"), trial("dense", 4, 2.1e-3, kind="confirm")]
    log = write(tmp_path / "a.jsonl", trial("dense", 4, 2e-3), trial("dense", 8, 3e-3), *confirmed, trial("conv", 4, 1e-3))
    best = json.loads(run_tw("log", "best", log, "--json").stdout)
    assert "2 records kept, 3 that are not among the best" in run_tw("log", "prune", log, "--best").stdout
    assert log.read_text() == confirmed[1] + trial("conv", 4, 1e-3)
    assert json.loads(run_tw("log", "best", log, "--json").stdout) == best
    assert run_tw("log", "prune", log, "--best", "--keep", "2", code=2).stderr


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM")
def test_what_is_stale(tmp_path):
    task = tw.autotune.Task.stock("softmax", {"M": 4, "N": 8}, "llvm -mcpu=x86-64-v3")
    about = {"hash": task._core.hash(), "name": "softmax", "args": task.args, "flops": 1.0, "bytes": 1.0, "target": str(task.target)}
    good = tuning_logs.line(about, 0, steps=json.loads(task._core.steps(0)))
    log = write(tmp_path / "a.jsonl", good, trial("a template of somebody", 4, 1e-3))
    run_tw("log", "check", log, "--fail-stale")
    refused = tuning_logs.line(about | {"target": "llvm -mcpu=x86-64-v2"}, 0, steps=[["split", "nothing", "i", 4, None, "auto"]])
    other = tuning_logs.line(about | {"hash": "0" * 16}, 0), tuning_logs.line(about | {"hash": "0" * 16}, 1)
    unknown = tuning_logs.line(about | {"target": "llvm -mcpu=tomorrow"}, 0)
    write(log, good, refused, *other, unknown)
    run_tw("log", "check", log)
    stale = json.loads(run_tw("log", "check", log, "--fail-stale", "--json", code=1).stdout)["stale"]
    assert [(s["target"], s["records"]) for s in stale] == [
        ("llvm -mcpu=x86-64-v2", 1), ("llvm -mcpu=x86-64-v3", 2), ("llvm -mcpu=tomorrow", 1)]
    assert "nothing" in stale[0]["why"] and "computes something else" in stale[1]["why"] and 'unknown CPU "tomorrow"' in stale[2]["why"]
    text = run_tw("log", "check", log, "--fail-stale", code=1).stdout
    assert text.count("stale: softmax(M=4, N=8") == 3
