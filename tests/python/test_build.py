"""From schedules to functions: build, lower, default schedules, targets, sources and saved kernels."""
import subprocess
import sys

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

llvm = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")


def matmul(m=13, n=37, depth=9):
    A = te.placeholder((m, depth), name="A")
    B = te.placeholder((depth, n), name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return A, B, C


def run_matmul(f, m=13, n=37, depth=9):
    random = np.random.default_rng(0)
    a, b = random.random((m, depth), "float32"), random.random((depth, n), "float32")
    c = np.full((m, n), np.nan, "float32")
    f(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    return c


def test_build_with_and_without_a_schedule():
    A, B, C = matmul()
    run_matmul(tw.build(te.create_schedule(C), [A, B, C]))
    run_matmul(tw.build([A, B, C]))
    run_matmul(tw.build([A, B, C], target="interp"))
    run_matmul(tw.build(te.create_schedule(C), (A, B, C), "interp", "mm"))


def test_lower_shows_the_loops_and_with_a_target_what_is_compiled():
    A, B, C = matmul()
    s = te.create_schedule(C)
    s[C].vectorize(C.op.axis[1])
    assert "vectorized" in str(tw.lower(s, [A, B, C]))
    assert str(tw.lower(s, [A, B, C], name="mm")).startswith("kernel mm(")


@llvm
def test_lower_for_a_target_leaves_no_marked_loop():
    A, B, C = matmul()
    s = te.create_schedule(C)
    s[C].vectorize(C.op.axis[1])
    assert "vectorized" not in str(tw.lower(s, [A, B, C], target="llvm -mcpu=x86-64-v3"))


def test_default_schedule_has_public_steps():
    A, B, C = matmul(64, 256, 64)
    s = tw.default_schedule([A, B, C])
    assert s.steps
    again = tw.Schedule.from_steps([C], s.steps)
    assert again.steps == s.steps
    s[C]  # a schedule like any other


def test_building_adds_no_steps_and_a_schedule_can_go_on():
    A, B, C = matmul()
    s = te.create_schedule(C)
    run_matmul(tw.build(s, [A, B, C]))
    assert not s.steps
    s[C].split(C.op.axis[0], factor=4)
    run_matmul(tw.build(s, [A, B, C]))
    assert len(s.steps) == 1


def test_intermediates_in_the_list_are_written_out():
    A = te.placeholder((20,), name="A")
    B = te.compute((20,), lambda i: A[i] + 1, name="B")
    C = te.compute((20,), lambda i: B[i] * 2, name="C")
    b, c = np.zeros(20, "float32"), np.zeros(20, "float32")
    for f in (tw.build([A, C, B]), tw.build(te.create_schedule(C), [A, C, B])):
        f(np.arange(20, dtype="float32"), c, b)
        np.testing.assert_array_equal(b, np.arange(20) + 1)
        np.testing.assert_array_equal(c, 2 * b)


def test_target_context_and_equality():
    with tw.Target("interp") as outer:
        assert tw.Target.current() is outer
        assert tw.build([*matmul()]).target == "interp"
        with pytest.raises(ZeroDivisionError), tw.Target("interp"):
            1 / 0
        assert tw.Target.current() is outer
    assert tw.Target.current() == tw.Target.host()
    assert len({tw.Target("interp"), tw.Target("interp")}) == 1


@llvm
def test_target_shows_what_it_resolved_to():
    t = tw.Target("llvm -mcpu=x86-64-v3")
    assert (t.kind, t.cpu, t.vector_bits, t.vector_registers) == ("llvm", "x86-64-v3", 256, 16)
    assert "avx2" in t.features and t.has("fma") and not t.has("avx512f")
    assert "256-bit" in repr(t)
    native = tw.Target("llvm -mcpu=native")
    assert "native" not in str(native) and tw.Target(str(native)) == native


@llvm
def test_code_for_another_cpu_is_built_saved_and_shown_and_only_running_it_is_refused(tmp_path):
    foreign = tw.Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")
    assert str(foreign) == "llvm -mcpu=neoverse-n1 -mtriple=aarch64-unknown-linux-gnu"
    A, B, C = matmul()
    f = tw.build([A, B, C], target=foreign, name="dense")
    assert f.target == str(foreign) and f.name == "dense" and [spec.name for spec in f.args] == ["A", "B", "C"]
    assert "fmla" in f.source("asm") and "aarch64" in f.source("llvm") and "tw_dense" in f.source("c")
    for name in ("dense.o", "dense.so"):
        f.save(tmp_path / name)
        machine = int.from_bytes((tmp_path / name).read_bytes()[18:20], "little")
        assert machine == 183 and "dense_run" in (tmp_path / "dense.h").read_text()
    arrays = [np.zeros([int(n) for n in t.shape], "float32") for t in (A, B, C)]
    for call in (f, f.time):
        with pytest.raises(tw.TargetError) as error:
            call(*arrays)
        for part in (str(foreign), tw.Target.host().triple, "save()"):
            assert part in str(error.value)
    with pytest.raises(tw.ArgumentError, match="takes 3 arguments"):
        f(*arrays[:2])


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda s, args: tw.build(s), ["args is missing"]),
        (lambda s, args: tw.build(3, args), ["schedule", "int"]),
        (lambda s, args: tw.build(s, 3), ["list of tensors", "int"]),
        (lambda s, args: tw.build(s, [*args[:2], np.zeros(3)]), ["args[2]", "ndarray"]),
        (lambda s, args: tw.build(args, args), ["left out"]),
        (lambda s, args: tw.build(args[:2]), ["computed"]),
        (lambda s, args: tw.build(s, args, name="two words"), ["identifier", "two words"]),
        (lambda s, args: tw.build(s, args, name=3), ["name", "int"]),
        (lambda s, args: tw.build(s, args, target="lvm"), ["lvm", "did you mean llvm"]),
        (lambda s, args: tw.build(s, args, target=5), ["target", "int"]),
        (lambda s, args: tw.build(s, args[1:]), ["A"]),
        (lambda s, args: tw.build(s, args, log="x.jsonl"), ["autotune.Task"]),
        (lambda s, args: tw.build(s, args).source("wasm"), ["source", "wasm"]),
        (lambda s, args: tw.build(s, args).save("k.dll"), ["save"]),
        (lambda s, args: tw.lower(args, args), ["schedule"]),
    ],
)
def test_bad_arguments_say_what_was_expected(make, parts):
    *args, C = matmul()
    s = te.create_schedule(C)
    with pytest.raises(tw.Error) as error:
        make(s, [*args, C])
    for part in parts:
        assert part in str(error.value)
    assert "test_build.py" in str(error.value)


@llvm
def test_unknown_cpus_name_the_nearest():
    with pytest.raises(tw.Error, match="did you mean znver"):
        tw.Target("llvm -mcpu=znverr4")


@llvm
def test_sources():
    f = tw.build([*matmul()], name="mm")
    assert f.source("ir").startswith("kernel mm(")
    assert "@tw_mm(" in f.source("llvm")
    assert "tw_mm:" in f.source("asm")


@llvm
def test_saved_kernels_load_in_another_process(tmp_path):
    f = tw.build([*matmul()], name="exp")
    expected = run_matmul(f)
    f.save(str(tmp_path / "mm.so"))
    f.save(str(tmp_path / "mm.o"))
    assert "exp_run" in (tmp_path / "mm.h").read_text()
    assert not subprocess.run(["nm", "-u", tmp_path / "mm.o"], capture_output=True, text=True, check=True).stdout
    run_matmul(tw.load(str(tmp_path / "mm.so")))
    program = (
        "import sys, numpy as np, tensorwright as tw\n"
        "random = np.random.default_rng(0)\n"
        "a, b = random.random((13, 9), 'float32'), random.random((9, 37), 'float32')\n"
        "c = np.empty((13, 37), 'float32')\n"
        "tw.load(sys.argv[1])(a, b, c)\n"
        "sys.stdout.buffer.write(c.tobytes())\n"
    )
    got = subprocess.run([sys.executable, "-c", program, tmp_path / "mm.so"], capture_output=True, check=True).stdout
    assert got == expected.tobytes()


@llvm
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"])
def test_dtypes_on_older_cpus(dtype, cpu):
    A = te.placeholder((5, 33), dtype, name="A")
    B = te.compute((5, 33), lambda i, j: A[i, j] * A[i, j] + A[4 - i, j], name="B")
    f = tw.build([A, B], target=f"llvm -mcpu={cpu}")
    a = np.random.default_rng(0).integers(-8 if dtype[0] != "u" else 0, 8, (5, 33)).astype(dtype)
    b = np.zeros((5, 33), dtype)
    f(a, b)
    np.testing.assert_array_equal(b, a * a + a[::-1])
