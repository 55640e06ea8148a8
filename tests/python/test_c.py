"""The target "c": C99 text, compiled by the system's compiler."""
import re
import shutil
import signal
import subprocess

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def dense(m=19, n=37, k=23):
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    return [A, B, te.compute((m, n), lambda i, j: te.exp(C[i, j] / 8), name="D")]


def run(f, m=19, n=37, k=23):
    random = np.random.default_rng(1)
    a, b, out = random.random((m, k), "float32"), random.random((k, n), "float32"), np.zeros((m, n), "float32")
    f(a, b, out)
    np.testing.assert_allclose(out, np.exp(a @ b / 8), rtol=1e-5)
    return out


@pytest.mark.parametrize("target", ["c", "c -mcpu=native", "c -mcpu=x86-64-v3"])
def test_runs(target):
    if tw.Target(target).vector_bits > tw.Target.host().vector_bits:
        pytest.skip(f"this machine is older than {target}")
    f = tw.build(dense(), target=target)
    run(f)
    assert f.target == str(tw.Target(target))


def test_same_bits_as_llvm():
    if tw.Target.host().kind != "llvm":
        pytest.skip("built without LLVM")
    llvm = tw.build(dense(), target="llvm -mcpu=x86-64-v3")
    c = tw.build(dense(), target="c -mcpu=x86-64-v3")
    assert (run(llvm) == run(c)).all()
    assert "tw_kernel(" in llvm.source("c")


def test_products_of_tiles_are_text_by_rows(tmp_path):
    """C shows what a function for a CPU with tiles computes, and compiled without any it computes that."""
    if tw.Target.host().kind != "llvm":
        pytest.skip("built without LLVM")
    A, B = te.placeholder((16, 16, 4), "int8", name="A"), te.placeholder((16, 16, 4), "int8", name="B")
    k, p = te.reduce_axis((0, 16), "k"), te.reduce_axis((0, 4), "p")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k, p].astype("int32") * B[k, j, p].astype("int32"), axis=[k, p]), name="C")
    s = te.create_schedule(C)
    s[C].tensorize(C.op.axis[0], "amx.s8s8")
    f = tw.build(s, [A, B, C], target="llvm -mcpu=sapphirerapids", name="tiles")
    assert "tile_i8i8" in f.source("ir") and "row[l] = row[l] + A[" in f.source("c")
    (tmp_path / "tiles.c").write_text(f.source("c") + """
#include <stdio.h>
int main(void) {
  static int8_t a[1024], b[1024];
  static int32_t c[256];
  for (int i = 0; i < 1024; ++i) a[i] = (int8_t)(i * 7), b[i] = (int8_t)(i * 13);
  void* data[] = {a, b, c};
  const struct tw_args args = {sizeof args, TW_ABI_VERSION, data};
  if (tw_tiles(&args, 0) != 0) return 1;
  for (int i = 0; i < 256; ++i) printf("%d\\n", c[i]);
}
""")
    subprocess.run(["cc", "-std=c99", "-O1", "-fwrapv", tmp_path / "tiles.c", "-o", tmp_path / "tiles"], check=True)
    found = np.array(subprocess.run([tmp_path / "tiles"], check=True, capture_output=True, text=True).stdout.split(), int)
    a, b = ((np.arange(1024) * factor).astype(np.int8).astype(int).reshape(16, 16, 4) for factor in (7, 13))
    np.testing.assert_array_equal(found.reshape(16, 16), np.einsum("ikp,kjp->ij", a, b))


def test_text_names_loops_and_stages():
    A = te.placeholder((64, 60), name="A")
    B = te.compute((64, 60), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((64, 60), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C)
    _, inner = s[C].split(C.op.axis[1], factor=8, tail="peel")
    s[C].vectorize(inner)
    f = tw.build(s, [A, C], target="c", name="twice")
    text = f.source("c")
    for part in ("int32_t tw_twice(", "for (int64_t j_o = 0;", "for (int l = 0; l < 4; ++l)", "/* B */", "/* C */"):
        assert part in text, text
    with pytest.raises(tw.ArgumentError, match="kind must be"):
        f.source("llvm")


def test_save_and_load(tmp_path):
    f = tw.build(dense(), target="c", name="dense")
    for suffix in ("c", "o", "so"):
        f.save(tmp_path / f"dense.{suffix}")
    run(tw.load(tmp_path / "dense.so"))
    assert (tmp_path / "dense.c").read_text() == f.source("c")
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "dense.c"], cwd=tmp_path, check=True)
    with pytest.raises(tw.ArgumentError, match=".c, .o or .so"):
        f.save(tmp_path / "dense.txt")


@pytest.mark.parametrize("options", ["-O0", "-O2", "-O3 -DTW_VECTORS=0"])
def test_text_for_any_size_compiles_without_warnings(options, tmp_path):
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    twice = te.compute((n, m), lambda i, j: A[i, j] * 2.0, name="twice")
    total = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="total")
    for output in (twice, total):
        tw.build([A, output], target="c", name="k").save(tmp_path / "k.c")
        subprocess.run(["cc", "-std=c99", *options.split(), "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "k.c"],
                       cwd=tmp_path, check=True)


def test_divisions_of_64_bits_are_linked_for_cpus_of_32(tmp_path):
    if shutil.which("arm-linux-gnueabihf-gcc") is None:
        pytest.skip("skipped: arm-linux-gnueabihf-gcc is not installed (Debian: gcc-arm-linux-gnueabihf)")
    A, B = te.placeholder((9,), "int64", name="A"), te.placeholder((9,), "int64", name="B")
    outs = [te.compute((9,), lambda i, f=f: f(A[i], B[i])) for f in (te.floordiv, te.floormod, te.truncdiv, te.truncmod)]
    f = tw.build([A, B, *outs], target="c -mtriple=arm-linux-gnueabihf", name="divide")
    f.save(tmp_path / "divide.so")
    assert (tmp_path / "divide.so").stat().st_size > 0


@pytest.mark.parametrize("compiler", ["arm-linux-gnueabihf-gcc", "riscv64-linux-gnu-gcc"])
@pytest.mark.parametrize("target, why", [("llvm", "these kernels are for .*: make them for this CPU by -mtriple of their target, or as C by the target c"),
                                         ("cuda -arch=sm_90a", "what launches these kernels is code for .*: save them for the machine that this is compiled for")])
def test_headers_say_which_cpu_objects_are_for(target, why, compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"skipped: {compiler} is not installed")
    A = te.placeholder((9,), name="A")
    f = tw.build([A, te.compute((9,), lambda i: A[i] + 1, name="B")], target=target, name="more")
    try:
        f.save(tmp_path / "more.o")
    except tw.BuildError as error:
        pytest.skip(f"skipped: {error}")  # no NVRTC
    (tmp_path / "main.c").write_text('#include "more.h"\n')
    done = subprocess.run([compiler, "-c", "main.c"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and re.search(why, done.stderr), done.stderr


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.raises(tw.BuildError, match="no C compiler"):
        tw.build(dense(), target="c")


def test_a_process_that_ignores_the_end_of_its_children_compiles(tmp_path):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        f = tw.build(dense(), target="c", name="dense")
        run(f)
        f.save(tmp_path / "dense.so")
        f.save(tmp_path / "dense.so")
        with pytest.MonkeyPatch.context() as patch, pytest.raises(tw.BuildError, match="failed: unknown exit status"):
            patch.setenv("CC", "cc -no-such-option")
            f.save(tmp_path / "dense.so")
        run(tw.load(tmp_path / "dense.so"))
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_target_text():
    assert tw.Target("c").kind == "c"
    assert tw.Target(str(tw.Target("c -mcpu=native"))) == tw.Target("c -mcpu=native")
    with pytest.raises(tw.TargetError, match="llvm, c, cuda or interp"):
        tw.Target("rust")
