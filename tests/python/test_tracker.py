"""tw rpc-tracker, rpc-query and rpc-key with tw-board, as processes that are stopped, killed and started again."""

import pathlib
import resource
import signal
import socket
import stat
import sys
import threading
import time

import boards
import pytest
import tracker_frames
from commands import run_tw as run

import tensorwright as tw

HALF_OPEN = 10_000


class TestKeys:
    def test_a_secret_is_for_its_owner_and_never_replaced(self, tmp_path):
        secret = tmp_path / "farm.secret"
        run("rpc-key", "new", secret)
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        before = secret.read_bytes()
        assert "is there already" in run("rpc-key", "new", secret, code=1).stderr
        assert secret.read_bytes() == before
        run("rpc-key", "check", secret)
        for mode in (0o640, 0o604):
            secret.chmod(mode)
            assert "may be read by others" in run("rpc-key", "check", secret, code=1).stderr

    def test_what_is_no_secret_is_refused(self, tmp_path):
        wrong = tmp_path / "wrong"
        wrong.write_text("hello")
        wrong.chmod(0o600)
        for path in (wrong, tmp_path / "missing", tmp_path):
            assert "secret file" in run("rpc-key", "check", path, code=1).stderr


class TestAccess:
    def test_other_machines_need_a_secret(self):
        assert "without a secret only this machine" in run("rpc-tracker", "--listen", "0.0.0.0:0", code=1).stderr

    @pytest.mark.parametrize("tracker, client", [("one", "two"), ("one", ""), ("", "one")])
    def test_without_the_secret_nobody_gets_in(self, farm, tracker, client):
        options = {"": []}
        for name in ("one", "two"):
            run("rpc-key", "new", farm.folder / name)
            options[name] = ["--secret", farm.folder / name]
        farm.secret = options[tracker]
        farm.tracker()
        start = time.monotonic()
        assert "secret" in run("rpc-query", "--tracker", f"127.0.0.1:{farm.port}", *options[client], code=1).stderr
        assert time.monotonic() - start < 7

    def test_a_tracker_that_is_away_is_named(self):
        assert "127.0.0.1:1 cannot be reached" in run("rpc-query", "--tracker", "127.0.0.1:1", code=1).stderr


class TestCrowds:
    def test_many_who_say_nothing_keep_nobody_out(self, farm):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard < HALF_OPEN + 200:
            pytest.skip(f"skipped: a process may have {hard} descriptors here")
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        resource.setrlimit(resource.RLIMIT_NOFILE, (HALF_OPEN + 200, hard))
        farm.tracker()
        idle = []
        try:
            for _ in range(HALF_OPEN):
                idle.append(socket.create_connection(("127.0.0.1", farm.port), timeout=10))
            start = time.monotonic()
            assert farm.query()["boards"] == []
            assert time.monotonic() - start < 5
            memory = next(line for line in pathlib.Path(f"/proc/{farm.process.pid}/status").read_text().splitlines() if "VmHWM" in line)
            assert int(memory.split()[1]) < 64 << 10, memory
        finally:
            for connection in idle:
                connection.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_who_says_a_byte_a_second_is_not_waited_for(self, farm):
        farm.tracker()
        start = time.monotonic()
        with socket.create_connection(("127.0.0.1", farm.port), timeout=1) as slow, pytest.raises(OSError):
            for byte in tracker_frames.hello():
                slow.sendall(bytes([byte]))
                time.sleep(1)
                assert time.monotonic() - start < 10
        assert 4 < time.monotonic() - start < 10


@boards.needed
class TestSessions:
    def test_a_board_that_nobody_gives_up_is_waited_for_once(self, farm):
        farm.tracker()
        farm.board("a")
        with tracker_frames.request(farm.port, "here"):
            start = time.monotonic()
            with pytest.raises(tw.RpcError, match="no board of the key here was free within 0.2 s"):
                tw.rpc.connect_tracker("127.0.0.1", farm.port).request("here", wait=0.2, max_retry=100)
            assert time.monotonic() - start < 15, "the deadline is that of the request, not of each try"

    def test_what_was_run_on_a_lost_board_runs_on_the_next(self, farm):
        farm.tracker()
        farm.board("a")
        tracker, seen = tw.rpc.connect_tracker("127.0.0.1", farm.port), []

        def run_there(session):
            seen.append(session.listdir())
            session.upload(b"x", target="x")
            if len(seen) == 1:
                raise tw.RpcError("the connection was lost")
            return session.listdir()

        assert tracker.request_and_run("here", run_there) == ["x"]
        assert seen == [[], []]

        def never(session):
            raise tw.RpcError("the connection was lost")

        with pytest.raises(tw.RpcError, match="was lost"):
            tracker.request_and_run("here", never, max_retry=1)
        farm.until_status("a", "free")

    def test_boards_that_are_lost_before_they_answer_are_replaced(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.settimeout(30)
            asked = []

            def grant():  # a tracker whose boards are gone when they are given
                while len(asked) < 3:
                    connection = listening.accept()[0]
                    with connection:
                        tracker_frames.receive(connection)
                        connection.sendall(tracker_frames.hello(tracker_frames.TRACKER))
                        asked.append(tracker_frames.receive(connection)[0])
                        connection.sendall(tracker_frames.frame(tracker_frames.GRANTED, tracker_frames.text("a")))

            granting = threading.Thread(target=grant)
            granting.start()
            with pytest.raises(tw.RpcError, match="lost|closed"):
                tw.rpc.connect_tracker("127.0.0.1", listening.getsockname()[1]).request("here", max_retry=2)
            granting.join()
        assert asked == [tracker_frames.REQUEST] * 3


class TestFaults:
    def test_a_board_is_leased_and_free_again(self, farm):
        farm.tracker()
        farm.board("a")
        with tracker_frames.request(farm.port, "here"):
            assert farm.status("a") == "leased"
        farm.until_status("a", "free", 3)
        text = run("rpc-query", "--tracker", f"127.0.0.1:{farm.port}").stdout.splitlines()
        assert text[0].split() == ["key", "boards", "free", "leased", "waiting"] and text[1].split() == ["here", "1", "1", "0", "0"]
        assert text[4].split()[:3] == ["a", "here", "free"]

    def test_a_killed_client_leaves_its_board(self, farm):
        farm.tracker()
        farm.board("a")
        client, _ = farm.start(sys.executable, "-c", f"import sys, time; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); "
                               f"import tracker_frames; c = tracker_frames.request({farm.port}, 'here'); time.sleep(60)")
        farm.until_status("a", "leased")
        client.kill()
        farm.until_status("a", "free", 3)

    def test_a_killed_board_is_lost_at_once_and_comes_back(self, farm):
        farm.tracker()
        board = farm.board("a")
        with tracker_frames.request(farm.port, "here") as client:
            board.kill()
            with pytest.raises(OSError):
                while True:
                    tracker_frames.receive(client)
        farm.until_status("a", "lost", 2)
        farm.board("a")
        farm.until_status("a", "free")

    def test_a_stopped_board_is_lost_after_three_seconds_and_comes_back(self, farm):
        farm.tracker()
        board = farm.board("a")
        farm.until_status("a", "free")
        board.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        farm.until_status("a", "lost")
        assert 2 < time.monotonic() - start < 5
        board.send_signal(signal.SIGCONT)
        farm.until_status("a", "free")

    def test_who_waited_asks_a_tracker_that_starts_again(self, farm):
        farm.tracker()
        farm.board("a")
        port, got = farm.port, []

        def ask():
            with tw.rpc.connect_tracker("127.0.0.1", port).request("here", max_retry=0) as session:
                got.append(session.description["hardware"])

        with tracker_frames.request(port, "here"):
            waiting = threading.Thread(target=ask)
            waiting.start()
            boards.until(lambda: farm.query()["queue"], "somebody waits")
            farm.process.kill()
            farm.process.wait()
            time.sleep(1)
        farm.tracker(port)
        waiting.join(30)
        assert len(got) == 1

    def test_a_tracker_that_starts_again_grants_nothing_twice(self, farm):
        farm.tracker()
        farm.board("a")
        held = tracker_frames.request(farm.port, "here")
        farm.process.kill()
        farm.process.wait()
        with pytest.raises(OSError):
            while True:
                tracker_frames.receive(held)
        farm.tracker(farm.port)
        start = time.monotonic()
        with tracker_frames.request(farm.port, "here"):
            assert time.monotonic() - start < 5
            with pytest.raises(ConnectionError, match="leased"):
                tracker_frames.request(farm.port, "here", wait_s=0.5)
