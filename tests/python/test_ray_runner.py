"""Tuning on the workers of a Ray cluster: a local one of two nodes."""

import importlib
import importlib.util
import os
import secrets
import shutil
import signal
import tempfile
import threading
import time

import pytest
from programs import product

import tensorwright as tw
from tensorwright import te
from tensorwright.autotune import BuildResult, Builder, RayRunner, ray_runner

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="skipped: Ray is not installed (./dev setup --peers)"),
    pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: built without LLVM, where nothing is tuned"),
]


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one CPU, and a head that has none."""
    folder = tempfile.mkdtemp(prefix="ray")  # paths of sockets must be short
    os.environ.update(RAY_TMPDIR=folder, RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_TOKEN=secrets.token_hex(32))
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        add_node(cluster)
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
    cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


def add_node(cluster):
    return cluster.add_node(num_cpus=1, object_store_memory=100 << 20)


@pytest.fixture
def ray(cluster):
    return importlib.import_module("ray")


@pytest.fixture
def runner(ray):
    with RayRunner() as runner:
        yield runner


def tune(task, runner, **options):
    return tw.autotune.tune(task, target="llvm -mcpu=native", runner=runner, progress=False, model=None, **options)


def test_candidates_are_measured_on_two_workers(runner, tmp_path):
    log = tmp_path / "c.jsonl"
    result = tune(product(200, 200, 200), runner, trials=16, log=log)  # operands that go by way of Ray's store
    assert len(result.trials) == 16 and not result.failures and result.best.seconds > 0
    records = tw.autotune.load_log(log)
    assert {r.hardware for r in records} == {runner.machine.hardware} and {r.threads for r in records} == {1}
    again = tune(product(200, 200, 200), runner, trials=16, log=log)
    assert again.measured == 0
    assert tw.build(product(200, 200, 200), target="llvm -mcpu=native", log=log, machine=runner.machine).name


def test_many_tasks_share_them(runner):
    tasks = [tw.autotune.Task(product(n, n, n), target="llvm -mcpu=native") for n in (16, 24)]
    results = tw.autotune.TaskScheduler(tasks).tune(trials=32, model=None, progress=False, runner=runner)
    assert all(result.best.seconds > 0 for result in results)
    with pytest.raises(tw.ArgumentError, match="runner must be a RayRunner"):
        tw.autotune.TaskScheduler(tasks).tune(runner=tw.autotune.Runner())


def test_candidates_are_built_there_too(ray, monkeypatch):
    monkeypatch.setenv("TW_WORKER_BUILD", "/nowhere")  # of this process: nothing is compiled here
    with RayRunner(workers=1, builders=1) as runner:
        result = tune(product(32, 32, 32), runner, trials=16)
    assert len(result.trials) == 16 and not result.failures


def test_a_builder_that_dies_is_not_the_candidates_fault(ray):
    with RayRunner(workers=1, builders=1) as runner:
        session = ray_runner._Session(runner)
        (builder,) = runner._builders
        os.kill(ray.get(builder.__ray_call__.remote(lambda self: os.getpid())), signal.SIGKILL)
        result = tune(product(32, 32, 32), runner, trials=16)
        session.cancel()
        assert session.build(b"", 1) == "cancelled"
    assert len(result.trials) == 16 and not result.failures


class Wrong(Builder):
    def build(self, measure_inputs):
        A = te.placeholder((64,), name="A")
        C = te.compute((64,), lambda i: A[i] * 3, name="C")
        path = f"{self.folder}/wrong.so"
        tw.build(te.create_schedule(C), [A, C], measure_inputs[0].target, "candidate").save(path)
        return [BuildResult(path) for _ in measure_inputs]


def test_outputs_are_checked_there(runner):
    A = te.placeholder((64,), name="A")
    C = te.compute((64,), lambda i: A[i] * 2, name="C")
    with pytest.raises(tw.TuneError, match="wrong_answer"):
        tune([A, C], runner, trials=2, builder=Wrong())


def test_a_worker_that_dies_while_it_is_asked_says_nothing_of_the_target(ray, runner):
    worker = runner._workers[0]
    process = ray.get(worker.__ray_call__.remote(lambda self: os.getpid()))
    worker.__ray_call__.remote(lambda self: time.sleep(60))  # it answers nothing else meanwhile
    threading.Timer(0.5, os.kill, (process, signal.SIGKILL)).start()
    assert ray_runner._Session(runner).why_not("llvm -mcpu=native") == ""


def test_a_worker_that_dies_is_not_the_candidates_fault(ray, runner):
    killed, done = [], threading.Event()

    def kill():
        while not done.wait(0.3) and len(killed) < 4:
            worker = runner._workers[len(killed) % 2]
            try:
                process = ray.get(worker.__ray_call__.remote(lambda self: os.getpid()))
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            except (ray.exceptions.RayError, ProcessLookupError):
                continue  # it is being started again

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        result = tune(product(64, 64, 64), runner, trials=64, number=200, repeat=10)
    finally:
        done.set()
        killer.join()
    assert killed
    assert {t.status for t in result.trials} <= {"ok", "beaten", "device_lost"}, result.failures


def test_a_node_that_dies_is_left_out(cluster, ray):
    ours = ray.get_runtime_context().get_node_id()  # by which this process speaks to the others
    node = next(node for node in cluster.worker_nodes if node.node_id != ours)
    leaves = threading.Timer(1, lambda: cluster.remove_node(node, allow_graceful=False))
    try:
        with RayRunner(timeout=15) as runner:  # a busy machine takes a while to start one
            leaves.start()
            result = tune(product(64, 64, 64), runner, trials=64, number=200, repeat=10)
    finally:
        leaves.join()
        add_node(cluster)
        cluster.wait_for_nodes()  # until the other is known to be dead, too
    assert {t.status for t in result.trials} <= {"ok", "beaten", "device_lost"}, result.failures


def test_a_run_is_repeated_twice(ray, runner, tmp_path):
    class Dying(ray_runner._worker_class()):
        def run(self, *_):
            with open(tmp_path / "runs", "a") as runs:
                runs.write("once\n")
            os._exit(1)

    runner.close()
    runner._workers = [ray.remote(Dying).options(num_cpus=1, max_restarts=-1).remote(1)]
    with pytest.raises(tw.TuneError, match="device_lost"):
        tune(product(8, 8, 8), runner, trials=1)
    assert (tmp_path / "runs").read_text().split() == ["once"] * 3


def test_ctrl_c_ends_it_and_the_workers_go_on(runner):
    task = tw.autotune.Task(product(64, 64, 64), target="llvm -mcpu=native")
    timer = threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell begin with it ignored
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            tw.autotune.tune(task, runner=runner, trials=100_000, number=1000, repeat=100, progress=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(tune(product(16, 16, 16), runner, trials=4).trials) == 4


class Answers:
    """A worker on another machine."""

    def __init__(self, ray, *answer):
        self._ray, self._answer = ray, answer
        self.describe = self

    def remote(self):
        return self._ray.put(self._answer)


def test_machines_that_differ_are_listed(ray, runner):
    mine = runner._workers
    runner._workers = [*mine, Answers(ray, "10.0.0.9", tw.__version__, tw.autotune.Machine("a board", 4))]
    with pytest.raises(tw.TuneError, match=r"machines of its workers differ(.|\n)*a board, 4 threads: 10\.0\.0\.9"):
        tune(product(8, 8, 8), runner, trials=1)
    runner._workers = [Answers(ray, "10.0.0.9", "0.0.1", tw.autotune.Machine("a board", 4))]
    with pytest.raises(tw.TuneError, match=r"host 10\.0\.0\.9 has tensorwright 0\.0\.1, and this is"):
        tune(product(8, 8, 8), runner, trials=1)
    runner._workers = mine


def test_a_host_without_this_package_says_so(ray, tmp_path):
    (tmp_path / "tensorwright.py").write_text("raise ModuleNotFoundError(\"No module named 'tensorwright'\")")
    with pytest.raises(tw.TuneError, match="has no Tensorwright\n(.|\n)*No module named 'tensorwright'"):
        RayRunner(workers=1, runtime_env={"env_vars": {"PYTHONPATH": str(tmp_path)}})


def test_what_cannot_be_is_refused(ray):
    with pytest.raises(tw.TuneError, match=r"no node of the cluster has \{'CPU': 64\}"):
        RayRunner(resources={"CPU": 64})
    with pytest.raises(tw.TuneError, match=r"its 3 workers did not all start within 2 s"):
        RayRunner(workers=3, timeout=2)
    with pytest.raises(tw.ArgumentError, match="to which this program is connected, not '10.0.0.1:6379'"):
        RayRunner("10.0.0.1:6379")
    for bad in ({"workers": 0}, {"threads": True}, {"builders": -1}, {"resources": {"GPU": 1}}, {"resources": 3}):
        with pytest.raises(tw.ArgumentError, match=f"RayRunner: {next(iter(bad))} must be"):
            RayRunner(**bad)
