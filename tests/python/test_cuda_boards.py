"""Boards that measure on a GPU: tw-board with tw-measure as its worker, which has a driver without a device; who tunes has neither."""

import glob
import json
import os
import pathlib
import signal
import subprocess

import boards
import pytest
from fake_device import FAKE, needs_fake, run
from test_cuda_packs import MEASURE, TARGET, pack, records

HARDWARE = "Fake GPU, 132 processors, 1.0 GiB"

pytestmark = [needs_fake, boards.needed, pytest.mark.skipif(not MEASURE.exists(), reason="skipped: this build has no tw-measure")]


@pytest.fixture(autouse=True)
def driver(monkeypatch):
    monkeypatch.setenv("TW_CUDA_DRIVER", str(FAKE))


def board(*options):
    return boards.Board("--worker", MEASURE, *options)


def tune(at, log, trials=8, **options):
    """By a process that has no driver."""
    return run(f"""
        with tw.autotune.RPCRunner(boards=[{at.address!r}]) as runner:
            options = {{"timeout": 30, **{options!r}}}
            result = tw.autotune.tune(list(product(40, 36, 24)), target=runner.target, runner=runner, trials={trials}, log={str(log)!r}, progress=False, **options)
            assert result.best.ok
            print(result.measured)
    """, TW_CUDA_DRIVER="/nowhere/libcuda.so")


def trials_of(log, count):
    """Each once."""
    lines = [r for r in records(log) if r["kind"] == "trial"]
    assert sorted(r["environment"]["number"] for r in lines) == list(range(count))
    return lines


def children(process):
    return [int(child) for path in glob.glob(f"/proc/{process}/task/*/children") for child in pathlib.Path(path).read_text().split()]


def refused(*arguments):
    done = subprocess.run([boards.TW_BOARD, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stdout
    return done.stderr


class TestTuning:
    def test_there_and_here_again(self, tmp_path):
        log = tmp_path / "log.jsonl"
        with board() as at:
            tune(at, log, 20)
            lines = trials_of(log, 20)
            assert {(r["target"], r["threads"], r["hardware"]) for r in lines} == {(TARGET, 1, HARDWARE)}
            assert {r["result"]["status"] for r in lines} <= {"ok", "beaten"}
            assert tune(at, log, 20).split() == ["0"]
        run(f"""
            f = tw.build(tw.autotune.Task(list(product(40, 36, 24)), target={TARGET!r}), log={str(log)!r})
            a, b, c = (tw.device_array(x) for x in (random(40, 24), random(24, 36), random(40, 36)))
            f(a, b, c)
            assert (c.numpy() == a.numpy() @ b.numpy()).all()
        """)

    def test_large_arguments_are_looked_at_there(self, tmp_path, monkeypatch):
        trace = tmp_path / "trace"
        monkeypatch.setenv("FAKE_CUDA_TRACE", str(trace))
        with board() as at:
            run(f"""
                A = te.placeholder((1 << 18,), name="A")
                with tw.autotune.RPCRunner(boards=[{at.address!r}]) as runner:
                    B = te.compute((1 << 18,), lambda i: A[i] + 1, name="B")
                    options = {{"trials": 1, "number": 1, "repeat": 1, "log": {str(tmp_path / "l.jsonl")!r}, "progress": False}}
                    result = tw.autotune.tune([A, B], target=runner.target, runner=runner, **options)
                    assert result.best.ok
            """, TW_CUDA_DRIVER="/nowhere/libcuda.so")
        assert len(trace.read_text().splitlines()) >= 3 * (3 + 3 + 2)  # measurements: runs, comparisons, digests before and after

    def test_a_pack(self, tmp_path):
        pack(tmp_path / "p.twpack", trials=3)
        said = subprocess.run([boards.TW_BOARD, "measure", tmp_path / "p.twpack", "--log", tmp_path / "l.jsonl", "--worker", MEASURE, "--json"],
                              capture_output=True, text=True, check=True, timeout=120).stdout
        answer = json.loads(said)
        assert (answer["hardware"], answer["measured"], answer["failures"]) == (HARDWARE, 3, 0)

    def test_what_it_is(self):
        said = json.loads(subprocess.run([boards.TW_BOARD, "describe", "--worker", MEASURE, "--json"], capture_output=True, text=True, check=True).stdout)
        assert (said["hardware"], said["target"]) == (HARDWARE, TARGET)
        assert {"a GPU's driver needs what it would forbid"} == set(said["sandbox"].values())


class TestFaults:
    """The worker ends by each, the board does not, and the log is whole."""

    @pytest.mark.parametrize("kind, statuses", [("lost", set()), ("illegal", {"crashed"}), ("hang", {"timeout"}), ("outside", {"wrong_answer"})])
    def test_one_candidate_has_it(self, tmp_path, monkeypatch, kind, statuses):
        once, log = tmp_path / "once", tmp_path / "log.jsonl"
        once.touch()
        monkeypatch.setenv("FAKE_CUDA_FAULT", kind)
        monkeypatch.setenv("FAKE_CUDA_ONCE", str(once))
        with board() as at:
            tune(at, log, timeout=5 if kind == "hang" else 30)
            assert not once.exists()
            failed = [r["result"]["status"] for r in trials_of(log, 8) if r["result"]["status"] not in ("ok", "beaten")]
        assert len(failed) == len(statuses) and set(failed) == statuses

    def test_a_worker_that_is_killed(self, tmp_path):
        log = tmp_path / "log.jsonl"
        with board() as at:
            killing = boards.after_lines(log, 3, lambda: [os.kill(child, signal.SIGKILL) for child in children(at.process.pid)])
            tune(at, log, 12)
            killing.join()
            assert {r["result"]["status"] for r in trials_of(log, 12)} <= {"ok", "beaten"}


class TestRefusals:
    def test_no_driver(self, monkeypatch):
        monkeypatch.setenv("TW_CUDA_DRIVER", "/nowhere/libcuda.so")
        assert "the driver /nowhere/libcuda.so cannot be loaded" in refused("--listen", "127.0.0.1:0", "--worker", MEASURE)

    def test_a_worker_that_is_not_there(self):
        assert "--worker /nowhere/tw-measure cannot be started: No such file" in refused("--listen", "127.0.0.1:0", "--worker", "/nowhere/tw-measure")

    def test_other_machines_are_not_served_without_a_word(self, tmp_path):
        secret = boards.new_secret(tmp_path / "secret")
        said = refused("--listen", "0.0.0.0:0", "--secret", secret, "--worker", MEASURE)
        assert "what runs on a GPU is in no sandbox" in said and "--trust-clients" in said
        assert "the sandbox lacks what is required: seccomp" in refused("--listen", "127.0.0.1:0", "--require", "seccomp", "--worker", MEASURE)
        assert "--trust-clients is for a --worker that measures on a GPU" in refused("--listen", "127.0.0.1:0", "--trust-clients")
        with board("--secret", secret, "--trust-clients") as at:
            assert at.connect(secret=str(secret)).description["target"] == TARGET

    def test_code_that_it_does_not_run(self):
        with board() as at:
            run(f"""
                with tw.autotune.RPCRunner(boards=[{at.address!r}]) as runner:
                    assert "it is a GPU" in refusal(tw.autotune.tune, list(product(40, 36, 24)), target="llvm", runner=runner)
                    assert "its GPU is sm_90a" in refusal(tw.autotune.tune, list(product(40, 36, 24)), target="cuda -arch=sm_100", runner=runner)
            """)
        with boards.Board() as at:
            run(f"""
                with tw.autotune.RPCRunner(boards=[{at.address!r}]) as runner:
                    assert "the board measures on its CPU" in refusal(tw.autotune.tune, list(product(40, 36, 24)), target={TARGET!r}, runner=runner)
            """)
