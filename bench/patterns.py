"""Programs as people write them (bench/pattern_rows.py), without a schedule or a log, against PyTorch: one thread.

    ./dev bench patterns [--rounds N] [--only WORD]

PyTorch allocates its results in each call, as its users do. Outputs are compared before anything is timed.
"""
import argparse
import math

import numpy as np

import tensorwright as tw
from bench.harness import Contestant, geomean, interleave, ratio
from bench.pattern_rows import ROWS


def inputs_of(tensors, ranges):
    rng = np.random.default_rng(0)
    return [draw(rng, t, ranges.get(t.name)) for t in tensors[:-1]]


def draw(rng, tensor, bounds):
    low, high = bounds or ((-128, 127) if tensor.dtype == "int8" else (-1, 1))
    if tensor.dtype.startswith("int"):
        return rng.integers(low, high, tensor.shape, endpoint=True).astype(tensor.dtype)
    return rng.uniform(low, high, tensor.shape).astype(tensor.dtype)


def contestants(row):
    import torch

    torch.set_num_threads(1)
    tw.set_num_threads(1)
    tensors = row.tensors()
    f = tw.build(tensors, name="pattern")
    inputs, out = inputs_of(tensors, row.ranges), np.empty(tensors[-1].shape, tensors[-1].dtype)
    theirs = [torch.from_numpy(x) for x in inputs]
    f(*inputs, out)
    with torch.inference_mode():
        expected = row.torch(*theirs).numpy()
        np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max(), err_msg=row.name)

    def peer():
        with torch.inference_mode():
            row.torch(*theirs)

    return [Contestant("tensorwright", lambda: f(*inputs, out)), Contestant(f"PyTorch {torch.__version__}", peer)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default="", help="rows whose name has this word")
    options = parser.parse_args()
    ratios = []
    print(f"{'untuned, one thread':32} {'us':>9} {'PyTorch':>9}   PyTorch's time over ours (quartiles)")
    for row in ROWS:
        if options.only not in row.name:
            continue
        both = contestants(row)
        interleave(both, options.rounds, pause=0.01)
        middle, low, high = ratio(*both)
        ratios.append(middle)
        print(f"{row.name:32} {both[0].median * 1e6:9.1f} {both[1].median * 1e6:9.1f}   {middle:.2f} ({low:.2f} .. {high:.2f})", flush=True)
    below = sum(r < 1 for r in ratios)
    print(f"{len(ratios)} rows: geomean {geomean(ratios):.2f}, least {min(ratios, default=math.nan):.2f}, below 1: {below}")


if __name__ == "__main__":
    main()
