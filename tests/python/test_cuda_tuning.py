"""Tuning for GPUs: candidates that a driver without a device runs (tests/fake_cuda), each in a worker of its own, and what it says of its faults."""

import json
import subprocess

import pytest

from fake_device import FAKE, has_nvrtc, needs_fake, run

HEAD = """
import json, os
def vectors(n=6000):
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    return [A, B, te.compute((n,), lambda i: A[i] * 2 + B[i], name="C")]

def tuned(tensors, **options):
    options = {"trials": 4, "seed": 1, "log": "t.jsonl", "progress": False, "timeout": 30, **options}
    return tw.autotune.tune(tensors, target="cuda", **options)

def column_sum(rows, columns):
    A, k = te.placeholder((rows, columns), name="A"), te.reduce_axis((0, rows), name="k")
    return [A, te.compute((columns,), lambda j: te.sum(A[k, j], axis=k), name="S")]

@tw.autotune.template
def parts(cfg, rows, columns):
    # the sum of all, by way of those of the rows, which a call keeps in scratch
    A = te.placeholder((rows, columns), name="A")
    k, r = te.reduce_axis((0, columns), name="k"), te.reduce_axis((0, rows), name="r")
    sums = te.compute((rows,), lambda i: te.sum(A[i, k], axis=k), name="sums")
    B = te.compute((1,), lambda _: te.sum(sums[r], axis=r), name="B")
    s = te.create_schedule(B)
    cfg.define_knob("terms", [1, 2, 5, 10, 25])
    cfg.define_knob("threads", [40, 20, 10, 8, 5])
    s[sums].unroll(s[sums].split(k, factor=cfg["terms"].val)[1])
    s[sums].bind(sums.op.axis[0], BLOCK)
    s[B].bind(s[B].split(r, factor=cfg["threads"].val)[1], THREAD)
    return s, [A, B]

def statuses(result):
    return sorted(t.status for t in result.trials)

def lines():
    return [json.loads(line) for line in open("t.jsonl")]
"""


def tune(script, folder, **variables):
    """The script's last error when it fails; it runs in the folder."""
    head = f"import os; os.chdir({str(folder)!r})\n" + HEAD
    return run(head + "\n" + script, TW_CACHE_DIR=str(folder / "cache"), **variables)


@needs_fake
class TestTuning:
    def test_from_tensors_to_the_best_of_the_log(self, tmp_path):
        tune("""
result = tuned(vectors(), trials=6)
assert {t.status for t in result.trials} <= {"ok", "beaten"} and result.best.ok
assert all(t.seconds > 0 for t in result.trials)
assert {(line["target"], line["threads"], line["hardware"]) for line in lines()} == {("cuda -arch=sm_90a", 1, "Fake GPU, 132 processors, 1.0 GiB")}
assert all(line["check"]["passed"] for line in lines() if line["result"]["status"] == "ok")

again = tuned(vectors(), trials=6)
assert again.measured == 0 and again.best.index == result.best.index
f = tw.build(tw.autotune.Task(vectors(), target="cuda"), log="t.jsonl")
assert f.source("cuda") == tw.build(vectors(), target="cuda", log="t.jsonl").source("cuda") == result.build().source("cuda")
a, c = tw.device_array(random(6000)), tw.device_array(random(6000))
f(a, a, c)
assert (c.numpy() == 3 * random(6000)).all()
page = result.report()
assert "cuda -arch=sm_90a, Fake GPU, 132 processors" in page and "of memory bandwidth" in page and "occupancy" in page and "__global__" in page
assert "occupancy" in tw.autotune.report("t.jsonl", task=tw.autotune.Task(vectors(), target="cuda"))
""", tmp_path)

    def test_a_full_disk_leaves_the_log_whole(self, tmp_path):
        made = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
        if made.returncode != 0:
            pytest.skip(f"skipped: no file system of its own: {made.stderr.strip()}")
        tune("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_PRIVATE_ALL, MS_REMOUNT = 0x20000, 0x44000, 32
os.mkdir("disk")
assert libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, MS_PRIVATE_ALL, None) == 0
assert libc.mount(b"tmpfs", b"disk", b"tmpfs", 0, b"size=8k") == 0
os.chdir("disk")
os.environ["TW_CACHE_DIR"] = os.getcwd() + "/cache"
try:
    tuned(vectors(), trials=8)
    assert False
except tw.LogError as error:
    assert "t.jsonl cannot be written: No space left on device" in str(error), error
    assert "what was written before is intact" in str(error)
kept = len(lines())
assert libc.mount(b"tmpfs", os.getcwd().encode(), b"tmpfs", MS_REMOUNT, b"size=1m") == 0
result = tuned(vectors(), trials=8)
assert result.best.ok and kept > 0 and result.measured == 8 - kept, (kept, result.measured)
""", tmp_path)

    @pytest.mark.parametrize("made", ["row_sum(9, 200)", "product(40, 36, 24)", "column_sum(2000, 40)"])
    def test_reductions_and_products(self, made, tmp_path):
        tune(f"""
tensors = {made}[1] if {made!r}.startswith("row") else list({made})
result = tuned(tensors, trials=3)
assert result.best.ok, result.trials
""", tmp_path)

    def test_a_template_of_ones_own(self, tmp_path):
        tune("""
@tw.autotune.template
def scale(cfg, n):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 3, name="B")
    s = te.create_schedule(B)
    cfg.define_knob("threads", [32, 64, 128])
    bx, tx = s[B].split(B.op.axis[0], factor=cfg["threads"].val)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(tx, te.thread_axis("threadIdx.x"))
    return s, [A, B]

result = tw.autotune.tune(tw.autotune.Task(scale, (4000,), target="cuda"), trials=3, log="t.jsonl", progress=False)
assert result.best.ok and result.failures == [] and len(result.trials) == 3
""", tmp_path)

    def test_a_worker_serves_candidates_while_nothing_is_wrong(self, tmp_path):
        trace, once = tmp_path / "trace", tmp_path / "once"
        tune("assert tuned(vectors(), trials=8).failures == []", tmp_path, FAKE_CUDA_TRACE=str(trace))
        assert len({line.split()[0] for line in trace.read_text().splitlines()}) == 1
        trace.unlink(), once.touch()
        tune("assert len(tuned(vectors(), trials=8, log='u.jsonl').failures) == 1", tmp_path, FAKE_CUDA_TRACE=str(trace), FAKE_CUDA_FAULT="illegal",
             FAKE_CUDA_ONCE=str(once))
        assert len({line.split()[0] for line in trace.read_text().splitlines()}) == 2

    def test_timed_calls_take_other_copies_of_the_arguments(self, tmp_path):
        trace = tmp_path / "trace"
        tune("""
result = tuned(vectors(3000), trials=1, number=40, repeat=3)
assert result.best.ok and result.best.runs == 3
""", tmp_path, FAKE_CUDA_TRACE=str(trace))
        launches = [line.split() for line in trace.read_text().splitlines()]
        first = [where for process, where in launches if process == launches[0][0]]
        assert len(set(first)) >= 4 + 1  # of 36 KiB each, for an L2 of 64 KiB; and at the other end of its pages, for the last run
        assert max(map(first.count, first)) < len(first) / 2

    def test_checked_runs_have_a_fence_at_one_end_and_at_the_other(self, tmp_path):
        trace, page, argument = tmp_path / "trace", 4096, 12000
        tune("assert tuned(vectors(3000), trials=1, number=1, repeat=1).best.ok", tmp_path, FAKE_CUDA_TRACE=str(trace))
        launches = [line.split() for line in trace.read_text().splitlines()]
        where = [int(where, 16) for process, where in launches if process == launches[0][0]]
        assert -(where[0] + argument) % page < 256 and where[-1] % page == 0

    def test_large_arguments_are_looked_at_on_the_device(self, tmp_path):
        """By kernels of their own: a measured run launches the candidate, and what compares and digests."""
        trace = tmp_path / "trace"
        tune("assert tuned(vectors(1 << 18), trials=1, number=1, repeat=1).best.ok", tmp_path, FAKE_CUDA_TRACE=str(trace))
        assert len(trace.read_text().splitlines()) >= 3 * (3 + 3 + 2 * 2)  # measurements: runs, comparisons, digests of two inputs before and after

    def test_large_arguments_are_brought_once(self, tmp_path):
        uploads = tmp_path / "uploads"
        tune("assert tuned(vectors(1 << 18), trials=6).failures == []", tmp_path, FAKE_CUDA_UPLOADS=str(uploads))
        lines = [tuple(map(int, line.split())) for line in uploads.read_text().splitlines()]
        brought = [process for process, size in lines if size == 4 << 18]
        assert max(map(brought.count, brought)) == 3  # two inputs and the reference, for all candidates of a worker

    @pytest.mark.parametrize("kib", [5000, 9000])
    def test_what_helps_to_measure_needs_no_memory_of_the_candidate(self, kib, tmp_path):
        """Inputs that are kept, references and digests on the device: a right candidate is right where there is room for it alone."""
        tune("assert tuned(vectors(1 << 18), trials=1, number=1, repeat=1).failures == []", tmp_path, FAKE_CUDA_BYTES=str(kib << 10))

    def test_inputs_that_are_kept_give_way_to_arguments(self, tmp_path):
        """One that is small enough to be kept beside another that is not: 1 and 6 of 9.8 MiB, and a result of 1."""
        tune("""
A, B = te.placeholder((1, 1 << 18), name="A"), te.placeholder((6, 1 << 18), name="B")
tensors = [A, B, te.compute((1, 1 << 18), lambda i, j: A[i, j] + B[i, j], name="C")]
assert tuned(tensors, trials=1, number=1, repeat=1).failures == []
""", tmp_path, FAKE_CUDA_BYTES=str(10000 << 10))

    @pytest.mark.parametrize("kib", [11000, 9000])
    def test_what_is_kept_gives_way_to_scratch(self, kib, tmp_path):
        """Of 10.7 MiB two arguments, the input that is kept and the reference have 1.1 each, and scratch takes 6; of 8.8 nor has the reference room."""
        tune("""
A = te.placeholder((1 << 18,), name="A")
T = te.compute((6, 1 << 18), lambda i, j: A[j] * i, name="T")
C = te.compute((1 << 18,), lambda j: T[0, j] + T[5, j], name="C")
@tw.autotune.template
def twice(cfg):
    s = te.create_schedule(C)
    cfg.define_knob("unused", [0, 1])
    for stage in (T, C):
        bx, tx = s[stage].split(s[stage].fuse(*stage.op.axis), factor=256)
        s[stage].bind(bx, BLOCK)
        s[stage].bind(tx, THREAD)
    return s, [A, C]

result = tuned(tw.autotune.Task(twice, (), target="cuda"), trials=1, number=1, repeat=1)
assert result.failures == [], result.failures
""", tmp_path, FAKE_CUDA_BYTES=str(kib << 10))

    def test_a_driver_without_tensor_maps(self, tmp_path):
        """Which is older than those, and no device that was lost."""
        driver = tmp_path / "libcuda.so"
        driver.write_bytes(FAKE.read_bytes().replace(b"cuTensorMapEncodeTiled", b"cuTensorMapEncodeTile_"))
        tune("""
@tw.autotune.template
def boxes(cfg):
    A, B, C = product(64, 64, 64)
    s, AA, BB, CC, ko, ki = tiled(A, B, C, 32, 8, 16)
    cfg.define_knob("unused", [0, 1])
    s[CC].pipeline(ko, stages=2, by="tma")
    return s, [A, B, C]

text = refusal(tuned, tw.autotune.Task(boxes, (), target="cuda"))
assert "the driver knows no tensor maps, which copies of boxes need: one of CUDA 12.0 or newer does" in text and "lost" not in text, text
""", tmp_path, TW_CUDA_DRIVER=str(driver))

    def test_a_driver_that_does_not_take_the_code(self, tmp_path):
        if not has_nvrtc(tmp_path / "cache"):
            pytest.skip("skipped: no NVRTC (pip install nvidia-cuda-nvrtc)")
        tune("""
text = refusal(tuned, vectors(), trials=1)
assert "CUDA_ERROR_NO_BINARY_FOR_GPU" in text and "the driver (CUDA 13.0) may be older than the compiler: tw doctor shows both" in text, text
""", tmp_path, TW_CUDA_IMAGES="")

    def test_a_machine_without_a_gpu(self, tmp_path):
        tune("""
text = refusal(tw.autotune.tune, vectors(), target="cuda -arch=sm_90a", progress=False)
assert "tuning for cuda -arch=sm_90a measures on a GPU, and this machine has none" in text and "CUDA_ERROR_NO_DEVICE" in text, text
assert "tw tune --pack" in text and "tw-measure" in text, text
""", tmp_path, FAKE_CUDA_DEVICES="0")

    def test_code_for_another_gpu(self, tmp_path):
        tune("""
text = refusal(tw.autotune.tune, vectors(), target="cuda -arch=sm_90a", progress=False)
assert "cannot run code for cuda -arch=sm_90a" in text and "its GPU is sm_80" in text, text
""", tmp_path, FAKE_CUDA_CAPABILITY="8.0")

    def test_a_runner_of_ones_own_is_for_the_cpu(self, tmp_path):
        tune("""
text = refusal(tw.autotune.tune, vectors(), target="cuda", progress=False, runner=tw.autotune.Runner())
assert "cannot run code for cuda" in text and "it is a CPU" in text, text
""", tmp_path)

    def test_machines_of_a_ray_cluster_measure_on_their_cpus(self, tmp_path):
        tune("""
from tensorwright import _core
assert _core.why_not_here("cuda -arch=sm_90a") == "it is a CPU"
""", tmp_path)

    def test_no_compiler(self, tmp_path):
        tune("""
text = refusal(tw.autotune.tune, vectors(), target="cuda", progress=False)
assert "pip install nvidia-cuda-nvrtc" in text, text
""", tmp_path, TW_CUDA_IMAGES="", TW_NVRTC="/nowhere/libnvrtc.so")

    def test_no_memory_for_the_arguments(self, tmp_path):
        tune("""
text = refusal(tuned, vectors())
assert "there is no memory for an argument of 24000 bytes" in text, text
""", tmp_path, FAKE_CUDA_BYTES="100000")


@needs_fake
class TestFaults:
    """One candidate has the fault, which costs its own time only."""

    def fault(self, kind, tmp_path, script, **variables):
        once = tmp_path / "once"
        once.touch()
        tune(script, tmp_path, FAKE_CUDA_FAULT=kind, FAKE_CUDA_ONCE=str(once), **variables)
        assert not once.exists()

    def test_an_illegal_address(self, tmp_path):
        self.fault("illegal", tmp_path, """
result = tuned(vectors())
(failed,) = result.failures
assert failed.status == "crashed" and "CUDA_ERROR_ILLEGAL_ADDRESS" in failed.detail and result.best.ok
""")

    def test_a_launch_that_never_ends(self, tmp_path):
        self.fault("hang", tmp_path, """
result = tuned(vectors(), timeout=5)
(failed,) = result.failures
assert failed.status == "timeout" and "did not end within 5" in failed.detail and result.best.ok
""")

    def test_a_write_outside(self, tmp_path):
        self.fault("outside", tmp_path, """
result = tuned(vectors())
(failed,) = result.failures
assert failed.status == "wrong_answer" and "memory outside it was written, 1 bytes before its first" in failed.detail and result.best.ok
""")

    @pytest.mark.parametrize("n", [6000, 1 << 18])
    def test_a_write_into_an_input(self, n, tmp_path):
        """Of which the host has a digest, or the device."""
        self.fault("input", tmp_path, f"""
result = tuned(vectors({n}))
(failed,) = result.failures
assert failed.status == "wrong_answer" and "argument 1 (A)" in failed.detail and "input" in failed.detail and result.best.ok, failed
""")

    def test_a_gpu_that_is_lost_and_comes_back(self, tmp_path):
        self.fault("lost", tmp_path, """
result = tuned(vectors())
assert result.failures == [] and result.best.ok and len(lines()) >= 4
""")

    def test_a_gpu_that_stays_lost(self, tmp_path):
        tune("""
text = refusal(tuned, vectors())
assert "device_lost" in text and "the GPU was lost (cuda:0, a Fake GPU): CUDA_ERROR_DEVICE_UNAVAILABLE" in text, text
assert {line["result"]["status"] for line in lines()} == {"device_lost"}
""", tmp_path, FAKE_CUDA_FAULT="lost")

    def test_a_gpu_that_goes_while_scratch_is_allocated(self, tmp_path):
        tune("""
gone = os.environ["FAKE_CUDA_GONE"]
task = tw.autotune.Task(parts, (40, 50), target="cuda")
refusal(tuned, task, callbacks=[lambda *_: open(gone, "w").close()], trials=20)
kept = lines()
assert kept and {line["result"]["status"] for line in kept} <= {"ok", "beaten", "device_lost"}, [line["result"] for line in kept]
os.unlink(gone)
result = tuned(task, trials=20)
assert result.failures == [] and len(result.trials) == 20, (result.failures, len(result.trials))
""", tmp_path, FAKE_CUDA_GONE=str(tmp_path / "gone"))

    def test_a_gpu_that_goes_in_the_middle(self, tmp_path):
        gone = tmp_path / "gone"
        tune("""
gone = os.environ["FAKE_CUDA_GONE"]
tensors = list(product(40, 36, 24))
text = refusal(tuned, tensors, callbacks=[lambda *_: open(gone, "w").close()], trials=20)
assert "a worker process could not begin" in text and "CUDA_ERROR_NO_DEVICE" in text, text
kept = len(lines())
assert kept == 16
os.unlink(gone)
result = tuned(tensors, trials=20)
assert result.measured == 4 and result.best.ok
""", tmp_path, FAKE_CUDA_GONE=str(gone))


@needs_fake
def test_what_spills_never_runs(tmp_path):
    if not has_nvrtc(tmp_path / "cache"):
        pytest.skip("skipped: no NVRTC (pip install nvidia-cuda-nvrtc)")
    tune("""
@tw.autotune.template
def sums(cfg, n):
    A = te.placeholder((512, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    B = te.compute((512, 512), lambda i, j: te.sum(A[i, k] * A[j, k], axis=k), name="B")
    s = te.create_schedule(B)
    C = s.cache_write(B, "local")
    by, bx, yi, xi = s[B].tile(B.op.axis[0], B.op.axis[1], 20, 20)
    s[B].bind(by, te.thread_axis("blockIdx.y"))
    s[B].bind(bx, te.thread_axis("threadIdx.x"))
    s[C].compute_at(s[B], bx)
    for axis in C.op.axis:
        s[C].unroll(axis)
    s[C].reorder(C.op.reduce_axis[0], *C.op.axis)
    cfg.define_knob("unused", [0, 1])
    return s, [A, B]

text = refusal(tw.autotune.tune, tw.autotune.Task(sums, (64,), target="cuda"), trials=1, progress=False, log="t.jsonl", timeout=100)
assert "spills: tw_candidate_0 has too few registers" in text, text
(line,) = lines()
assert line["result"]["status"] == "spills" and line["result"]["seconds"] == 0
""", tmp_path, TW_CUDA_IMAGES="")
