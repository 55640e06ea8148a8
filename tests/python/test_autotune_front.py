"""What programs written for AutoTVM ask of spaces, logs and measuring."""

import json

import numpy as np
import pytest
from programs import needs_llvm

import tensorwright as tw
from tensorwright import te
from tensorwright.autotune import BuildResult, Builder, ConfigEntity, MeasureResult, Runner, record


def scaling(cfg, n, m):
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2, name="B")
    s = te.create_schedule(B)
    i, j = s[B].op.axis
    cfg.define_split("tile_i", i, num_outputs=2, max_factor=16)
    cfg.define_split("tile_j", j, num_outputs=2, max_factor=16)
    cfg.define_knob("spread", [0, 1])
    io, ii = cfg["tile_i"].apply(s, B, i)
    jo, ji = cfg["tile_j"].apply(s, B, j)
    s[B].reorder(io, jo, ii, ji)
    return s, [A, B]


def filtered(cfg, n, m):
    cfg.multi_filter(filter=lambda e: e["tile_i"].size[-1] * e["tile_j"].size[-1] <= 8)
    return scaling(cfg, n, m)


def with_fallback(cfg, n, m):
    s, args = scaling(cfg, n, m)
    if cfg.is_fallback:
        cfg.fallback_split("tile_i", [-1, 6])
        cfg.fallback_split("tile_j", [-1, 12])
        return scaling(cfg, n, m)
    return s, args


def factors(schedule):
    return [step[3] for step in schedule.steps if step[0] == "split"]


def test_multi_filter_leaves_out_combinations():
    task = tw.autotune.Task(filtered, args=(32, 32))
    valid = [c for c in task.space if task.space.is_index_valid(c.index)]
    assert 0 < len(valid) < len(task.space) == len(tw.autotune.Task(scaling, args=(32, 32)).space)
    assert all(c["tile_i"][-1] * c["tile_j"][-1] <= 8 for c in valid)
    left_out = next(c for c in task.space if c["tile_i"][-1] * c["tile_j"][-1] > 8)
    with pytest.raises(tw.ScheduleError, match="multi_filter: leaves out"):
        left_out.instantiate()
    with pytest.raises(tw.TuneError, match="multi_filter: filter must be a function"):
        tw.autotune.Task(lambda cfg: cfg.multi_filter(3), args=())


def test_the_first_candidate_that_no_filter_leaves_out_is_the_default():
    def odd(cfg, n, m):
        cfg.multi_filter(lambda e: e["spread"].val == 1)
        return scaling(cfg, n, m)

    s, args = tw.autotune.Template("odd", odd)(32, 32)
    assert [t.name for t in args] == ["A", "B"] and len(s.steps) == 3


@needs_llvm
def test_what_is_filtered_is_not_measured():
    result = tw.autotune.tune(tw.autotune.Task(filtered, args=(32, 32)), trials=6, model=None, progress=False)
    assert len(result.trials) == 6 and all(t.knobs["tile_i"][-1] * t.knobs["tile_j"][-1] <= 8 for t in result.trials)


@needs_llvm
@pytest.mark.parametrize("search", ["random", "grid", "evolutionary"])
def test_range_idx(search):
    task = tw.autotune.Task(scaling, args=(32, 32))
    result = tw.autotune.tune(task, trials=20, search=search, model=None, range_idx=(5, 9), progress=False)
    assert result.trials and {t.index for t in result.trials} <= set(range(5, 10))


@needs_llvm
def test_range_idx_that_is_none():
    task = tw.autotune.Task(scaling, args=(32, 32))
    for wrong in ((0, len(task.space)), (4, 2)):
        with pytest.raises(tw.ArgumentError, match="range_idx must lie within 0.."):
            tw.autotune.tune(task, trials=1, range_idx=wrong, progress=False)
    with pytest.raises(tw.ArgumentError, match="range_idx must be the first and the last index"):
        tw.autotune.tune(task, trials=1, range_idx=3, progress=False)


def test_fallback_split():
    template = tw.autotune.Template("with_fallback", with_fallback)
    s, args = template(60, 64)
    assert factors(s) == [6, 8] and s[args[1]].leaf_iter_vars[0].extent == 10
    a = np.arange(60 * 64, dtype="float32").reshape(60, 64)
    b = np.zeros_like(a)
    tw.build(s, args, target="interp")(a, b)
    np.testing.assert_array_equal(b, a * 2)
    assert factors(tw.autotune.Template("scaling", scaling)(60, 64)[0]) == [1, 1]


def test_fallback_split_is_for_fallbacks():
    def always(cfg, n, m):
        cfg.define_split("tile", n, num_outputs=2)
        cfg.fallback_split("tile", [-1, 4])

    with pytest.raises(tw.TuneError, match="if cfg.is_fallback"):
        tw.autotune.Task(always, args=(32, 32))

    def wrong(cfg, n, m):
        s, args = scaling(cfg, n, m)
        if cfg.is_fallback:
            cfg.fallback_split("tile_i", [-1, 4, 4])
        return s, args

    with pytest.raises(tw.TuneError, match="'tile_i' has 2 loops, not 3"):
        tw.autotune.Template("wrong", wrong)(32, 32)


def test_config_entities():
    line = {"index": 7, "code_hash": None, "entity": [["tile_i", "sp", [-1, 4]], ["tile_j", "sp", [-1, 8]], ["spread", "ot", 1]]}
    entity = ConfigEntity.from_json_dict(line)
    assert entity["tile_i"].size == [-1, 4] and entity["spread"].val == 1 and entity.index == 7 and "tile_j" in entity
    assert entity.to_json_dict() == line and ConfigEntity.from_json_dict(json.loads(json.dumps(line))) == entity
    task = tw.autotune.Task(scaling, args=(32, 32))
    s, args = task.instantiate(entity)
    assert factors(s) == [4, 8] and task.instantiate(task.space[0])[0].steps == task.space[0].instantiate()[0].steps
    other = ConfigEntity.from_json_dict({"entity": [["order", "re", [1, 0]], ["ann", "an", ["vec", "none"]]]})
    assert other["order"].perm == [1, 0] and other["ann"].anns == ["vec", "none"]
    with pytest.raises(tw.Error):
        task.instantiate(ConfigEntity({"tile_i": [1, 77]}))
    for wrong in ({}, {"entity": [["a", "xx", 1]]}, [1], {"entity": [["a"]]}):
        with pytest.raises(tw.LogError, match="ConfigEntity"):
            ConfigEntity.from_json_dict(wrong)


@needs_llvm
@pytest.mark.parametrize("dtype,sums", [("float32", "float32"), ("float16", "float32"), ("int8", "int32")])
def test_conversions_are_no_arithmetic(dtype, sums):
    class Second(Runner):
        def run(self, inputs, builds):
            return [MeasureResult([1.0])]

    A, B = te.placeholder((8, 12), dtype, name="A"), te.placeholder((12, 16), dtype, name="B")
    k = te.reduce_axis((0, 12), name="k")
    C = te.compute((8, 16), lambda i, j: te.sum(A[i, k].astype(sums) * B[k, j].astype(sums), axis=k), name="C")
    best = tw.autotune.tune([A, B, C], trials=1, runner=Second(), progress=False).best
    assert best.gflops * 1e9 == pytest.approx(2 * 8 * 12 * 16)


@needs_llvm
def test_a_name_that_is_no_identifier_still_gives_a_kernel(tmp_path):
    log = tmp_path / "log.jsonl"

    @tw.autotune.template("examples/scale.v2")
    def scale(cfg, n):
        return scaling(cfg, n, n)

    task = tw.autotune.Task(scale, args=(8,))
    result = tw.autotune.tune(task, trials=2, log=log, progress=False)
    assert result.build().name == tw.build(task, log=log).name == "examples_scale_v2"


def test_lines_of_records():
    task = tw.autotune.Task(scaling, args=(32, 32), target="interp")
    measured = tw.autotune.MeasureInput(task.target, task, task.space[3])
    line = record.encode(measured, MeasureResult([2e-3, 1e-3, 3e-3], 0, 0.1, 7.5))
    said = json.loads(line)
    assert said["input"][1:3] == ["scaling", [32, 32]] and said["result"] == [[2e-3, 1e-3, 3e-3], 0, 0.1, 7.5] and "\n" not in line
    inp, result = record.decode(line)
    assert inp.config.knobs == task.space[3].knobs and result.costs == (2e-3, 1e-3, 3e-3)
    assert (result.error_no, result.all_cost, result.timestamp) == (0, 0.1, 7.5)
    assert (inp.task.name, inp.task.args) == ("scaling", [32, 32])
    inp, result = record.decode(line, task=task)
    assert inp.config == task.space[3] and inp.task is task
    other = tw.autotune.Task(scaling, args=(16, 32), target="interp")
    theirs = json.dumps({key: value for key, value in said.items() if key != "tensorwright"})
    assert record.decode(theirs, task=task)[0].config == task.space[3]
    for wrong, why in ((theirs, "the task has the arguments"), (theirs.replace('"interp"', '"cuda -arch=sm_80"'), "the task is for interp")):
        with pytest.raises(tw.LogError, match=why):
            record.decode(wrong, task=other)
    failed = record.encode(measured, MeasureResult([float("inf")], 4))
    assert record.decode(failed)[1].error_no != 0
    for wrong in ("", "{}", "no json"):
        with pytest.raises(tw.LogError):
            record.decode(wrong)


def test_a_line_of_autotvm():
    line = json.dumps({"input": ["llvm", "scaling", [32, 32], {}], "result": [[0.5, 0.25, 1.0], 0, 3.0, 1.5e9], "version": 0.2, "config": {
        "index": 9, "code_hash": None, "entity": [["tile_i", "sp", [-1, 4]], ["tile_j", "sp", [-1, 8]], ["spread", "ot", 1]]}})
    inp, result = record.decode(line)
    assert isinstance(inp.config, ConfigEntity) and inp.config["tile_j"].size == [-1, 8] and result.costs == (0.5, 0.25, 1.0)
    task = tw.autotune.Task(scaling, args=(32, 32))
    assert factors(task.instantiate(inp.config)[0]) == [4, 8]


class Counting(Runner):
    def __init__(self):
        self.seen = []

    def run(self, measure_inputs, build_results):
        (measured,), (built,) = measure_inputs, build_results
        kernel = tw.load(built.filename, "candidate")
        a, b = np.ones((32, 32), "float32"), np.zeros((32, 32), "float32")
        kernel(a, b)
        assert (b == 2).all()
        self.seen.append(measured.config.index)
        if measured.config["spread"] == 1:
            return [MeasureResult([], 4)]
        return [MeasureResult([1e-3 * (1 + measured.config["tile_i"][-1])] * 3)]


@needs_llvm
def test_a_runner_of_ones_own(tmp_path):
    runner, log = Counting(), tmp_path / "log.jsonl"
    task = tw.autotune.Task(scaling, args=(32, 32))
    result = tw.autotune.tune(task, trials=8, search="grid", model=None, runner=runner, log=log, progress=False)
    assert runner.seen and set(runner.seen) == {t.index for t in result.trials}
    assert all(t.status == ("crashed" if t.knobs["spread"] else "ok") for t in result.trials)
    best = min(t.knobs["tile_i"][-1] for t in result.trials if t.ok)
    assert result.best.knobs["tile_i"][-1] == best and result.best.seconds == pytest.approx(1e-3 * (1 + best))
    assert [r.seconds for r in tw.autotune.load_log(log) if r.ok]


@needs_llvm
def test_a_builder_of_ones_own():
    class Checked(Builder):
        def build(self, measure_inputs):
            if measure_inputs[0].config["tile_i"][-1] == 4:
                return [BuildResult(error="no room")]
            return super().build(measure_inputs)

    result = tw.autotune.tune(tw.autotune.Task(scaling, args=(32, 32)), trials=12, search="grid", model=None, builder=Checked(), progress=False)
    assert {t.status for t in result.trials if t.knobs["tile_i"][-1] != 4} <= {"ok", "beaten"}
    assert {(t.status, t.detail) for t in result.trials if t.knobs["tile_i"][-1] == 4} <= {("build_failed", "no room")}
    assert result.best is not None


@needs_llvm
def test_runners_that_go_wrong():
    class Broken(Runner):
        def run(self, measure_inputs, build_results):
            raise ZeroDivisionError("the board is on fire")

    class Two(Runner):
        def run(self, measure_inputs, build_results):
            return []

    task = tw.autotune.Task(scaling, args=(32, 32))
    with pytest.raises(ZeroDivisionError, match="on fire"):
        tw.autotune.tune(task, trials=2, runner=Broken(), progress=False)
    with pytest.raises(tw.TuneError, match="must return one result for each input"):
        tw.autotune.tune(task, trials=2, runner=Two(), progress=False)
    with pytest.raises(tw.ArgumentError, match="runner must be a tw.autotune.Runner"):
        tw.autotune.tune(task, trials=2, runner=print, progress=False)


@needs_llvm
def test_progress_without_a_terminal_is_a_line_for_each_tenth(capfd):
    tw.autotune.tune(tw.autotune.Task(scaling, args=(32, 32)), trials=20, model=None)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 10 and lines[0].startswith("scaling: 10 %, 2 of 20 trials, ") and lines[-1].startswith("scaling: 100 %, 20 of 20")
