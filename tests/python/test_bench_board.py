"""What the first person with a board runs: bench/board.py, here on a board that this machine plays."""

import pathlib
import re
import subprocess
import sys

import boards

ROOT = pathlib.Path(__file__).resolve().parents[2]


@boards.needed
def test_a_row_says_what_the_board_reaches():
    command = [sys.executable, "-m", "bench.board", "--rows=layernorm", "--trials=4"]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120).stdout
    assert re.search(r"^layernorm 512x768 .*tuned .* GB/s .*default .* GB/s .*4 trials in \d+ s, 95% after [1-4], 0 throttled$", out, re.M)
    assert "llvm -mcpu=" in out.splitlines()[-1]
