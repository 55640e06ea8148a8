"""Templates, spaces, tuning and history through the Python API."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(tw.Target.current().kind != "llvm", reason="built without LLVM: nothing to measure")


def declare(M, N, K):
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return A, B, k, C


@tw.autotune.template("test_matmul")
def matmul(cfg, M, N, K):
    A, B, k, C = declare(M, N, K)
    s = te.create_schedule(C)
    i, j = s[C].op.axis
    cfg.define_split("tile_i", i, num_outputs=2, max_factor=8)
    cfg.define_split("tile_j", j, num_outputs=2, max_factor=32)
    io, ii = cfg["tile_i"].apply(s, C, i)
    jo, ji = cfg["tile_j"].apply(s, C, j)
    s[C].reorder(io, jo, k, ii, ji)
    s[C].vectorize(ji)
    cfg.define_annotate("rows", [ii], policy="try_unroll")
    cfg["rows"].apply(s, C, [ii])
    return s, [A, B, C]


def small_task():
    return tw.autotune.Task(matmul, args=(17, 33, 9))


@pytest.fixture
def log(tmp_path):
    return str(tmp_path / "log.jsonl")


def tune(task, log, trials=8, **options):
    return tw.autotune.tune(task, trials=trials, log=log, progress=False, **options)


def check(f):
    a, b = np.random.default_rng(0).standard_normal((17, 9), "float32"), np.random.default_rng(1).standard_normal((9, 33), "float32")
    c = np.empty((17, 33), "float32")
    f(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    return c


class TestSpace:
    def test_length_print_and_candidates(self):
        space = small_task().space
        assert len(space) == len(list(space)) > 100
        assert "tile_i: split of i" in str(space)
        candidate = space[len(space) - 1]
        assert set(candidate.knobs) == {"tile_i", "tile_j", "rows"}
        assert space[-1] == candidate and space.get(0).index == 0
        schedule, tensors = candidate.instantiate()
        assert candidate.steps == schedule.steps and len(tensors) == 3
        with pytest.raises(IndexError):
            space[len(space)]

    def test_non_dividing_factors_are_part_of_it(self):
        tiles = {tuple(c.knobs["tile_j"]) for c in small_task().space}
        assert (3, 16) in tiles and (3, 11) in tiles

    def test_options_of_define_split(self):
        def f(cfg):
            A = te.placeholder((100,), name="A")
            B = te.compute((100,), lambda i: A[i] + 1, name="B")
            s = te.create_schedule(B)
            i = s[B].op.axis[0]
            cfg.define_split("p", i, 2, policy="power2", max_factor=16)
            cfg.define_split("v", i, num_outputs=3, policy="verbose", filter=lambda x: x.size[-1] == 7)
            cfg.define_split("c", i, 2, policy="candidate", candidate=[[-1, 8], [25, 4]], tails=["mask", "peel"])
            assert cfg["p"].size[-1] == 1
            cfg["c"].apply(s, B, i)
            return s, [A, B]

        task = tw.autotune.Task(f, ())
        knobs = [c.knobs for c in task.space]
        assert {k["p"][1] for k in knobs} == {1, 2, 4, 8, 16}
        assert {k["v"][2] for k in knobs} == {7}
        assert {json.dumps(k["c"]) for k in knobs} == {
            '{"size": [13, 8], "tail": "mask"}', '{"size": [13, 8], "tail": "peel"}', '{"size": [25, 4], "tail": "mask"}'}
        assert task.branching

    def test_knobs_of_every_kind(self, log):
        @tw.autotune.template("test_kinds")
        def kinds(cfg, n):
            A = te.placeholder((n, n), name="A")
            B = te.compute((n, n), lambda i, j: A[j, i] * 2, name="B")
            s = te.create_schedule(B)
            i, j = s[B].op.axis
            cfg.define_knob("factor", [4, 8, 12])
            cfg.define_knob("parallel", [False, True])
            io, ii = s[B].split(i, factor=cfg["factor"].val)
            cfg.define_reorder("order", [io, j], policy="all")
            order = cfg["order"].apply(s, B, [io, j])
            assert len(order) == 2
            if cfg["parallel"].val:
                s[B].parallel(order[0])
            return s, [A, B]

        task = tw.autotune.Task(kinds, (30,))
        assert task.branching and len(task.space) == 12
        result = tune(task, log, trials=50)
        assert len(result.trials) == 12 and not result.failures
        assert {len(c.steps) for c in task.space} == {2, 3}

    def test_a_factor_that_is_a_knob_does_not_branch(self):
        def f(cfg, n):
            A = te.placeholder((n,), name="A")
            B = te.compute((n,), lambda i: A[i] * 2, name="B")
            s = te.create_schedule(B)
            cfg.define_knob("factor", [4, 8, 16])
            s[B].split(s[B].op.axis[0], factor=cfg["factor"].val)
            return s, [A, B]

        task = tw.autotune.Task(f, (30,))
        assert not task.branching
        assert [c.steps[0][3] for c in task.space] == [4, 8, 16]


class TestTune:
    def test_tunes_records_and_builds(self, log):
        result = tune(small_task(), log, trials=12)
        assert len(result.trials) == len(result.curve) == 12 and result.measured == 12
        assert result.failures == [] and result.best.ok and result.best.gflops > 0
        assert result.curve == sorted(result.curve, reverse=True)
        check(tw.build(small_task(), log=log))
        kinds = [json.loads(line)["kind"] for line in open(log)]
        assert kinds.count("trial") == 12 and kinds.count("confirm") > 0

    @pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=native"])
    def test_whole_numbers_of_sums_that_are_reordered(self, target):
        """Thousands of them: in some the last bit of a sum, or of a product that a target fuses, decides."""
        A, k, j = te.placeholder((4096, 300), name="A"), te.reduce_axis((0, 300), name="k"), te.reduce_axis((0, 300), name="j")
        total = te.compute((4096,), lambda i: te.sum(A[i, k], axis=k), name="total")
        whole = te.compute((4096,), lambda i: (total[i] * 1000.0 + 0.5).astype("int32"), name="whole")
        size = te.compute((4096,), lambda i: te.sum(te.abs(A[i, j]), axis=j), name="size")
        steps = te.compute(A.shape, lambda i, j: te.nearbyint(A[i, j] / size[i] * 30000.0) * size[i], name="steps")
        for outputs in ([A, whole], [A, steps]):
            result = tw.autotune.tune(tw.autotune.Task(outputs, target=target), trials=12, progress=False)
            assert result.failures == []

    def test_continues_and_never_measures_twice(self, log):
        tune(small_task(), log, trials=6)
        more = tune(small_task(), log, trials=10)
        assert more.measured == 4 and len(more.trials) == 10
        again = tune(small_task(), log, trials=10)
        assert again.measured == 0 and again.best.knobs == more.best.knobs
        knobs = [json.dumps(json.loads(line)["knobs"]) for line in open(log) if '"kind":"trial"' in line]
        assert len(knobs) == len(set(knobs)) == 10

    @pytest.mark.parametrize("search", ["random", "grid", "evolutionary"])
    @pytest.mark.parametrize("model", [None, "auto"])
    def test_searches_and_models(self, log, search, model):
        assert len(tune(small_task(), log, trials=4, search=search, model=model).trials) == 4

    def test_callbacks_and_early_stop(self, log):
        seen = []
        tune(small_task(), log, trials=40, early_stop=5, callbacks=[lambda tuner, inputs, results: seen.append((tuner, inputs, results))])
        tuner, inputs, results = seen[-1]
        assert len(tuner.trials) < 40 and tuner.best.ok
        assert len(inputs) == len(results) and results[0].costs[0] > 0 and results[0].error_no == 0
        assert inputs[0].config.knobs

    def test_an_exception_in_a_callback_ends_tuning_and_keeps_the_log(self, log):
        with pytest.raises(ZeroDivisionError):
            tune(small_task(), log, trials=40, callbacks=[lambda *_: 1 / 0])
        assert sum(1 for _ in open(log)) > 0

    def test_number_and_repeat(self, log):
        assert tune(small_task(), log, trials=2, number=3, repeat=4).best.runs > 0

    def test_a_progress_bar_is_shown(self, log, capfd):
        tw.autotune.tune(small_task(), trials=2, log=log)
        assert "best" in capfd.readouterr().err


class TestHistory:
    def test_apply_history_best(self, log):
        result = tune(small_task(), log)
        with tw.autotune.apply_history_best(log):
            s, args = matmul(17, 33, 9)
        assert s.steps == result.best.steps
        check(tw.build(s, args))

    def test_equal_bits_in_a_second_process_without_measuring(self, log, tmp_path):
        tune(small_task(), log)
        expected = check(tw.build(small_task(), log=log))
        code = f"""
            import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})
            import test_autotune as t, tensorwright as tw
            sys.stdout.buffer.write(t.check(tw.build(t.small_task(), log={log!r})).tobytes())
        """
        done = run_python(code, TW_MEASURE="forbid")
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout == expected.tobytes()

    def test_no_record(self, log):
        tune(small_task(), log, trials=2)
        with tw.autotune.apply_history_best(log), pytest.raises(tw.NoRecord, match=r"test_matmul\(4, 5, 6\)") as e:
            matmul(4, 5, 6)
        assert "tw.autotune.tune(" in str(e.value) and "(4, 5, 6)" in str(e.value) and isinstance(e.value, LookupError)
        with tw.autotune.apply_history_best(log), tw.Target("llvm -mcpu=x86-64-v2"), pytest.raises(tw.NoRecord, match="another target"):
            matmul(17, 33, 9)

    def test_logs_that_cannot_be_used(self, tmp_path, log):
        with pytest.raises(tw.LogError, match="no tuning log"):
            tw.build(small_task(), log=log)
        foreign = tmp_path / "foreign.json"
        foreign.write_text('{"hello": 1}\n')
        for use in (lambda: tw.build(small_task(), log=str(foreign)), lambda: tune(small_task(), str(foreign)),
                    lambda: tw.autotune.apply_history_best(str(foreign)).__enter__()):
            with pytest.raises(tw.LogError, match="not a tuning log"):
                use()
        assert foreign.read_text() == '{"hello": 1}\n'
        (tmp_path / "newer.jsonl").write_text('{"tensorwright":99,"kind":"trial"}\n')
        with pytest.raises(tw.LogError, match="newer"):
            tw.build(small_task(), log=str(tmp_path / "newer.jsonl"))

    def test_the_line_of_a_bad_log_is_the_users(self, tmp_path):
        for log in (str(tmp_path / "missing.jsonl"), 3):
            with pytest.raises(tw.LogError) as error, tw.autotune.apply_history_best(log):
                pass
            assert error.value.file == __file__

    def test_a_truncated_log_loses_its_last_line_only(self, log):
        tune(small_task(), log, trials=5)
        text = open(log).read()
        open(log, "w").write(text[:-30])
        check(tw.build(small_task(), log=log))

    def test_building_a_task_needs_a_log(self):
        with pytest.raises(tw.TuneError, match="log="):
            tw.build(small_task())


class TestRefusals:
    @pytest.mark.parametrize("options", [dict(trials=0), dict(trials=-3), dict(trials=2.5), dict(early_stop=0), dict(timeout=0),
                                         dict(timeout="a"), dict(number=0), dict(repeat=-1), dict(seed=-1), dict(model=3),
                                         dict(callbacks=3), dict(callbacks=[3]), dict(log=3)])
    def test_bad_options(self, log, options):
        with pytest.raises(tw.Error, match=next(iter(options))):
            tw.autotune.tune(small_task(), **{"trials": 4, "log": log, "progress": False, **options})

    def test_unknown_search_and_model(self, log):
        with pytest.raises(tw.TuneError, match="evolutionary"):
            tune(small_task(), log, search="magic")
        with pytest.raises(tw.TuneError, match="xgb"):
            tune(small_task(), log, model="forest")

    def test_forbidden(self, log, monkeypatch):
        monkeypatch.setenv("TW_MEASURE", "forbid")
        with pytest.raises(tw.TuneError, match="forbid"):
            tune(small_task(), log)

    @pytest.mark.parametrize("value", [None, 3, (1, 2), ("s", []), (te, [1])])
    def test_a_template_that_returns_nonsense(self, value):
        with pytest.raises(tw.TuneError, match="must return"):
            tw.autotune.Task(lambda cfg: value, ())

    def test_a_template_that_raises(self):
        def broken(cfg, n):
            raise KeyError("no such thing")

        with pytest.raises(tw.TuneError, match="broken raised KeyError") as e:
            tw.autotune.Task(broken, (3,))
        assert isinstance(e.value.__cause__, KeyError)

    def test_a_template_that_is_not_deterministic(self):
        count = iter(range(4, 100))

        def unsteady(cfg):
            n = next(count)
            A = te.placeholder((n,), name="A")
            B = te.compute((n,), lambda i: A[i] + 1, name="B")
            return te.create_schedule(B), [A, B]

        with pytest.raises(tw.TuneError, match="same schedule each time"):
            tw.autotune.Task(unsteady, ())

    def test_a_schedule_error_in_a_template_is_the_users(self):
        def illegal(cfg):
            A, B, k, C = declare(4, 4, 4)
            s = te.create_schedule(C)
            s[C].parallel(k)
            return s, [A, B, C]

        with pytest.raises(tw.ScheduleError, match="test_autotune.py"):
            tw.autotune.Task(illegal, ())

    def test_every_candidate_refused(self, log):
        def f(cfg, n):
            A, B, k, C = declare(n, n, n)
            s = te.create_schedule([C])
            AA = s.cache_read(A, "local", [C])
            i, j = s[C].op.axis
            s[C].reorder(k, i, j)
            cfg.define_split("t", j, 2)
            jo, ji = cfg["t"].apply(s, C, j)
            s[C].vectorize(i)
            s[C].vectorize(ji)
            s[C].parallel(jo)
            return s, [A, B, C]

        with pytest.raises(tw.Error):
            tune(tw.autotune.Task(f, (8,)), log)

    def test_every_candidate_failed_the_last_time(self, log):
        class Never(tw.autotune.Runner):
            def run(self, inputs, built):
                return [tw.autotune.MeasureResult([float("nan")]) for _ in built]

        for _ in range(2):
            with pytest.raises(tw.TuneError, match="every candidate failed: 2 were measured"):
                tw.autotune.tune(tw.autotune.Task.stock("matmul", {"M": 4, "N": 4, "K": 4}), trials=2, log=log, runner=Never(), progress=False)

    def test_arguments_that_no_memory_holds(self, log):
        n = 10**6
        A = te.placeholder((n, n), name="A")
        B = te.compute((n, n), lambda i, j: A[i, j] + 1.0, name="B")
        with pytest.raises(tw.TuneError, match="arguments take .* MB, three times at once, and this machine has .* MB"):
            tw.autotune.tune([A, B], trials=2, log=log, progress=False)

    def test_a_full_disk_is_no_candidates_fault(self, log, tmp_path):
        made = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
        if made.returncode != 0:
            pytest.skip(f"skipped: no file system of its own: {made.stderr.strip()}")
        (tmp_path / "disk").mkdir()
        full = 'mount -t tmpfs -o size=64k tmpfs "$1" && (cat /dev/zero > "$1/full" || true) 2>/dev/null && TMPDIR="$1" exec "$2" -c "$3"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", full, "-", tmp_path / "disk", sys.executable, script(log, 4)],
                              capture_output=True, text=True, timeout=300)
        assert f"no room for candidates in {tmp_path}/disk" in done.stderr, done.stderr
        assert "TMPDIR" in done.stderr and not open(log).read()

    @pytest.mark.parametrize("args", [5, "abc", (object(),), (float("nan"),)])
    def test_bad_arguments(self, args):
        with pytest.raises(tw.TuneError, match="args"):
            tw.autotune.Task(matmul, args=args)

    def test_unknown_template_and_knob(self):
        with pytest.raises(tw.TuneError, match="test_matmul"):
            tw.autotune.Task("no_such", ())
        with pytest.raises(tw.TuneError, match="no knob"):
            tw.autotune.Task(lambda cfg: cfg["none"], ())

    def test_interp_cannot_be_tuned(self, log):
        with pytest.raises(tw.TuneError, match="llvm"):
            tune(tw.autotune.Task(matmul, (4, 4, 4), target="interp"), log)


SCRIPT = """
import tensorwright as tw
from tensorwright import te

def scale(cfg, n):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2 + 1, name="B")
    s = te.create_schedule(B)
    i, = s[B].op.axis
    cfg.define_split("a", i, num_outputs=3, policy="verbose")
    io, im, ii = cfg["a"].apply(s, B, i)
    s[B].vectorize(ii)
    return s, [A, B]

task = tw.autotune.Task(scale, (1000,))
print("ready", flush=True)
result = tw.autotune.tune(task, trials=TRIALS, log=LOG, progress=False)
print(len(result.trials), result.best.ok)
"""


def script(log, trials):
    return SCRIPT.replace("TRIALS", str(trials)).replace("LOG", repr(log))


def run_python(code, **environment):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, env={**os.environ, **environment}, timeout=300)


def alive(pid):
    """Whether a process exists and is more than a zombie that nobody has asked for."""
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def workers_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = open(f"/proc/{entry}/stat").read()
            except OSError:
                continue
            name, rest = fields[fields.index("(") + 1 : fields.rindex(")")], fields[fields.rindex(")") + 2 :].split()
            if name.startswith("tw-worker") and int(rest[1]) == pid and rest[0] != "Z":
                found.append(int(entry))
    return found


def start(log, trials):
    # Background jobs of a shell begin with SIGINT ignored, and so do their children.
    listen = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    # Its folder stays where it is killed, so that is beside the log.
    process = subprocess.Popen([sys.executable, "-c", listen + script(log, trials)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "TMPDIR": os.path.dirname(log)})
    deadline = time.time() + 60
    while time.time() < deadline and not (os.path.exists(log) and sum(1 for _ in open(log)) >= 5):
        time.sleep(0.02)
    return process


def test_a_template_may_keep_its_config():
    kept = []

    def template(cfg):
        kept.append(cfg)
        cfg.define_knob("unroll", [1, 2])
        A = te.placeholder((64,), name="A")
        B = te.compute((64,), lambda i: A[i] + 1, name="B")
        return te.create_schedule(B), [A, B]

    tw.autotune.Task(template, ())
    assert kept and all(cfg["unroll"].val in (1, 2) for cfg in kept)


class TestProcesses:
    def test_python_c_and_a_script_without_a_main_guard(self, log, tmp_path):
        done = run_python(script(log, 4))
        assert done.stdout.split() == [b"ready", b"4", b"True"], done.stderr.decode()
        path = tmp_path / "script.py"
        path.write_text(script(log, 6))
        done = subprocess.run([sys.executable, str(path)], capture_output=True, timeout=300)
        assert done.stdout.split() == [b"ready", b"6", b"True"], done.stderr.decode()

    def test_what_the_handler_of_a_signal_raises_is_raised(self, log):
        begin = time.time()
        done = run_python(textwrap.dedent("""
            import signal
            def late(*_):
                raise TimeoutError("enough")
            signal.signal(signal.SIGALRM, late)
            signal.alarm(2)
            """) + script(log, 100000))
        assert b"TimeoutError: enough" in done.stderr and b"KeyboardInterrupt" not in done.stderr and time.time() - begin < 30

    def test_ctrl_c_keeps_what_was_measured_and_leaves_no_process(self, log):
        process = start(log, 100000)
        workers = workers_of(process.pid)
        begin = time.time()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert b"KeyboardInterrupt" in err and time.time() - begin < 5
        assert workers and not any(map(alive, workers))
        kept = [json.loads(line) for line in open(log)]
        assert len(kept) >= 5 and all(r["tensorwright"] == 1 for r in kept)

    def test_kill_9_and_resume(self, log):
        process = start(log, 100000)
        workers = workers_of(process.pid)
        process.kill()
        process.communicate()
        time.sleep(0.5)
        assert workers and not any(map(alive, workers))
        folder = os.path.dirname(log)
        assert any(name.startswith("tensorwright-") for name in os.listdir(folder))
        done = run_python(script(log, sum(1 for _ in open(log)) + 5), TMPDIR=folder)
        assert done.returncode == 0, done.stderr.decode()
        assert not any(name.startswith("tensorwright-") for name in os.listdir(folder)), "who comes next removes it"
        knobs = [json.dumps(json.loads(line)["knobs"]) for line in open(log) if '"kind":"trial"' in line and line.endswith("}\n")]
        assert len(knobs) == len(set(knobs))
