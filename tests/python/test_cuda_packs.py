"""Tuning for a GPU by file: candidates are packed here, where none is, and measured by tw-measure, which has a driver without a device."""

import json
import pathlib
import platform
import re
import subprocess

import boards
import pytest
from fake_device import FAKE, needs_fake, run
from tuning_logs import records

import tensorwright as tw
from tensorwright import te

MEASURE = boards.PACKAGE / "boards" / f"tw-measure-{platform.machine()}"
TARGET = "cuda -arch=sm_90a"

pytestmark = [needs_fake, pytest.mark.skipif(not MEASURE.exists(), reason="skipped: this build has no tw-measure")]


def measure(*arguments, code=0, **variables):
    """Has nothing but the driver."""
    done = subprocess.run([str(MEASURE), *map(str, arguments)], env={"TW_CUDA_DRIVER": str(FAKE), **variables}, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def measured(pack, log, **variables):
    return json.loads(measure(pack, "--log", log, "--json", **variables).stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With a pack for a GPU that this machine does not have."""
    folder = tmp_path_factory.mktemp("packs")
    pack(folder / "p.twpack")
    return folder


def pack(path, log=None, trials=6):
    run(f"""
        p = tw.autotune.pack(product(40, 36, 24), {str(path)!r}, target={TARGET!r}, trials={trials}, log={str(log) if log else None!r})
        assert (p.candidates, p.not_built, p.threads) == ({trials}, 0, 1), p
    """, TW_CUDA_DRIVER="/nowhere/libcuda.so")


class TestPacks:
    def test_there_and_back(self, folder, tmp_path):
        log = tmp_path / "gpu.jsonl"
        answer = measured(folder / "p.twpack", log)
        assert (answer["candidates"], answer["measured"], answer["failures"]) == (6, 6, 0)
        assert answer["hardware"] == "Fake GPU, 132 processors, 1.0 GiB"
        assert {(r["target"], r["threads"], r["hardware"]) for r in records(log)} == {(TARGET, 1, answer["hardware"])}
        assert measured(folder / "p.twpack", log)["measured"] == 0
        pack(tmp_path / "second.twpack", log, trials=3)
        assert measured(tmp_path / "second.twpack", log)["measured"] == 3
        run(f"""
            tensors = list(product(40, 36, 24))
            f = tw.build(tw.autotune.Task(tensors, target={TARGET!r}), log={str(log)!r})
            a, b, c = (tw.device_array(x) for x in (random(40, 24), random(24, 36), random(40, 36)))
            f(a, b, c)
            assert (c.numpy() == a.numpy() @ b.numpy()).all()
        """)

    def test_references_that_are_made_there(self, tmp_path):
        run(f"""
            A = te.placeholder((1500000,), name="A")
            B = te.compute((1500000,), lambda i: A[i] + 1, name="B")
            C = te.compute((1500000,), lambda i: A[i] * 2, name="C")
            tw.autotune.pack([A, B, C], "{tmp_path}/large.twpack", target={TARGET!r}, trials=1, number=1, repeat=1)
        """)
        text = (tmp_path / "large.twpack").read_bytes()
        assert len(text) < 1e6 and b'"probes"' in text[: text.index(b"\n")]

    def test_large_arguments_are_looked_at_there(self, tmp_path):
        """By kernels that travel with the pack; without them the host looks."""
        run(f"""
            A = te.placeholder((1 << 18,), name="A")
            tw.autotune.pack([A, te.compute((1 << 18,), lambda i: A[i] + 1, name="B")], "{tmp_path}/p.twpack", target={TARGET!r}, trials=1, number=1, repeat=1)
        """, TW_CUDA_DRIVER="/nowhere/libcuda.so")
        head = (tmp_path / "p.twpack").read_bytes().split(b"\n")[0]
        assert b'"device_checks"' in head
        trace = tmp_path / "trace"
        assert measured(tmp_path / "p.twpack", tmp_path / "l.jsonl", FAKE_CUDA_TRACE=str(trace))["failures"] == 0
        assert len(trace.read_text().splitlines()) >= 3 * (3 + 3 + 2)  # measurements: runs, comparisons, digests before and after

    @pytest.mark.parametrize("kind, status, words", [("illegal", "crashed", "CUDA_ERROR_ILLEGAL_ADDRESS"), ("outside", "wrong_answer", "outside it was written"),
                                                     ("lost", None, None)])
    def test_faults(self, folder, tmp_path, kind, status, words):
        once, log = tmp_path / "once", tmp_path / "gpu.jsonl"
        once.touch()
        answer = measured(folder / "p.twpack", log, FAKE_CUDA_FAULT=kind, FAKE_CUDA_ONCE=str(once))
        failed = [r["result"] for r in records(log) if r["result"]["status"] not in ("ok", "beaten")]
        assert answer["failures"] == len(failed) == (1 if status else 0)
        if status:
            assert failed[0]["status"] == status and words in failed[0]["detail"]

    def test_none_that_is_right(self, folder, tmp_path):
        log = tmp_path / "gpu.jsonl"
        done = measure(folder / "p.twpack", "--log", log, "--quiet", code=1, FAKE_CUDA_FAULT="illegal")
        assert "6 failed" in done.stdout and "best" not in done.stdout and f"no candidate gave a right result in time; {log} says why" in done.stderr
        assert json.loads(measure(folder / "p.twpack", "--log", log, "--json", code=1).stdout)["best_seconds"] == 0

    def test_by_the_command_line(self, tmp_path):
        tool = boards.PACKAGE / "tw"
        shape = ["--shape", "M=16,N=24,K=8", "--target", TARGET]
        files = {"cwd": tmp_path, "check": True, "capture_output": True, "text": True}
        environment = {"TW_CUDA_DRIVER": str(FAKE), "TW_CUDA_IMAGES": "ir", "PATH": "/usr/bin"}
        said = subprocess.run([tool, "tune", "matmul", *shape, "--trials", "4", "--pack", "p.twpack"], env=environment, **files).stdout
        assert "there: tw-measure p.twpack --log board.jsonl" in said
        assert "4 of 4 candidates are in" in measure(tmp_path / "p.twpack", "--log", tmp_path / "l.jsonl", "--quiet").stdout
        subprocess.run([tool, "build", "matmul", *shape, "--log", "l.jsonl", "--save", "m.cu"], env=environment, **files)
        assert "__global__" in (tmp_path / "m.cu").read_text()


class TestRefusals:
    def test_no_gpu(self, folder, tmp_path):
        said = measure(folder / "p.twpack", "--log", tmp_path / "l.jsonl", code=1, FAKE_CUDA_DEVICES="0").stderr
        assert "cuda: no device: CUDA_ERROR_NO_DEVICE" in said

    def test_no_driver(self, folder, tmp_path):
        said = measure(folder / "p.twpack", "--log", tmp_path / "l.jsonl", code=1, TW_CUDA_DRIVER="/nowhere/libcuda.so").stderr
        assert "the driver /nowhere/libcuda.so cannot be loaded" in said

    def test_another_gpu(self, folder, tmp_path):
        said = measure(folder / "p.twpack", "--log", tmp_path / "l.jsonl", code=1, FAKE_CUDA_CAPABILITY="8.0").stderr
        assert "can't run code for cuda -arch=sm_90a" in said and "its GPU is sm_80" in said

    def test_threads(self, tmp_path):
        A = te.placeholder((100,), name="A")
        with pytest.raises(tw.TuneError, match="threads are those of a CPU, not 4 for cuda -arch=sm_90a"):
            tw.autotune.pack([A, te.compute((100,), lambda i: A[i] * 2, name="B")], tmp_path / "p.twpack", target=TARGET, threads=4)

    def test_a_pack_for_a_cpu(self, tmp_path):
        A = te.placeholder((100,), name="A")
        tw.autotune.pack([A, te.compute((100,), lambda i: A[i] * 2, name="B")], tmp_path / "cpu.twpack", trials=1)
        assert "it is a GPU" in measure(tmp_path / "cpu.twpack", "--log", tmp_path / "l.jsonl", code=1).stderr

    @boards.needed
    def test_a_board_has_no_gpu(self, folder, tmp_path):
        done = subprocess.run([str(boards.TW_BOARD), "measure", str(folder / "p.twpack"), "--log", str(tmp_path / "l.jsonl")], capture_output=True, text=True)
        assert done.returncode == 1 and "it is a CPU" in done.stderr and "tw-measure runs it" in done.stderr


class TestTheProgram:
    def test_what_it_is(self):
        assert "target    target=\"cuda -arch=sm_90a\"" in measure("describe").stdout
        assert json.loads(measure("describe", "--json").stdout) == {"hardware": "Fake GPU, 132 processors, 1.0 GiB", "target": TARGET}
        assert "--log is required" in measure("p.twpack", code=2).stderr

    def test_what_it_needs(self):
        said = subprocess.run(["objdump", "-p", MEASURE], capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED\s+(\S+)", said))
        versions = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", said)}
        if pathlib.Path("/usr/lib/x86_64-linux-gnu/libc_nonshared.a").exists():  # cmake/product.cmake
            assert max(versions) <= (2, 31), versions
        assert needed <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, needed
