"""The schedules that functions for a device have without tuning: nothing that the estimate counts is left out where it could be had."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from bench.device_defaults import PROGRAMS, row_of  # noqa: E402

ODD = {(127, 129, 4001), (7, 333, 77, 55), (31, 65, 27, 3), (3, 64, 224, 7, 2), (33, 100000), (1001, 1000), (77, 33333), (5, 100003), (7, 11, 13, 17)}


@pytest.mark.parametrize("make, sizes", [p for p in PROGRAMS if p[1] in ODD], ids=str)
def test_blocks_banks_and_vectors(make, sizes, capsys):
    short, bound = row_of(make.__name__, sizes, make(*sizes), "cuda -arch=sm_90a")
    assert not short or bound, short


def test_what_no_schedule_does_better(capsys):
    make, sizes = next(p for p in PROGRAMS if p[1] == (33, 65, 97))
    short, bound = row_of(make.__name__, sizes, make(*sizes), "cuda -arch=sm_90a")
    assert "blocks of 132" in short and "schedules lacks nothing" in bound
