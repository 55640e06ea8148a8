"""Logs with known content, for tests: lines as record.cc writes them, with their checksums."""

import json
import pathlib

HARDWARE = "a test's CPU, 2 cores, caches 32K 1024K 16384K"


def checksum(text):
    h = 0xCBF29CE484222325
    for c in text.encode():
        h = (h ^ c) * 0x100000001B3 % 2**64
    return f"{h:016x}"


def line(task, number, *, kind="trial", status="ok", seconds=1e-3, knobs=None, steps=(), hardware=HARDWARE, detail="", threads=2,
         pruned=0, at=None):
    record = {
        "tensorwright": 1,
        "kind": kind,
        **({} if at is None else {"at": at}),
        "task": {"hash": task["hash"], "name": task["name"], "args": task["args"], "flops": task["flops"], "bytes": task["bytes"]},
        "target": task["target"],
        "threads": threads,
        "hardware": hardware,
        "knobs": knobs if knobs is not None else {"n": number},
        "steps": list(steps),
        "result": {"status": status, "seconds": seconds, "bound": status == "beaten", "spread": 0.01, "runs": 5, "detail": detail},
        "check": {"passed": status in ("ok", "beaten"), "rtol": 0.0},
        "environment": {"version": "0.1.0", "time": "2026-01-01T00:00:00Z", "seed": 0, "number": number, "pruned": pruned},
    }
    body = json.dumps(record, separators=(",", ":"))[:-1]
    return f'{body},"checksum":"{checksum(body)}"}}\n'


def plain_task(name="some", flops=2e9, target="llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v3"):
    return {"hash": name.encode().hex().ljust(16, "0")[:16], "name": name, "args": [3, 4], "flops": flops, "bytes": 1e6, "target": target}


def records(log):
    """The lines of a log, as dicts."""
    return [json.loads(line) for line in pathlib.Path(log).read_text().splitlines()]
