"""Kills what takes part in tuning over a network, at random moments, for as long as one likes.

A tracker, four boards and a client that tunes one task after the other, each a process of its own; what is killed is started again. Then every
log must be whole: no trial missing, recorded twice, or failed, as nothing but kills could make one fail. What each takes of
memory is printed, at most, of those that live long.

    ./dev bench rpc_soak --minutes 20 --kills 1000
"""
import argparse
import json
import os
import pathlib
import platform
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import tensorwright as tw
from tensorwright import te

PACKAGE = pathlib.Path(tw.__file__).parent
BOARD = PACKAGE / "boards" / f"tw-board-{platform.machine()}"
BOARDS, TRIALS = 4, 24


class Program:
    """One that is started again where it was when it ends."""

    def __init__(self, name, *command):
        self.name, self.command, self.most_kb = name, [str(word) for word in command], 0
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        return self

    def address(self):
        return re.search(r"127\.0\.0\.1:\d+", self.process.stdout.readline())[0]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def kb(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1])


def product(k):
    A, B = te.placeholder((31, k), name="A"), te.placeholder((k, 29), name="B")
    r = te.reduce_axis((0, k), name="r")
    return [A, B, te.compute((31, 29), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")]


def client(tracker, folder):
    """Tunes tasks for ever; a log of one that was killed is gone on with."""
    host, port = tracker.rsplit(":", 1)
    number = 0
    while True:
        while (folder / f"{number}.done").exists():
            number += 1
        try:
            with tw.autotune.RPCRunner("soak", host, int(port)) as runner:
                tw.autotune.tune(product(32 + number), target=runner.target, runner=runner, trials=TRIALS, log=folder / f"{number}.jsonl",
                                 progress=False)
        except tw.RpcError as error:
            print(f"client: {error.what}", file=sys.stderr)
            time.sleep(0.2)
            continue
        (folder / f"{number}.done").touch()


def workers_of(program):
    children = pathlib.Path(f"/proc/{program.process.pid}/task").glob("*/children")
    return [int(pid) for child in children for pid in child.read_text().split()]


def kill_one(chance, programs):
    """A worker in half of the cases, else a board, the tracker or the client."""
    victim = chance.choice(programs)
    workers = workers_of(victim) if victim.name.startswith("board") else []
    if workers and chance.random() < 0.5:
        os.kill(chance.choice(workers), signal.SIGKILL)
        return "worker"
    victim.kill()
    victim.start()
    return victim.name.split()[0]


def judged(log):
    """What is wrong with a log that is done."""
    trials = [r for r in map(json.loads, log.read_text().splitlines()) if r["kind"] == "trial" and r["result"]["status"] != "device_lost"]
    numbers = sorted(r["environment"]["number"] for r in trials)
    wrong = [f"{log.name}: {len(numbers)} trials, {len(set(numbers))} different"] if numbers != list(range(TRIALS)) else []
    return wrong + [f"{log.name}: {r['result']}" for r in trials if r["result"]["status"] not in ("ok", "beaten")]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--client", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.client:
        client(asked.client[0], pathlib.Path(asked.client[1]))
    with tempfile.TemporaryDirectory() as name:
        soak(asked, pathlib.Path(name))


def soak(asked, folder):
    tracker = Program("tracker", PACKAGE / "tw", "rpc-tracker", "--listen", "127.0.0.1:0")
    address = tracker.address()
    tracker.command[-1] = address
    boards = [Program(f"board {n}", BOARD, "--tracker", address, "--key", "soak", "--name", f"board-{n}") for n in range(BOARDS)]
    tuning = Program("client", sys.executable, __file__, "--client", address, folder)
    programs, chance = [tracker, *boards, tuning], random.Random(asked.seed)
    due, killed = time.monotonic(), dict.fromkeys(("worker", "board", "tracker", "client"), 0)
    pause = asked.minutes * 60 / asked.kills
    try:
        while sum(killed.values()) < asked.kills:
            due += chance.uniform(0, 2 * pause)  # what starting again took is made up for
            time.sleep(max(0, due - time.monotonic()))
            killed[kill_one(chance, programs)] += 1
            for program in programs:
                program.most_kb = max(program.most_kb, program.kb())
        kept = time.monotonic()
        done = len(list(folder.glob("*.done")))
        while len(list(folder.glob("*.done"))) == done and time.monotonic() - kept < 120:  # undisturbed, it goes on
            time.sleep(0.5)
        report(folder, killed, programs, done)
    finally:
        for program in programs:
            program.kill()


def report(folder, killed, programs, done):
    logs = [folder / f"{path.stem}.jsonl" for path in folder.glob("*.done")]
    wrong = [line for log in logs for line in judged(log)]
    print(f"killed: {', '.join(f'{count} {name}' for name, count in killed.items())}")
    print(f"{len(logs)} tasks of {TRIALS} trials done{'' if len(logs) > done else ', and none once nothing was killed any more'}")
    print(", ".join(f"{program.name}: {program.most_kb / 1024:.1f} MB" for program in programs[:-1]))
    print("\n".join(wrong) or "no failure charged to a candidate, no trial missing or recorded twice")
    sys.exit(1 if wrong or len(logs) == done else 0)


if __name__ == "__main__":
    main()
