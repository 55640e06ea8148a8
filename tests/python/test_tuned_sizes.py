"""Kernels whose size varies, tuned at several sizes: the log says each, and what is built of it chooses by the size."""

import json
import pathlib
import subprocess

import numpy as np
import pytest
import tuning_logs

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM")
TW = pathlib.Path(tw.__file__).parent / "tw"
K, N = 24, 40
n = te.var("n")


def declared():
    A, B, bias = te.placeholder((n, K), name="A"), te.placeholder((K, N), name="B"), te.placeholder((N,), name="bias")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((n, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((n, N), lambda i, j: te.max(C[i, j] + bias[j], 0.0), name="D")
    return [A, B, bias, D]


def check(f, rows):
    generator = np.random.default_rng(rows)
    a, b, bias = (generator.standard_normal(shape).astype("float32") for shape in ((rows, K), (K, N), (N,)))
    d = np.full((rows, N), 7, "float32")
    f(a, b, bias, d)
    np.testing.assert_allclose(d, np.maximum(a @ b + bias, 0), rtol=1e-4, atol=1e-4)


def run(*arguments):
    return subprocess.run([TW, *arguments], check=True, capture_output=True, text=True).stdout


def lines(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


def record(value, candidate, seconds, target="llvm -mcpu=x86-64-v3", of=None, at=None):
    """A line of the log: the candidate at or behind that place of the space at that size, or of another; timed at another in its range."""
    task, about = tw.autotune.Task.at_size(declared(), n, of or value, target), tw.autotune.Task.at_size(declared(), n, value, target)
    while not task._core.is_legal(candidate):
        candidate += 1
    about = {"hash": about._core.hash(), "name": "D", "args": {"n": value}, "flops": 1e6, "bytes": 1e3, "target": str(task.target)}
    return tuning_logs.line(about, candidate, kind="trial" if at is None else "range", at=at, seconds=seconds, steps=json.loads(task._core.steps(candidate)),
                            knobs=json.loads(task._core.describe(candidate)))


@pytest.fixture
def log(tmp_path):
    """One that was tuned at three sizes."""
    path = tmp_path / "tuned.jsonl"
    path.write_text(record(1, 0, 1e-6) + record(8, 40, 2e-6) + record(64, 300, 3e-6) + record(64, 0, 4e-6))
    return path


def test_it_is_tuned_at_each_size(tmp_path):
    log, tensors = tmp_path / "a.jsonl", declared()
    result = tw.autotune.tune(tensors, sizes={n: [9, 1]}, trials=3, log=log, progress=False)
    assert list(result.results) == [1, 9] and all(r.measured and r.best for r in result.results.values())
    assert {json.dumps(line["task"]["args"]) for line in lines(log)} == {'{"n": 1}', '{"n": 9}'}
    timed = [line for line in lines(log) if line["kind"] == "range"]
    assert {(line["task"]["args"]["n"], line["at"]) for line in timed} == {(1, 1), (9, 2), (9, 4), (9, 9)}
    assert {line["result"]["status"] for line in timed} == {"ok"}
    assert len({line["task"]["hash"] for line in lines(log)}) == 2
    for f in (result.build(), tw.build(tensors, log=log)):
        for rows in (0, 1, 2, 9, 10, 50):
            check(f, rows)
    check(result.results[9].build(), 20)  # of one size too it is a kernel of any
    again = tw.autotune.tune(declared(), sizes={n: [1, 9]}, trials=3, log=log, progress=False)
    assert [r.measured for r in again.results.values()] == [0, 0]
    assert [line for line in lines(log) if line["kind"] == "range"] == timed
    assert [s.steps for s in again.kernel.schedules.values()] == [s.steps for s in result.kernel.schedules.values()]
    assert [tw.autotune.load_log(log)[0].call] == ["D(n=1)"]


def test_a_runner_in_python_times_no_ranges(tmp_path):
    class Always(tw.autotune.Runner):
        def run(self, inputs, builds):
            return [tw.autotune.MeasureResult([1e-6])]

    result = tw.autotune.tune(declared(), sizes={n: [1, 9]}, trials=1, log=tmp_path / "a.jsonl", runner=Always(), progress=False)
    assert {line["kind"] for line in lines(tmp_path / "a.jsonl")} <= {"trial", "confirm"}
    check(result.build(), 5)


def test_the_table_is_frozen_and_follows_from_the_log(log, tmp_path):
    kernels, options = {"rows": declared()}, {"targets": ["x86-64-v3"], "out": tmp_path}
    [path] = tw.aot.freeze(kernels, log=log, **options)
    text = pathlib.Path(path).read_text()
    assert 'range: {"size":"n","up_to":1,"steps":[' in text and 'range: {"size":"n","up_to":8,"steps":[' in text
    assert text.count('"seconds":') == 3 and '"size":{"n":64}' in text and "if n <= 8:" in text
    tw.aot.library(path, tmp_path / "out")
    header = (tmp_path / "out/kernels.h").read_text()
    assert "tuned: up to n = 1 0.001 ms with 2 threads on " in header and "up to n = 64 and beyond 0.003 ms" in header
    assert tw.aot.check(kernels, log=log, **options) == []
    subprocess.run([TW, "log", "prune", log, "--best"], check=True, capture_output=True)
    assert len(lines(log)) == 3 and tw.aot.check(kernels, log=log, **options) == []
    with log.open("a") as more:
        more.write(record(8, 300, 1e-7, of=64))
    [stale] = tw.aot.check(kernels, log=log, **options)
    assert "rows(A: float32[n, 24]" in stale and "for n = 8 takes 0.0001 ms and is another" in stale and "freeze it again: tw freeze" in stale
    [path] = tw.aot.freeze(kernels, log=log, **options)
    assert pathlib.Path(path).read_text().count("range: ") == 1  # two neighbours have the same Steps
    assert tw.aot.check(kernels, log=log, **options) == []


def test_a_range_takes_what_loses_least_in_it(log, tmp_path):
    kernels, options = {"rows": declared()}, {"targets": ["x86-64-v3"], "out": tmp_path}
    [path] = map(pathlib.Path, tw.aot.freeze(kernels, log=log, **options))
    before = path.read_text()
    with log.open("a") as more:  # what is best at 64 takes four times as long at 9 as what is best at 8
        more.write(record(64, 300, 4e-6, at=9) + record(64, 300, 3e-6, at=64) + record(64, 40, 1e-6, of=8, at=9) + record(64, 40, 3.5e-6, of=8, at=64))
    [stale] = tw.aot.check(kernels, log=log, **options)
    assert "for n = 64 takes 0.0035 ms and is another" in stale
    tw.aot.freeze(kernels, log=log, **options)
    after = path.read_text()
    assert before.count("range: ") == 2 and after.count("range: ") == 1 and '"seconds":3.5e-06' in after
    assert tw.aot.check(kernels, log=log, **options) == []
    run("log", "prune", log, "--best")
    assert [line["kind"] for line in lines(log)] == ["trial", "trial", "range"] and tw.aot.check(kernels, log=log, **options) == []
    text = run("log", "check", log)
    assert "2 trials, 1 confirmations" in text and "0 damaged" in text


def test_what_the_log_lacks(log, tmp_path):
    with pytest.raises(tw.NoRecord, match="no tuning record for rows of any size on llvm -mcpu=x86-64-v2") as error:
        tw.aot.freeze({"rows": declared()}, log=log, targets=["x86-64-v2"], out=tmp_path)
    assert "sizes={n: [1, 8, 64, 512]}" in str(error.value) and not list(tmp_path.glob("*.twk"))
    [path] = tw.aot.freeze({"rows": declared()}, log=log, targets=["x86-64-v2"], out=tmp_path, allow_default=True)
    assert "record: null" in pathlib.Path(path).read_text()
    log.write_text(tuning_logs.line({"hash": "0" * 16, "name": "D", "args": {"n": 8}, "flops": 1.0, "bytes": 1.0, "target": "llvm"}, 0))
    with pytest.raises(tw.NoRecord):
        tw.build(declared(), log=log)


def test_a_name_of_an_operator_is_none_of_its_records(tmp_path):
    A = te.placeholder((n, 16), name="A")
    tensors, log = [A, tw.ops.softmax(A)], tmp_path / "a.jsonl"
    result = tw.autotune.tune(tensors, sizes={n: [4]}, trials=2, log=log, progress=False)
    assert lines(log)[0]["task"]["name"] in {k["name"] for k in json.loads(run("tune", "--list", "--json"))}
    assert "stale" not in run("log", "check", log, "--fail-stale")
    task = result.results[4]._task.on("llvm -mcpu=x86-64-v2")
    with pytest.raises(tw.NoRecord, match=r"sizes=\{n: \[4\]\}, target=") as error:
        tw.build(task, log=log)
    assert "for another target" in str(error.value)


def test_the_loss_is_measured_and_said(log, tmp_path):
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("kernels for x86-64-v3 run on CPUs with AVX2")
    log.write_text(record(1, 0, 1e-6) + record(4, 40, 2e-6))
    kernels, options = {"rows": declared()}, {"log": log, "targets": ["x86-64-v3"], "out": tmp_path}
    [path] = tw.aot.freeze(kernels, measure_loss=2, **options)
    text = pathlib.Path(path).read_text()
    [loss] = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("loss: ")]
    assert loss["sizes"] == [1, 2, 3, 4] and loss["worst"] >= 0 and loss["at"] in loss["sizes"] and loss["hardware"] and loss["trials"] == 2
    tw.aot.freeze(kernels, **options)
    assert pathlib.Path(path).read_text() == text  # the kernel is the same, and so is what is known of it
    tw.aot.library(path, tmp_path / "out")
    assert "slower than tuned for one size, at n = " in (tmp_path / "out/kernels.h").read_text()
    with pytest.raises(tw.ArgumentError, match="tuned at several sizes"):
        tw.aot.freeze({"rows": tw.autotune.Task.at_size(declared(), n, 4)}, measure_loss=1, targets=["x86-64-v3"], log=log, out=tmp_path)
    refused = subprocess.run([TW, "freeze", "softmax", "--shape", "M=4,N=32", "--targets", "x86-64-v3", "--measure-loss", "1"], capture_output=True, text=True)
    assert refused.returncode == 1 and "--measure-loss is of kernels whose size varies" in refused.stderr and "M=any" in refused.stderr


def test_a_disturbed_timing_is_not_the_worst():
    from tensorwright._loss import worst_of

    again = {1: [1.1] * 5, 2: [1.2] * 5, 4: [1.0] * 5}
    ratios = {1: [1.1] * 5, 2: [1.2] * 5, 4: [3.0] * 5}
    assert worst_of(ratios, lambda n: list(again[n])) == (2, pytest.approx(0.2))
    assert len(ratios[1]) == 5 and len(ratios[2]) == len(ratios[4]) == 20  # only what would be the worst is timed again
    assert worst_of({8: [0.9] * 5}, lambda n: [0.9] * 5) == (8, 0.0)


def test_of_two_variables_one_chooses(tmp_path):
    m, log = te.var("m"), tmp_path / "two.jsonl"
    A, B = te.placeholder((n, m), name="A"), te.placeholder((n, m), name="B")
    C = te.compute((n, m), lambda i, j: A[i, j] * B[i, j] + 1.0, name="C")
    result = tw.autotune.tune([A, B, C], sizes={n: [1, 8], m: 40}, trials=2, log=log, target="llvm -mcpu=x86-64-v2", progress=False)
    assert {json.dumps(line["task"]["args"]) for line in lines(log)} == {'{"n": 1, "m": 40}', '{"n": 8, "m": 40}'}
    assert "stale" not in run("log", "check", log, "--fail-stale")
    kernels, options = {"two": [A, B, C]}, {"targets": ["x86-64-v2"], "out": tmp_path}
    for f in (result.build(), tw.build([A, B, C], log=log, target="llvm -mcpu=x86-64-v2")):
        for shape in ((1, 3), (5, 40), (30, 77)):
            a, c = np.random.default_rng(1).standard_normal(shape).astype("float32"), np.zeros(shape, "float32")
            f(a, a, c)
            np.testing.assert_allclose(c, a * a + 1, rtol=1e-6)
    [path] = tw.aot.freeze(kernels, log=log, measure_loss=1, **options)
    text = pathlib.Path(path).read_text()
    assert '"size":{"n":8,"m":40}' in text and "loss: " in text and tw.aot.check(kernels, log=log, **options) == []
    tw.aot.library(path, tmp_path / "out")
    assert "tuned at m = 40: up to n = " in (tmp_path / "out/kernels.h").read_text()
    task = result.results[8]._task.on("llvm -mcpu=x86-64-v3")
    with pytest.raises(tw.NoRecord) as error:
        tw.build(task, log=log)
    assert "sizes={n: [8], m: 40}, target=" in str(error.value)
    tw.autotune.tune([A, B, C], sizes={n: [1], m: 64}, trials=1, log=log, target="llvm -mcpu=x86-64-v2", progress=False)
    with pytest.raises(tw.LogError, match="has it tuned by n at m = 40 and by n at m = 64, and a kernel chooses by one of them"):
        tw.aot.freeze(kernels, log=log, **options)


def test_an_operator_from_the_command_line(tmp_path):
    log, target = tmp_path / "a.jsonl", "llvm -mcpu=x86-64-v2"
    text = run("tune", "softmax", "--shape", "N=32", "--sizes", "M=9,1", "--trials", "2", "--log", log, "--target", target, "--quiet")
    assert "softmax(M=1): best " in text and "softmax(M=9): best " in text and "tw freeze softmax --shape M=any,N=32 --targets " in text
    sizes = json.loads(run("tune", "softmax", "--shape", "N=32", "--sizes", "M=1,9", "--trials", "2", "--log", log, "--target", target, "--json"))["sizes"]
    assert [(one["args"], one["measured"]) for one in sizes] == [({"M": 1}, 0), ({"M": 9}, 0)] and all(one["range"]["steps"] for one in sizes)
    operator = ("softmax", "--shape", "M=any,N=32", "--targets", "x86-64-v2", "--log", log, "--out", tmp_path)
    assert run("freeze", *operator).strip() == f"{tmp_path}/softmax.x86-64-v2.twk"
    assert '"size":{"M":9}' in (tmp_path / "softmax.x86-64-v2.twk").read_text()
    assert "1 frozen kernel is up to date" in run("freeze", "--check", *operator)
    frozen = (tmp_path / "softmax.x86-64-v2.twk").read_text()
    run("freeze", *operator, "--measure-loss", "1")
    measured = (tmp_path / "softmax.x86-64-v2.twk").read_text().splitlines()
    assert [line.split(": ")[0] for line in measured if line not in frozen.splitlines()] == ["loss", "checksum"]
    assert "1 frozen kernel is up to date" in run("freeze", "--check", *operator)
    M = te.var("M")
    X = te.placeholder((M, 32), name="X")
    f = tw.build([X, tw.ops.softmax(X)], log=log, target=target)  # the same computation
    x, y = np.random.default_rng(0).standard_normal((20, 32)).astype("float32"), np.zeros((20, 32), "float32")
    f(x, y)
    np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("arguments, said", [
    (("softmax", "--shape", "N=32", "--sizes", "M=1,x"), "must be NAME=VALUE,VALUE,.. of positive integers, not x"),
    (("softmax", "--shape", "N=32", "--sizes", "8"), "must be NAME=VALUE,VALUE,.. of positive integers, not 8"),
    (("softmax", "--shape", "N=32", "--sizes", "M=0"), "must be NAME=VALUE,VALUE,.. of positive integers, not M=0"),
    (("softmax", "--shape", "M=3,N=32", "--sizes", "M=1"), "--sizes has M, and --shape has it too"),
    (("softmax", "--shape", "M=3", "--sizes", "N=1"), 'softmax: N must be a number here, not "any"'),
    (("softmax", "--shape", "M=any,N=32"), 'softmax: M must be a number here, not "any"'),
    (("matmul", "--shape", "K=8", "--sizes", "M=1,2,N=3,4"), "--sizes has a list for one parameter"),
    (("matmul", "--shape", "N=any,K=8", "--sizes", "M=1,2"), "N=any needs a value in --sizes"),
    (("softmax", "--shape", "N=32", "--sizes", "M=1", "--save", "k.so"), "--sizes goes with neither --pack nor --save"),
])
def test_what_the_command_line_refuses(arguments, said, tmp_path):
    refused = subprocess.run([TW, "tune", *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 1 and said in refused.stderr and refused.stderr.count("tw: ") == 1 and not list(tmp_path.iterdir())


def test_what_is_refused():
    tensors = declared()
    for sizes in ({}, {"n": [1]}, {n: []}, {n: [0]}, {n: [True]}, {n: 8}, {n: 0}, {n: [1], te.var("m"): [2]}, [1]):
        with pytest.raises(tw.ArgumentError):
            tw.autotune.tune(tensors, sizes=sizes)
    with pytest.raises(tw.ArgumentError, match="m must be an extent"):
        tw.autotune.tune(tensors, sizes={te.var("m"): [1]})
    with pytest.raises(tw.ArgumentError, match="no builder"):
        tw.autotune.tune(tensors, sizes={n: [1]}, range_idx=(0, 1))
    with pytest.raises(tw.TuneError, match="for CPUs"):
        tw.autotune.Task.at_size(tensors, n, 8, "cuda -arch=sm_80")
    m = te.var("m")
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2, name="B")
    with pytest.raises(tw.TuneError, match="m, an extent of A, varies too and must have a value") as error:
        tw.autotune.Task.at_size([A, B], n, 8)
    assert "sizes={n: [1, 8, 64], m: 128}" in str(error.value)
    with pytest.raises(tw.ArgumentError, match="a list of values for one te.var"):
        tw.autotune.tune([A, B], sizes={n: [1], m: [2]})
    for others in ({"m": 1}, {m: 0}, [m]):
        with pytest.raises(tw.ArgumentError):
            tw.autotune.Task.at_size([A, B], n, 8, others=others)
    W = te.placeholder((n,), name="W", param=True)
    X = te.compute((n,), lambda i: W[i] * 2, name="X")
    with pytest.raises(tw.TuneError, match="W must not be a param"):
        tw.autotune.Task.at_size([W, X], n, 8)
