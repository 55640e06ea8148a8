"""tw-board and tw rpc-tracker as processes, which end with the test that starts them."""

import json
import os
import pathlib
import platform
import re
import signal
import socket
import subprocess
import threading
import time

import pytest
from commands import TW

import tensorwright as tw

PACKAGE = pathlib.Path(tw.__file__).parent
TW_BOARD = PACKAGE / "boards" / f"tw-board-{platform.machine()}"
SMALL_OPENSSL = pathlib.Path(__file__).parents[2] / "build/openssl" / platform.machine()
needed = pytest.mark.skipif(not TW_BOARD.exists(), reason="skipped: tw-board is not built (sanitizers need the dynamic linker)")


def new_secret(path):
    subprocess.run([TW, "rpc-key", "new", path], check=True, capture_output=True)
    return path


def until(holds, what, within=20):
    start = time.monotonic()
    while not holds():
        assert time.monotonic() - start < within, f"not within {within} s: {what}"
        time.sleep(0.05)


def after_lines(log, lines, then):
    """A thread that does something when the log has so many."""
    def wait():
        until(lambda: log.exists() and len(log.read_bytes().splitlines()) >= lines, f"{lines} lines", 60)
        then()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def send(process, number):
    """To it and to all that it started."""
    os.killpg(process.pid, number)


class Program:
    """One that listens, and says where in its first line."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        listens = re.search(r"127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        self.address, self.port = listens[0], int(listens[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


class Board(Program):
    def __init__(self, *options, port=0):
        super().__init__(TW_BOARD, "--listen", f"127.0.0.1:{port}", *options)

    def connect(self, **options):
        return tw.rpc.connect("127.0.0.1", self.port, **options)


class Farm:
    """A tracker and boards that register with it."""

    def __init__(self, folder):
        self.folder, self.processes, self.secret = folder, [], []

    def start(self, *command):
        log = open(self.folder / f"{len(self.processes)}.txt", "wb")
        process = subprocess.Popen([str(c) for c in command], stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.processes.append(process)
        return process, self.folder / log.name

    def tracker(self, port=0):
        self.process, log = self.start(TW, "rpc-tracker", "--listen", f"127.0.0.1:{port}", *self.secret)
        until(lambda: "listening on" in log.read_text(), "the tracker listens")
        self.port = int(log.read_text().split(",")[0].rsplit(":", 1)[1])

    def board(self, name):
        return self.start(TW_BOARD, "--tracker", f"127.0.0.1:{self.port}", "--key", "here", "--name", name, *self.secret)[0]

    def query(self):
        done = subprocess.run([TW, "rpc-query", "--tracker", f"127.0.0.1:{self.port}", *self.secret, "--json"],
                              check=True, capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout)

    def status(self, name):
        return next((b["status"] for b in self.query()["boards"] if b["name"] == name), "")

    def until_status(self, name, status, within=10):
        until(lambda: self.status(name) == status, f"{name} is {status}", within)

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                send(process, signal.SIGCONT)
                process.kill()
            process.wait()
