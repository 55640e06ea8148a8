"""Boards and trackers behind a firewall that drops what goes to them: nobody answers, not even to refuse."""

import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

import boards
import pytest

import tensorwright as tw


@pytest.fixture(scope="module")
def port():
    """One to which the system answers nothing: more have been let in than are taken there."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        waiting = []
        try:
            while len(waiting) < 64:
                waiting.append(socket.socket())
                waiting[-1].settimeout(0.5)
                waiting[-1].connect(deaf.getsockname())
            pytest.skip("skipped: this system answers each who connects")
        except TimeoutError:
            yield deaf.getsockname()[1]
        finally:
            for one in waiting:
                one.close()


CALLS = {
    "a board": lambda port: tw.rpc.connect("127.0.0.1", port, timeout=0.2),
    "a tracker's board": lambda port: tw.rpc.connect_tracker("127.0.0.1", port, timeout=0.2).request("rpi4"),
    "a tracker's summary": lambda port: tw.rpc.connect_tracker("127.0.0.1", port, timeout=0.2).summary(),
}


@pytest.mark.parametrize("call", CALLS)
def test_who_drops_is_not_waited_for_longer_than_was_said(port, call):
    with pytest.raises(tw.RpcError) as away:
        CALLS[call](port)
    assert isinstance(away.value, ConnectionError)
    assert away.value.what == f"127.0.0.1:{port} does not answer within 0.2 s"
    assert f"a firewall drops what goes to port {port}" in str(away.value)


def test_runners_and_tw_name_the_port_and_their_deadline(port):
    def refused(runner):
        with pytest.raises(tw.RpcError) as away:
            runner()
        return str(away.value)

    def tw_says(*arguments):
        done = subprocess.run([boards.TW, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        return done.stderr

    there = f"127.0.0.1:{port}"
    with ThreadPoolExecutor() as at_once:
        said = [
            at_once.submit(refused, lambda: tw.autotune.RPCRunner(boards=[there])),
            at_once.submit(refused, lambda: tw.autotune.RPCRunner("rpi4", "127.0.0.1", port)),
            at_once.submit(tw_says, "rpc-query", "--tracker", there),
        ]
    for one in said:
        assert f"{there} does not answer within 5 s" in one.result()
        assert f"a firewall drops what goes to port {port}" in one.result()
