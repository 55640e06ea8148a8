"""Tuning on boards over the network: boards that are there, that die and come back, that are away, and what is left of it."""

import json
import platform
import resource
import signal
import subprocess
import time

import boards
import pytest
from programs import product
from tuning_logs import records

import tensorwright as tw

pytestmark = boards.needed


def tune(runner, log, trials, **options):
    return tw.autotune.tune(product(), target=runner.target, runner=runner, trials=trials, log=log, progress=False, **options)


def expect_whole(log, trials):
    lines = [r for r in records(log) if r["kind"] == "trial"]
    assert sorted(r["environment"]["number"] for r in lines) == list(range(trials)), "a trial is missing, or was recorded twice"
    assert {r["result"]["status"] for r in lines} <= {"ok", "beaten"}
    return lines


def test_a_kernel_is_tuned_on_a_board_as_on_this_machine(tmp_path):
    log = tmp_path / "log.jsonl"
    with boards.Board() as board, tw.autotune.RPCRunner(boards=[board.address]) as runner:
        assert runner.state == "1 board"
        result = tune(runner, log, 40)
        lines = expect_whole(log, 40)
        assert {r["environment"]["board"]["name"] for r in lines} == {"127.0.0.1"}
        assert {r["environment"]["lag"] for r in lines} == {1}
        assert {r["hardware"] for r in lines} == {runner.machine.hardware}
        assert any(r["kind"] == "confirm" and r["environment"]["number"] == 32 for r in records(log))
        assert tune(runner, log, 40).measured == 0
        f = tw.build(product(), target=runner.target, log=log, machine=runner.machine)
    assert result.best.ok
    assert f is not None


def test_a_board_that_is_killed_and_started_again_costs_nothing(tmp_path):
    log = tmp_path / "log.jsonl"
    board = boards.Board()
    started = []

    def restart():
        board.kill()
        time.sleep(0.3)
        started.append(boards.Board(port=board.port))

    with tw.autotune.RPCRunner(boards=[board.address]) as runner:
        restarting = boards.after_lines(log, 8, restart)
        try:
            result = tune(runner, log, 40)
            expect_whole(log, 40)
            assert len(result.trials) == 40 and not result.failures
        finally:
            restarting.join()
            for again in started:
                again.kill()


def test_a_board_that_is_stopped_is_missed_and_costs_nothing(farm, tmp_path):
    log = tmp_path / "log.jsonl"
    farm.tracker()
    board = farm.board("a")
    farm.until_status("a", "free")
    missed_s = []

    def stop():
        boards.send(board, signal.SIGSTOP)
        start = time.monotonic()
        farm.until_status("a", "lost")
        missed_s.append(time.monotonic() - start)
        boards.send(board, signal.SIGCONT)

    with tw.autotune.RPCRunner("here", "127.0.0.1", farm.port) as runner:
        stopping = boards.after_lines(log, 8, stop)
        result = tune(runner, log, 24)
        stopping.join()
    expect_whole(log, 24)
    assert not result.failures and 2 < missed_s[0] < 6


def test_two_boards_share_the_work(tmp_path):
    log = tmp_path / "log.jsonl"
    with boards.Board() as a, boards.Board() as b, tw.autotune.RPCRunner(boards=[a.address, b.address]) as runner:
        tune(runner, log, 32)
        names = [r["environment"]["board"]["name"] for r in expect_whole(log, 32)]
    assert set(names) == {a.address, b.address}


def test_the_boards_of_a_key_come_from_a_tracker(farm, tmp_path):
    log = tmp_path / "log.jsonl"
    farm.secret = ["--secret", boards.new_secret(tmp_path / "farm.secret")]
    farm.tracker()
    for name in ("one", "two"):
        farm.board(name)
    for name in ("one", "two"):
        farm.until_status(name, "free")
    with tw.autotune.RPCRunner("here", "127.0.0.1", farm.port, secret=farm.secret[1]) as runner:
        assert runner.state == "2 boards"
        tune(runner, log, 32)
    assert {r["environment"]["board"]["name"] for r in expect_whole(log, 32)} == {"one", "two"}
    with pytest.raises(tw.RpcError, match="may want a secret"):
        tw.autotune.RPCRunner("here", "127.0.0.1", farm.port)


def test_tw_tunes_on_boards(tmp_path):
    with boards.Board() as board:
        done = subprocess.run([boards.TW, "tune", "matmul", "--shape", "M=33,N=34,K=35", "--trials", "8", "--log", tmp_path / "log.jsonl",
                               "--rpc-boards", board.address, "--json"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["trials"] == 8
    assert len(expect_whole(tmp_path / "log.jsonl", 8)) == 8


def test_a_target_that_boards_cannot_run_is_refused_with_one_that_they_can(tmp_path):
    foreign = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72" if platform.machine() == "x86_64" else "llvm -mtriple=x86_64-linux-gnu"
    with boards.Board() as board, tw.autotune.RPCRunner(boards=[board.address]) as runner:
        with pytest.raises(tw.TuneError, match="target=") as refused:
            tw.autotune.tune(product(), target=foreign, runner=runner, trials=4, progress=False)
        assert runner.target in str(refused.value)


def test_a_board_that_is_full_is_an_error_and_goes_on_when_there_is_room(tmp_path):
    def limited(most):
        resource.prlimit(board.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    log = tmp_path / "log.jsonl"
    with boards.Board() as board:
        with tw.autotune.RPCRunner(boards=[board.address]) as runner:
            tune(runner, log, 8)
            lines = log.read_bytes()
            limited(1000)  # as a full disk is, for what it keeps: in files that are memory
            with pytest.raises(tw.Error, match="File too large"):
                tune(runner, log, 16)
            kept = log.read_bytes()
            assert kept.startswith(lines)
            assert {r["result"]["status"] for r in records(log)} <= {"ok", "beaten"}, "no candidate is blamed"
            limited(resource.RLIM_INFINITY)
            tune(runner, log, 16)
            assert log.read_bytes().startswith(kept)
            expect_whole(log, 16)
        with board.connect() as session:
            session.upload(b"small", target="small")
            limited(1000)
            with pytest.raises(tw.RpcError, match="no room for a blob of 1 MB: .*: File too large"):
                session.upload(bytes(100_000), target="large")
            with pytest.raises(tw.ArgumentError, match="no array of 100000 bytes can be had: File too large"):
                session.empty((100_000,), "int8")
            limited(resource.RLIM_INFINITY)
            assert session.listdir() == ["small"] and session.download("small") == b"small"
            session.upload(bytes(100_000), target="large")
            assert session.listdir() == ["large", "small"]


def test_who_is_away_is_named():
    with boards.Board() as board:
        pass
    with pytest.raises(tw.RpcError, match=str(board.port)) as away:
        tw.autotune.RPCRunner(boards=[board.address])
    assert isinstance(away.value, ConnectionError)
    with pytest.raises(tw.ArgumentError, match="not both"):
        tw.autotune.RPCRunner("rpi4", "localhost", 9190, boards=[board.address])
    with pytest.raises(tw.ArgumentError, match="HOST:PORT"):
        tw.autotune.RPCRunner(boards=board.address)
    with pytest.raises(tw.RpcError, match="pi4-1"):
        tw.autotune.RPCRunner(boards=["pi4-1"])
