"""Automatic spaces against oneDNN: every row of bench/tune_rows.py is tuned from its tensors alone, then run interleaved with oneDNN.

Per row: GFLOP/s (GB/s where memory bounds it) of ours, of oneDNN and of the default schedule, the ratio of one interleaved run, the wall
time of tuning, how many candidates failed and how many a bound kept from being built. --long: how many trials reach 95 % of the best
of 1,000, where each that led is timed once more, beside the best. --more: other rows, against the fastest of oneDNN, OpenBLAS and PyTorch.
--tvm, --halide: those two at their own work (bench/peers/search.py). A row: ./dev bench tune --rows=1024^3
"""
import argparse
import dataclasses
import json
import os
import statistics
import tempfile
import time
from collections import Counter

import numpy as np

import tensorwright as tw
from bench import peers
from bench.harness import Contestant, geomean, interleave, ratio
from bench.peers import search
from bench.tune_rows import MORE_ROWS, ROWS, Row, arrays_of

LONG = 1000
MOST_LEADERS = 12
LONGEST_SUM = 4096  # terms, over all rows


@dataclasses.dataclass
class Tuned:
    row: Row
    result: object
    wall: float
    arrays: list
    ours: Contestant
    default: Contestant
    rivals: list = dataclasses.field(default_factory=list)  # oneDNN first
    memory: list = dataclasses.field(default_factory=list)
    leaders: dict = dataclasses.field(default_factory=dict)  # by how many trials had been made

    def ratio(self, rival) -> float:
        return ratio(self.ours, rival)[0]

    @property
    def share_of_default(self) -> float:
        return ratio(self.default, self.ours)[0]

    @property
    def failed(self) -> int:
        return len(self.result.failures)


def caller(f, arrays):
    """f with its parameters packed. All write to one output: where the pages of an array lie is up to a fifth of a short row's time."""
    packed = {name: f.pack(name, array) for name, array in zip((a.name for a in f.args), arrays) if name in f.packed_params}
    arguments = [packed.get(spec.name, array) for spec, array in zip(f.args, arrays)]
    return lambda: f(*arguments)


def result_of(run, arrays):
    arrays[-1].fill(0)
    run()
    return arrays[-1].copy()


def close(ours, theirs) -> None:
    """Equal integers; floats up to the rounding of a sum of a few thousand terms in another order."""
    tolerance = 0 if ours.dtype.kind in "iu" else 1e-5 * (1 + LONGEST_SUM**0.5)
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())


def tune(row: Row, options) -> Tuned:
    threads = row.threads or options.threads
    tw.set_num_threads(threads)
    tensors = row.tensors()
    arrays = arrays_of(tensors)
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(options.logs or folder, row.name.replace("/", "_").replace(" ", "_") + ".jsonl")
        begin = time.perf_counter()
        task = tw.autotune.Task(tensors, target="llvm -mcpu=native")
        result = tw.autotune.tune(task, trials=LONG if options.long else options.trials, log=log, seed=options.seed, progress=False)
        wall = time.perf_counter() - begin
        tuned = caller(tw.build(task, log=log), arrays)
    default = caller(tw.build(tensors, name="untuned"), arrays)
    rivals = row.peers(threads, arrays)
    expected = result_of(tuned, arrays)
    for run in (default, *(rival.run for rival in rivals[:1] if rival.writes)):
        close(expected, result_of(run, arrays))
    memory = row.memory(threads, arrays) if row.memory else []
    done = Tuned(row, result, wall, arrays, Contestant("tuned", tuned), Contestant("default", default), rivals, memory)
    if options.long:
        done.leaders = {n: Contestant(f"trial {n}", caller(built(task, trial), arrays)) for n, trial in leaders(result)}
    return done


def built(task, trial):
    schedule, tensors = task.instantiate(trial.candidate)
    return tw.build(schedule, tensors, target=task.target)


def leaders(result) -> list:
    """Each trial that was the best until then, after so many; of many the last are left out: they differ by what a machine varies."""
    led = [(n, trial) for n, trial in enumerate(result.trials, 1) if trial.ok and trial.seconds <= result.curve[n - 1]]
    return led[:MOST_LEADERS]


def trials_to_95(t: Tuned) -> int:
    """By times of one interleaved run: a curve of a thousand trials ends with the best moment of the machine."""
    return next((n for n, leader in t.leaders.items() if ratio(leader, t.ours)[0] >= 0.95), len(t.result.trials))


def trials_to_95_of_curve(result) -> int:
    return next(n for n, seconds in enumerate(result.curve, 1) if seconds <= result.curve[-1] / 0.95)


def show(t: Tuned, options) -> None:
    work = t.row.work(t.arrays)
    rates = [f"tuned {work / t.ours.median:7.1f}"] + [f"{c.name} {work / c.median:7.1f}" for c in (*t.rivals, *t.memory, t.default)]
    print(f"{t.row.name:<28} {t.row.unit}: {', '.join(rates)}")
    for rival in (*t.rivals, *t.memory):
        print(f"{'':<28} {t.ratio(rival):.2f} x {rival.name} ({', '.join(f'{r:.2f}' for r in ratio(t.ours, rival)[1:])})")
    pruned = getattr(t.result, "pruned", 0)
    kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(x.status for x in t.result.trials).most_common())
    print(f"{'':<28} {len(t.result.trials)} trials in {t.wall:.1f} s ({kinds}; {pruned} pruned), default / tuned {t.share_of_default:.2f}, "
          f"best {t.result.best.seconds * 1e3:.4g} ms {json.dumps(t.result.best.knobs)}")
    if options.long:
        print(f"{'':<28} 95 % of the best of {len(t.result.trials)} after {trials_to_95(t)} trials, by the curve after "
              f"{trials_to_95_of_curve(t.result)}")
    print(flush=True)


def reached(t: Tuned) -> float:
    """Of a bandwidth row: its share of what is asked, 1.0 x oneDNN or 0.9 x the bandwidth of the memory that holds its data."""
    return max([t.ratio(t.rivals[0]), *(t.ratio(m) / 0.9 for m in t.memory)])


def against_the_fastest(t: Tuned) -> float:
    """Of a row of MORE_ROWS: its share of the fastest peer and of the memory that its bytes come from."""
    return min(t.ratio(rival) for rival in (*t.rivals, *t.memory))


def summary(all_rows: list[Tuned], options) -> None:
    usual = [t for t in all_rows if t.row in ROWS and t.rivals]
    sums = [t for t in usual if t.row.kind == "contraction"]
    moves = [t for t in usual if t.row.kind == "bandwidth"]
    more = [t for t in all_rows if t.row in MORE_ROWS and t.rivals]
    lines = []
    if sums:
        ratios = [t.ratio(t.rivals[0]) for t in sums]
        lines.append(f"contractions: geomean {geomean(ratios):.2f} x oneDNN, least {min(ratios):.2f} (asked for at 64 trials: 1.10, 0.90)")
    if moves:
        lines.append(f"bandwidth rows: least {min(map(reached, moves)):.2f} of 1.0 x oneDNN or 0.9 x memory (1.00)")
    if more:
        least = min(more, key=against_the_fastest)
        lines.append(f"rows more: least {against_the_fastest(least):.2f} x the fastest peer and the memory, {least.row.name} (0.95)")
    walls = [t.wall for t in all_rows]
    lines.append(f"wall time: median {statistics.median(walls):.1f} s, longest {max(walls):.1f} s (at 64 trials: 4, 10)")
    defaults = [t.share_of_default for t in all_rows]
    lines.append(f"default / tuned: geomean {geomean(defaults):.2f}, least {min(defaults):.2f} (0.92, 0.80)")
    if options.long:
        counts = [trials_to_95(t) for t in all_rows]
        lines.append(f"trials to 95 % of the best of {LONG}: median {statistics.median(counts):.0f} (16)")
    print(f"{len(all_rows)} rows, {options.threads} threads, {options.rounds} interleaved rounds, {LONG if options.long else options.trials} trials, seed {options.seed}")
    for line in lines:
        print("  " + line)
    if options.json:
        with open(options.json, "w") as out:
            json.dump([{"row": t.row.name, "wall": t.wall, "trials": len(t.result.trials), "failed": t.failed,
                        "best_s": t.result.best.seconds, "default_over_tuned": t.share_of_default,
                        "ratio": {rival.name: t.ratio(rival) for rival in (*t.rivals, *t.memory)}} for t in all_rows], out, indent=1)


def chosen(names, there: list[Row]) -> list[Row]:
    rows = [row for row in there if not names or any(name in row.name for name in names.split(","))]
    if not rows:
        raise SystemExit(f"no row is called {names}; there are: {', '.join(row.name for row in there)}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", help="parts of names of rows, with commas")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--long", action="store_true", help=f"{LONG} trials a row")
    parser.add_argument("--more", action="store_true", help="other rows, in the place of the usual ones")
    parser.add_argument("--logs", help="a folder in which logs stay, and from which tuning goes on")
    parser.add_argument("--json", help="a file for the ratios")
    parser.add_argument("--tvm", action="store_true", help="TVM's MetaSchedule at as many trials, on the rows that it has")
    parser.add_argument("--halide", action="store_true", help="Halide's Adams2019 against the default schedule")
    options = parser.parse_args()
    if options.logs:
        os.makedirs(options.logs, exist_ok=True)
    done = []
    for row in chosen(options.rows, MORE_ROWS if options.more else ROWS):
        tuned = tune(row, options)
        others = search.contestants(row, options) if options.tvm or options.halide else []
        interleave([tuned.ours, tuned.default, *tuned.leaders.values(), *tuned.rivals, *tuned.memory, *others], options.rounds)
        show(tuned, options)
        search.report(tuned, others)
        done.append(tuned)
    summary(done, options)


if __name__ == "__main__":
    main()
