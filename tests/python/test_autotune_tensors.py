"""Tuning from tensors alone: tasks, stock operators by name, results, logs as records, many tasks at once."""

import numpy as np
import pytest
import tuning_logs

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(tw.Target.current().kind != "llvm", reason="built without LLVM: nothing to measure")

M, N, K = 19, 33, 9


def declare():
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((M, N), lambda i, j: te.max(C[i, j], 0.0), name="D")
    return [A, B, D]


def check(f):
    rng = np.random.default_rng(0)
    a, b, d = rng.standard_normal((M, K), "float32"), rng.standard_normal((K, N), "float32"), np.empty((M, N), "float32")
    f(a, b, d)
    np.testing.assert_allclose(d, np.maximum(a @ b, 0), rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    log = tmp_path_factory.mktemp("tuned") / "d.jsonl"
    return tw.autotune.tune(declare(), trials=4, log=log, progress=False), log


class TestTask:
    def test_space_and_candidates(self):
        task = tw.autotune.Task(declare(), target="llvm -mcpu=native", name="dense")
        assert task.name == "dense" and len(task.space) > 4 and "dense" in repr(task)
        schedule, tensors = task.space[0].instantiate()
        assert [t.name for t in tensors] == ["A", "B", "D"]
        check(tw.build(schedule, tensors))
        assert str(task.on("llvm -mcpu=x86-64-v3").target) != str(task.target)

    @pytest.mark.parametrize("make, message", [
        (lambda: tw.autotune.Task(declare()[:2]), "computed"),
        (lambda: tw.autotune.Task(declare() + [3]), "tensors only"),
        (lambda: tw.autotune.Task(declare(), (1,)), "template's"),
        (lambda: tw.autotune.Task(declare(), name=""), "name must be"),
        (lambda: tw.autotune.Task.stock("matmull", {"M": 4}), "matmul"),
        (lambda: tw.autotune.Task.stock("matmul", {"M": 4, "N": 4}), "K"),
        (lambda: tw.autotune.Task.stock("matmul", {"M": object()}), "M must be"),
        (lambda: tw.autotune.tune(3), "list of tensors"),
        (lambda: tw.autotune.tune([]), "tensor"),
        (lambda: tw.autotune.tune(tw.autotune.Task(declare()), target="llvm -mcpu=x86-64-v2"), "task.on"),
        (lambda: tw.build(3, log="x"), "list of tensors"),
        (lambda: tw.tune("matmul", M=4, N=4, K=4, trials=0), "trials"),
    ])
    def test_errors(self, make, message):
        with pytest.raises(tw.Error, match=message):
            make()


class TestResult:
    def test_schedule_and_build(self, tuned):
        result, _ = tuned
        check(result.build())
        code = result.best.schedule.to_python()
        assert code == result.schedule.to_python() and code.startswith("s = te.create_schedule(D)")
        names = dict(zip("ABD", declare()), te=te)
        names["C"] = names["D"].op.input_tensors[0]
        exec(code, names)
        assert names["s"].steps == result.schedule.steps

    def test_builds_from_the_log_alone(self, tuned, monkeypatch):
        monkeypatch.setenv("TW_MEASURE", "forbid")
        check(tw.build(declare(), log=tuned[1]))

    def test_report_and_notebook(self, tuned, tmp_path):
        result, log = tuned
        for page in (result.report(tmp_path / "a.html"), tw.autotune.report(log, tmp_path / "b.html", task=tw.autotune.Task(declare()))):
            text = page.read_text()
            assert "te.create_schedule(D)" in text and "chart curve" in text and "chart roofline" in text
        assert result.report().startswith("<!doctype html>")
        assert "<svg" in result._repr_html_() and "best time" in result._repr_html_()

    def test_plot(self, tuned):
        matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed (./dev setup --peers)")
        matplotlib.use("Agg")
        axes = tuned[0].plot()
        assert axes.get_ylabel() == "GFLOP/s"
        (best,) = [line for line in axes.lines if line.get_label() == "best"]
        work = tuned[0]._task._core.arithmetic()
        assert best.get_ydata()[-1] == pytest.approx(work / tuned[0].curve[-1] / 1e9)
        assert tuned[0].plot(axes) is axes

    def test_plot_without_matplotlib_names_the_way_out(self, tuned, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
        with pytest.raises(tw.TuneError, match="pip install matplotlib"):
            tuned[0].plot()

    def test_progress(self, capfd):
        tw.autotune.tune(declare(), trials=2)
        assert "2 of 2 trials" in capfd.readouterr().err


class TestByName:
    def test_tunes_a_stock_operator(self, tmp_path):
        log = tmp_path / "m.jsonl"
        result = tw.tune("matmul", M=8, N=16, K=4, trials=2, log=log, progress=False)
        assert result.best.ok and len(result.trials) == 2
        (record,) = tw.autotune.pick_best(log)
        assert record.task == "matmul" and record.args["M"] == 8 and record.call.startswith("matmul(M=8, N=16, K=4")
        assert "te.create_schedule" in tw.autotune.report(log)  # the log's name and arguments are enough


class TestLogs:
    @pytest.fixture
    def log(self, tmp_path):
        path = tmp_path / "log.jsonl"
        path.write_text("".join(tuning_logs.line(tuning_logs.plain_task(), n, seconds=s) for n, s in enumerate((3e-3, 1e-3, 2e-3))))
        return path

    def test_load_and_pick(self, log, tmp_path):
        records = tw.autotune.load_log(log)
        assert [r.seconds for r in records] == [3e-3, 1e-3, 2e-3] and records[0].args == [3, 4] and records[0].gflops > 0
        (best,) = tw.autotune.pick_best(log, tmp_path / "best.jsonl")
        assert best.knobs == {"n": 1} and [r.seconds for r in tw.autotune.load_log(tmp_path / "best.jsonl")] == [1e-3]

    def test_merge_and_prune(self, log, tmp_path):
        edit = tw.autotune.merge_logs([log, log], tmp_path / "both.jsonl")
        assert edit["kept"] == 3 and edit["repeated"] == 3 and edit["dropped"] == []
        assert tw.autotune.prune_log(tmp_path / "both.jsonl", keep=2)["worse"] == 1
        assert len(tw.autotune.load_log(tmp_path / "both.jsonl")) == 2

    def test_autotvm(self, log, tmp_path):
        assert tw.autotune.export_autotvm(log, tmp_path / "tvm.log")["kept"] == 3
        assert tw.autotune.import_autotvm(tmp_path / "tvm.log", tmp_path / "back.jsonl")["kept"] == 3
        assert [r.seconds for r in tw.autotune.load_log(tmp_path / "back.jsonl")] == [3e-3, 1e-3, 2e-3]
        with pytest.raises(tw.LogError):
            tw.autotune.import_autotvm(log, tmp_path / "none.jsonl")
        with pytest.raises(tw.ArgumentError, match="task must be"):
            tw.autotune.import_autotvm(log, tmp_path / "none.jsonl", task="dense")

    def test_errors(self, log):
        with pytest.raises(tw.LogError):
            tw.autotune.load_log("/none")
        with pytest.raises(tw.ArgumentError, match="list of paths"):
            tw.autotune.merge_logs(str(log), "x")
        with pytest.raises(tw.ArgumentError, match="keep"):
            tw.autotune.prune_log(log, keep=0)


def test_many_tasks_share_a_budget(tmp_path):
    B = te.placeholder((300,), name="B")
    small = [B, te.compute((300,), lambda i: B[i] * 2, name="S")]
    results = tw.autotune.TaskScheduler([declare(), small], weights=[2, 1]).tune(trials=6, log=tmp_path / "m.jsonl", progress=False)
    assert len(results) == 2 and sum(len(r.trials) for r in results) <= 6 and any(r.best for r in results)
    with pytest.raises(tw.ArgumentError, match="weights"):
        tw.autotune.TaskScheduler([small], weights=[1, 2])
