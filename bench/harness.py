"""Interleaved rounds of several contestants; medians and the spread of their ratios.

One round times each contestant once, in turn, with a pause in between so that the other's threads are parked (ours spin for
microseconds after a region, OpenMP's for milliseconds, OpenBLAS's for tens of them). A ratio is taken round by round, and its median is printed: it holds when the
machine's speed drifts.
"""
import argparse
import dataclasses
import statistics
import time
from typing import Callable


@dataclasses.dataclass
class Contestant:
    name: str
    run: Callable[[], None]
    writes: bool = True  # into the output that it was given; some libraries return one of their own, or have none
    seconds: list = dataclasses.field(default_factory=list)

    def sample(self, calls: int) -> float:
        """Seconds a call."""
        begin = time.perf_counter()
        for _ in range(calls):
            self.run()
        return (time.perf_counter() - begin) / calls

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def interleave(contestants: list[Contestant], rounds: int = 21, target: float = 0.02, pause: float = 0.12) -> None:
    """Fills `seconds` (per call) of every contestant; a round's sample lasts about `target` seconds."""
    calls = {}
    for c in contestants:
        c.run()
        calls[c.name] = max(1, int(target / max(c.sample(1), 1e-7)))
    for _ in range(rounds):
        for c in contestants:
            time.sleep(pause)
            c.run()  # wakes the pool, warms the caches
            c.seconds.append(c.sample(calls[c.name]))


def ratio(ours: Contestant, peer: Contestant) -> tuple[float, float, float]:
    """(median, low, high) of peer's time over ours: above 1 we are faster. low and high are the quartiles."""
    ratios = sorted(p / o for o, p in zip(ours.seconds, peer.seconds))
    quarter = len(ratios) // 4
    return statistics.median(ratios), ratios[quarter], ratios[-1 - quarter]


def geomean(values) -> float:
    return statistics.geometric_mean(values)


def report(title: str, contestants: list[Contestant], work: float, unit: str = "GFLOP/s") -> None:
    """Prints one table; `work` is in units of 1e9 per call. The first contestant is ours."""
    print(f"{title}, {len(contestants[0].seconds)} interleaved rounds, medians")
    for c in contestants:
        line = f"  {c.name:<44} {c.median * 1e3:9.3f} ms {work / c.median:8.1f} {unit}"
        if c is not contestants[0]:
            middle, low, high = ratio(contestants[0], c)
            line += f"   ours is {middle:.2f} x as fast ({low:.2f} .. {high:.2f})"
        print(line)
    print(flush=True)


def compare_bandwidth(description: str, cases: list[tuple[str, int, Callable[[int], list[Contestant]]]]) -> None:
    """Interleaves and reports each case on one thread and on two: (title, bytes a call, contestants of so many threads)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    for threads in (1, 2):
        for title, size, contestants in cases:
            competing = contestants(threads)
            interleave(competing, rounds)
            report(f"{title}, {threads} thread(s)", competing, size / 1e9, "GB/s")
