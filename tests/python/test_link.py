"""A board behind a link of its own: what a tracker, a board and a client make of it when it is down, or loses what it carries."""

import os
import shutil
import subprocess
import sys
import time

import boards
import pytest

CLIENT = """
import sys, time
import tensorwright as tw
board = tw.rpc.connect_tracker("127.0.0.1", 9190, secret=sys.argv[1]).request("here", wait=20)
print("begins", flush=True)
start = time.monotonic()
try:
    while time.monotonic() - start < float(sys.argv[2]):
        board.listdir()
        time.sleep(0.05)
    print("went on")
except tw.RpcError as error:
    print(f"{time.monotonic() - start:.1f}", error)
"""
# Carries what comes at one end of the bridge to the other, or drops it. What the kernel leaves to network cards, which are
# not there, is told in front of each frame.
LOSSY = """
import random, select, socket, sys
SOL_PACKET, PACKET_VNET_HDR, ETH_P_ALL = 263, 15, 3
ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) for _ in range(2)]
for end, name in zip(ends, ("near", "far")):
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.bind((name, ETH_P_ALL))
print("carries", flush=True)
chance = random.Random(1)
while True:
    for end in select.select(ends, [], [])[0]:
        frame, address = end.recvfrom(1 << 17)
        if address[2] != socket.PACKET_OUTGOING and chance.random() > float(sys.argv[1]):
            ends[1 - ends.index(end)].send(frame)
"""


def missing():
    if not shutil.which("ip") or not shutil.which("nsenter"):
        return "ip and nsenter are not installed (Debian: iproute2, util-linux)"
    if not boards.TW_BOARD.exists():
        return "tw-board is not built (sanitizers)"
    made = subprocess.run(["unshare", "--net", "ip", "link", "add", "bridge0", "type", "bridge"], capture_output=True)
    return "" if os.getuid() == 0 and made.returncode == 0 else "this user may make no namespaces of networks with bridges"


pytestmark = pytest.mark.skipif(bool(missing()), reason=f"skipped: {missing()}")


class Network:
    """Three networks: a bridge between that of the tracker and its client and that of the board."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.bridge, self.near, self.far = (self.namespace() for _ in range(3))
        self.do(self.bridge, "ip link add bridge0 type bridge && ip link set bridge0 up")
        for name, there, address in (("near", self.near, "10.9.0.1/24"), ("far", self.far, "10.9.0.2/24")):
            self.do(self.bridge, f"ip link add {name} type veth peer name link0 netns {there} && ip link set {name} master bridge0 up")
            self.do(there, f"ip link set lo up && ip addr add {address} dev link0 && ip link set link0 up")
        self.secret = boards.new_secret(folder / "secret")
        self.start(self.near, boards.TW, "rpc-tracker", "--listen", "0.0.0.0:9190", "--secret", self.secret)
        self.start(self.far, boards.TW_BOARD, "--tracker", "10.9.0.1:9190", "--key", "here", "--name", "far", "--secret", self.secret)

    def namespace(self):
        process = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE)
        process.stdout.readline()
        self.processes.append(process)
        return process.pid

    def do(self, there, command):
        subprocess.run(["nsenter", "--net", "--target", str(there), "sh", "-c", command], check=True)

    def start(self, there, *command, **options):
        if "stdout" not in options:
            options["stdout"] = open(self.folder / f"{len(self.processes)}.txt", "wb")
        process = subprocess.Popen(["nsenter", "--net", "--target", str(there), *map(str, command)], **options)
        self.processes.append(process)
        return process

    def client(self, for_s):
        """Uses the board, and has begun."""
        client = self.start(self.near, sys.executable, "-c", CLIENT, self.secret, for_s, stdout=subprocess.PIPE, text=True)
        assert client.stdout.readline() == "begins\n"
        return client

    def lose(self, share):
        """From here on, of what is carried."""
        self.do(self.bridge, "ip link set near nomaster && ip link set far nomaster")
        carrier = self.start(self.bridge, sys.executable, "-c", LOSSY, share, stdout=subprocess.PIPE, text=True)
        assert carrier.stdout.readline() == "carries\n"

    def used_while_down(self, down_s, for_s):
        """What a client says that uses the board while the link is down for a while."""
        client = self.client(for_s)
        time.sleep(0.3)
        self.do(self.bridge, "ip link set far down")
        time.sleep(down_s)
        self.do(self.bridge, "ip link set far up")
        return client.communicate(timeout=30)[0]

    def end(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def network(tmp_path):
    network = Network(tmp_path)
    yield network
    network.end()


def test_a_session_outlives_a_link_that_is_down_for_two_seconds(network):
    assert network.used_while_down(2, 5) == "went on\n"


def test_a_board_behind_a_link_that_is_down_for_ten_seconds_is_lost_and_comes_back(network):
    said = network.used_while_down(10, 15)
    assert "the lease has ended: the board is lost: it was silent for 3 s" in said and float(said.split()[0]) < 5
    assert network.used_while_down(0, 1) == "went on\n"


def test_a_session_goes_on_where_one_packet_in_twenty_is_lost(network):
    network.lose(0.05)
    assert network.client(2).communicate(timeout=30)[0] == "went on\n"
