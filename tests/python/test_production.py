"""Kernels are frozen by their records and built from what was frozen: by tw, and in Python."""

import pathlib
import shutil
import subprocess
import sys

import frozen_kernels
import numpy as np
import pytest
import tuning_logs
from commands import TW
from commands import run_tw as run

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM: nothing is frozen")

TARGETS = ["x86-64-v2", "x86-64-v3"]


@pytest.fixture(autouse=True)
def this_python(monkeypatch):
    monkeypatch.setenv("TW_PYTHON", sys.executable)


@pytest.fixture
def place(tmp_path):
    """A folder with a source and a log that has records of all kernels for all targets."""
    (tmp_path / "ops.py").write_text(frozen_kernels.OPS)
    kernels = frozen_kernels.declared()
    lines = [frozen_kernels.record(kernels, name, target, n, seconds) for name in kernels for target in TARGETS
             for n, seconds in ((0, 2e-3), (5, 1e-3))]
    (tmp_path / "tuned.jsonl").write_text("".join(lines))
    return tmp_path


def freeze(place, *more, code=0):
    return run("freeze", "ops.py", "--log", "tuned.jsonl", "--targets", *TARGETS, "--out", "kernels", *more, code=code, cwd=place)


def files(folder):
    return sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())


class TestFreeze:
    def test_each_kernel_for_each_target(self, place):
        printed = freeze(place).stdout.splitlines()
        assert printed == [f"kernels/{name}.{target}.twk" for name in ("dense", "scale") for target in TARGETS]
        text = (place / "kernels/dense.x86-64-v3.twk").read_text()
        assert text.startswith("tensorwright kernel 1\n") and '"seconds":0.001' in text and 'source: "ops.py"' in text
        before = [f.stat().st_mtime_ns for f in (place / "kernels").iterdir()]
        assert freeze(place).stdout.splitlines() == printed
        assert [f.stat().st_mtime_ns for f in (place / "kernels").iterdir()] == before

    def test_a_missing_record_names_all_that_is_needed(self, place):
        log = place / "tuned.jsonl"
        log.write_text("".join(line for line in log.read_text().splitlines(True) if '"name":"scale"' not in line or "v3" not in line))
        error = freeze(place, code=1).stderr
        assert "no tuning record for scale() on llvm -mcpu=x86-64-v3 in tuned.jsonl" in error
        assert "for another target: llvm -mcpu=x86-64-v2" in error and "tw.autotune.tune(" in error
        assert not (place / "kernels").exists()
        freeze(place, "--allow-default")
        assert "record: null" in (place / "kernels/scale.x86-64-v3.twk").read_text()

    def test_damaged_lines_are_no_empty_log(self, place):
        log = place / "tuned.jsonl"
        log.write_text(log.read_text().replace('"seconds":', '"seconds":1'))
        error = freeze(place, code=1).stderr
        assert "8 of the log's lines are damaged: tw log check says which" in error and "empty" not in error

    def test_several_machines_need_a_name(self, place):
        with (place / "tuned.jsonl").open("a") as log:
            log.write(frozen_kernels.record(frozen_kernels.declared(), "dense", "x86-64-v3", 3, 1e-4, hardware="a board"))
        error = freeze(place, code=1).stderr
        assert "2 classes of hardware; --hardware says which" in error and "a board" in error and tuning_logs.HARDWARE in error
        freeze(place, "--hardware", tuning_logs.HARDWARE)
        assert '"seconds":0.001' in (place / "kernels/dense.x86-64-v3.twk").read_text()

    def test_sources_that_are_none(self, place):
        (place / "ops.py").write_text("kernels = {}\n")
        assert "kernels must be a dict of kernels" in freeze(place, code=1).stderr
        (place / "ops.py").write_text("\n")
        assert freeze(place, code=1).stderr.startswith("tw: freeze: ops.py must declare kernels")
        assert "none.py cannot be read" in run("freeze", "none.py", "--targets", "x86-64-v3", code=1, cwd=place).stderr
        assert "--targets says what" in run("freeze", "matmul", "--shape", "M=9,N=17,K=33", code=1).stderr
        assert "frozen for targets llvm and cuda" in run("freeze", "softmax", "--shape", "M=4,N=8", "--targets", "interp", code=1).stderr
        assert 'unknown CPU "x86-64-v9"' in run("freeze", "softmax", "--targets", "x86-64-v9", code=1).stderr

    def test_an_operator_needs_no_python(self, tmp_path, monkeypatch):
        monkeypatch.setenv("TW_PYTHON", "/bin/false")
        shape = ("matmul", "--shape", "M=9,N=17,K=33", "--name", "dense", "--targets", "x86-64-v3")
        run("freeze", *shape, "--out", tmp_path)
        assert 'source: "matmul --shape M=9,N=17,K=33 --name dense"' in (tmp_path / "dense.x86-64-v3.twk").read_text()
        assert "is up to date" in run("freeze", "--check", *shape, "--out", tmp_path).stdout
        other = run("freeze", "--check", "matmul", "--shape", "M=9,N=17,K=34", *shape[3:], "--out", tmp_path, code=1).stderr
        assert other.count("\n") == 1 and "dense, matmul(M=9, N=17, K=33" in other and "declares another computation" in other

    def test_kernels_of_all_kinds(self, tmp_path):
        n = te.var("n")
        A, alpha = te.placeholder((n,), name="A"), te.var("alpha", "float32")
        B = te.compute((n,), lambda i: A[i] * alpha, name="B")
        X = te.placeholder((64,), name="X")
        Y = te.compute((64,), lambda i: X[i] + 1, name="Y")
        s = te.create_schedule(Y)
        s[Y].vectorize(s[Y].op.axis[0])
        kernels = {"any": [A, alpha, B], "by_hand": (s, [X, Y]), "task": tw.autotune.Task.stock("softmax", {"M": 4, "N": 8})}
        paths = tw.aot.freeze(kernels, targets=["neoverse-n1", "x86-64-v3"], out=tmp_path)
        assert [pathlib.Path(p).name for p in paths] == [f"{k}.{t}.twk" for k in kernels for t in ("neoverse-n1", "x86-64-v3")]
        assert tw.aot.check(kernels, targets=["neoverse-n1", "x86-64-v3"], out=tmp_path) == []
        made = tw.aot.library([p for p in paths if "neoverse" in p], tmp_path / "arm")
        assert len(made["compiled"]) == 3
        with pytest.raises(tw.TargetError, match="a library is of one architecture"):
            tw.aot.library(paths, tmp_path / "both")
        assert not (tmp_path / "both").exists()


class TestCheck:
    def check(self, place, *more, code=0):
        return freeze(place, "--check", *more, code=code)

    def test_sources_and_logs(self, place):
        freeze(place)
        assert "4 frozen kernels are up to date" in self.check(place).stdout
        with (place / "tuned.jsonl").open("a") as log:
            log.write(frozen_kernels.record(frozen_kernels.declared(), "dense", "x86-64-v3", 11, 5e-4))
        by_source = self.check(place, code=1).stderr
        by_file = run("freeze", "--check", *sorted((place / "kernels").iterdir()), "--log", "tuned.jsonl", code=1, cwd=place).stderr
        assert by_source == by_file and by_source.count("\n") == 1
        assert by_source.startswith("tw: dense(A: float32[9, 33], ") and "for x86-64-v3" in by_source and "takes 0.5 ms" in by_source
        command = by_source.strip().split("freeze it again: ")[1]
        assert subprocess.run(f"{TW.parent}/{command} --out kernels", shell=True, cwd=place).returncode == 0
        assert "up to date" in self.check(place).stdout
        (place / "ops.py").write_text(frozen_kernels.OPS.replace("X[i] * 2.0", "X[i] * 3.0"))
        stale = self.check(place, code=1).stderr.splitlines()
        assert len(stale) == 2 and all("scale(X: float32[1000]" in line and "another computation" in line for line in stale)

    def test_kernels_without_files_and_without_records(self, place):
        assert self.check(place, code=1).stderr.count("there is no kernels/") == 4
        kernels = frozen_kernels.declared()
        paths = tw.aot.freeze(kernels, targets=TARGETS, out=place / "kernels")
        assert tw.aot.check(kernels, targets=TARGETS, out=place / "kernels") == []
        assert len(tw.aot.check(kernels, targets=TARGETS, out=place / "kernels", require_tuned=True)) == 4
        assert "frozen without a record" in run("freeze", "--check", *paths, "--require-tuned", code=1).stderr


MAIN = """#include "kernels.h"
#include <stdio.h>
static float a[9 * 33], b[33 * 17], bias[17], d[9 * 17];
int main(int argc, char** argv) {
  FILE* file = fopen(argv[1], "rb");
  if (argc != 2 || !file || fread(a, sizeof a, 1, file) + fread(b, sizeof b, 1, file) + fread(bias, sizeof bias, 1, file) != 3) return 9;
  int32_t code = acme_dense_run(a, b, bias, d);
  fwrite(d, sizeof d, 1, stdout);
  return code;
}
"""


class TestBuild:
    @pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
    def test_programs_get_what_tw_build_computes(self, place):
        freeze(place)
        printed = run("build", *sorted((place / "kernels").iterdir()), "--out", place / "out", "--prefix", "acme_", "--shared").stdout
        assert "4 compiled, 0 unchanged" in printed
        generator = np.random.default_rng(0)
        arrays = [generator.standard_normal(shape).astype("float32") for shape in ((9, 33), (33, 17), (17,))]
        (place / "in").write_bytes(b"".join(a.tobytes() for a in arrays))
        (place / "main.c").write_text(MAIN)
        best = max((t for t in TARGETS if not missing(t)), key=TARGETS.index)
        task = tw.autotune.Task(frozen_kernels.declared()["dense"], target=f"llvm -mcpu={best}", name="dense")
        machine = tw.autotune.Machine(tuning_logs.HARDWARE, threads=2)
        expected = np.zeros((9, 17), "float32")
        tw.build(task, log=place / "tuned.jsonl", machine=machine)(*arrays, expected)
        for library in ("libkernels.a", "libkernels.so"):
            out = place / "out"
            subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", f"-I{out}", "-o", place / "main", place / "main.c", out / library,
                            f"-Wl,-rpath,{out}"], check=True)
            done = subprocess.run([place / "main", place / "in"], capture_output=True, check=True)
            assert done.stdout == expected.tobytes()

    def test_bad_files_leave_what_was_there(self, place):
        freeze(place)
        dense, scale = place / "kernels/dense.x86-64-v3.twk", place / "kernels/scale.x86-64-v3.twk"
        good = dense.read_text()
        run("build", dense, scale, "--out", place / "out")
        before = files(place / "out")

        def refused(text):
            dense.write_text(text)
            error = run("build", dense, scale, "--out", place / "out", code=1).stderr
            assert files(place / "out") == before
            return error

        assert "its format is 2" in refused(good.replace("kernel 1", "kernel 2", 1))
        assert "damaged or was edited" in refused(good.replace('"seconds":0.001', '"seconds":0.002', 1))
        assert "inside of A: float32[8, 33]" in refused(good.replace("float32[9, 33]", "float32[8, 33]"))  # what it reads is outside
        assert "dense.x86-64-v3.twk: IR text, line" in refused(good[: len(good) * 2 // 3])
        two = place / "kernels/two.twk"
        shutil.copy(scale, two)
        assert "two variants" in run("build", scale, two, "--out", place / "out", code=1).stderr
        assert "--out" in run("build", scale, code=1).stderr
        assert "no variant runs on every CPU of the baseline" in run(
            "build", scale, "--out", place / "out", "--baseline", "x86-64-v2", code=1).stderr

    def test_what_was_edited_on_purpose_is_built_if_it_is_safe(self, place):
        freeze(place)
        path = place / "kernels/scale.x86-64-v3.twk"
        lines = [line for line in path.read_text().splitlines(True) if not line.startswith("checksum: ")]
        path.write_text("".join(lines).replace(", 2.0, 1.0)", ", 3.0, 1.0)"))
        assert "3.0" in path.read_text()
        run("build", path, "--out", place / "out")


def missing(target):
    """Whether this machine lacks what the level asks for."""
    features = pathlib.Path("/proc/cpuinfo").read_text()
    return target == "x86-64-v3" and " avx2 " not in features or "sse4_2" not in features
