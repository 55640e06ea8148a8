"""The machine that records are chosen for."""
import pytest
from programs import needs_llvm

import tensorwright as tw
from tensorwright import te


def doubled():
    A = te.placeholder((96,), name="A")
    B = te.compute((96,), lambda i: A[i] * 2, name="B")
    return [A, B]


def test_a_machine_is_this_one_until_it_is_named():
    here = tw.autotune.Machine()
    assert here.threads == tw.num_threads() and "caches" in here.hardware
    board = tw.autotune.Machine("a board", 4)
    assert (board.hardware, board.threads) == ("a board", 4)
    assert eval(repr(board), {"Machine": tw.autotune.Machine}).hardware == board.hardware


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: tw.autotune.Machine(3), "hardware"),
        (lambda: tw.autotune.Machine(""), "hardware"),
        (lambda: tw.autotune.Machine("x", 0), "threads"),
        (lambda: tw.autotune.Machine("x", True), "threads"),
        (lambda: tw.autotune.Machine("x", 2**40), "threads"),
        (lambda: tw.build(doubled(), machine=tw.autotune.Machine("x")), "pass log="),
        (lambda: tw.build(doubled(), log="x.jsonl", machine="x"), "tw.autotune.Machine"),
        (lambda: tw.build({"a": doubled()}, machine=tw.autotune.Machine("x")), "left out"),
    ],
)
def test_bad_machines_are_refused(make, part):
    with pytest.raises(tw.ArgumentError, match=part):
        make()


class Board(tw.autotune.Runner):
    """Times that favour one candidate or another, on a machine of some name."""

    def __init__(self, name, sign):
        self.name, self.sign = name, sign

    def run(self, measure_inputs, build_results):
        return [tw.autotune.MeasureResult([1e-3 * (2 + self.sign * x.config.index / 1000)]) for x in measure_inputs]

    def describe(self):
        return self.name


@needs_llvm
def test_build_takes_the_records_of_the_machine(tmp_path):
    log = tmp_path / "log.jsonl"
    task = tw.autotune.Task(doubled())
    for name, sign in (("a board", 1), ("another", -1)):
        tw.autotune.tune(task, trials=6, log=log, progress=False, runner=Board(name, sign), search="random", model=None)
    sources = {name: tw.build(task, log=log, machine=tw.autotune.Machine(name)).source() for name in ("a board", "another")}
    assert sources["a board"] != sources["another"]
    assert tw.build(doubled(), log=log, machine=tw.autotune.Machine("another")).source() == sources["another"]
