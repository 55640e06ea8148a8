"""tw-board --listen as a process: clients that call kernels there, that are stopped or killed, and a board that is."""

import pathlib
import signal
import socket
import subprocess
import sys
import time

import boards
import numpy as np
import pytest
import tracker_frames

import tensorwright as tw
from tensorwright import te

pytestmark = boards.needed

A_CLIENT = """
import sys, time
import tensorwright as tw
session = tw.rpc.connect("127.0.0.1", int(sys.argv[1]))
print("connected", flush=True)
time.sleep(600)
"""


@pytest.fixture
def board():
    with boards.Board() as board:
        yield board


@pytest.fixture
def client(board):
    """Another process, which has the board."""
    process = subprocess.Popen([sys.executable, "-c", A_CLIENT, str(board.port)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "connected\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def connect_within(board, seconds):
    """A session, asked for until there is one."""
    start = time.monotonic()
    while True:
        try:
            return board.connect()
        except tw.RpcError:
            if time.monotonic() - start > seconds:
                raise
            time.sleep(0.05)


@pytest.fixture(scope="module")
def doubled(tmp_path_factory):
    A = te.placeholder((1000,), name="A")
    B = te.compute((1000,), lambda i: A[i] * 2, name="B")
    path = tmp_path_factory.mktemp("kernels") / "doubled.so"
    tw.build([A, B], name="doubled").save(path)
    return path


def test_a_kernel_is_called_and_timed_there(board, doubled):
    session = board.connect()
    session.upload(doubled)
    kernel = session.load_module("doubled.so")
    a, b = session.array(np.arange(1000, dtype="float32")), session.empty((1000,))
    kernel(a, b)
    np.testing.assert_array_equal(b.numpy(), 2 * a.numpy())
    times = kernel.time_evaluator(number=10, repeat=3)(a, b)
    assert len(times.results) == 3 and 0 < times.min <= times.mean < 1


@pytest.mark.skipif(not boards.SMALL_OPENSSL.exists(), reason="skipped: linked with the system's OpenSSL (./dev setup builds a small one)")
def test_it_is_small(tmp_path):
    secret = boards.new_secret(tmp_path / "farm")
    assert boards.TW_BOARD.stat().st_size <= 6_000_000
    with boards.Board("--secret", secret) as board:
        board.connect(secret=secret).array(np.zeros(1000, "float32"))
        status = pathlib.Path(f"/proc/{board.process.pid}/status").read_text().splitlines()
    assert int(next(line for line in status if line.startswith("VmHWM")).split()[1]) <= 20_000


def test_a_file_with_a_long_name_comes_back(board, tmp_path):
    file = tmp_path / ("a name that is longer than what strings keep in themselves" + 20 * "." + "bin")
    file.write_bytes(bytes(range(256)) * 4096)
    session = board.connect()
    session.upload(file)
    assert session.download(file.name) == file.read_bytes()


def test_a_second_client_is_told_who_has_the_board(board, client):
    with pytest.raises(tw.RpcError, match="in a session with 127.0.0.1"):
        board.connect()


def test_a_client_that_only_waits_keeps_the_board(board, client):
    time.sleep(1.5)
    with pytest.raises(tw.RpcError, match="in a session with 127.0.0.1"):
        board.connect()


def test_a_client_that_is_killed_leaves_the_board_to_the_next(board, client):
    client.kill()
    connect_within(board, 5)


def test_a_client_that_is_stopped_does_so_too(board, client):
    client.send_signal(signal.SIGSTOP)
    connect_within(board, 8)


def test_a_board_that_is_killed_is_an_error_of_its_session(board, doubled):
    session = board.connect()
    board.process.kill()
    board.process.wait()
    with pytest.raises(tw.RpcError):
        session.upload(doubled)


def test_who_has_the_secret_is_served_and_nobody_else(tmp_path, doubled):
    farm, other = (boards.new_secret(tmp_path / name) for name in ("farm", "other"))
    with boards.Board("--secret", farm) as board:
        for secret in (None, other):
            with pytest.raises(tw.RpcError):
                board.connect(secret=secret)
        session = board.connect(secret=farm)
        session.upload(doubled)
        assert session.listdir() == ["doubled.so"]


def test_who_says_a_byte_a_second_is_not_waited_for(tmp_path):
    secret = boards.new_secret(tmp_path / "farm")
    with boards.Board() as plain, boards.Board("--secret", secret) as secret_one:
        start = time.monotonic()
        slow = [socket.create_connection(("127.0.0.1", board.port)) for board in (plain, secret_one)]
        handshake = bytes([22, 3, 1, 2, 0, 1])  # as TLS begins
        ended = {}
        for said in zip(tracker_frames.hello(), handshake + bytes(100)):
            for connection, byte in zip(slow, said):
                if connection in ended:
                    continue
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    ended[connection] = time.monotonic() - start
            if len(ended) == 2:
                break
            plain.connect().close()
            secret_one.connect(secret=secret).close()
            time.sleep(1)
        assert len(ended) == 2 and all(4 < seconds < 10 for seconds in ended.values()), ended


def test_other_machines_are_not_served_without_a_secret():
    done = subprocess.run([boards.TW_BOARD, "--listen", "0.0.0.0:0"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "without a secret only this machine is listened to" in done.stderr and "tw rpc-key new" in done.stderr


def test_a_port_that_is_taken_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run([boards.TW_BOARD, "--listen", f"127.0.0.1:{port}"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and f"cannot listen on 127.0.0.1:{port}" in done.stderr
