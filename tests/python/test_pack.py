"""Inputs that are packed once, outside of the kernel: the same values on every target, and no way to pass the wrong memory."""

import shutil
import subprocess

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

TARGETS = ["llvm", "c", "interp"]


def matmul(m=5, n=48, k=20, param=True, dtype="float32"):
    A = te.placeholder((m, k), dtype, name="A")
    B = te.placeholder((k, n), dtype, name="B", param=param)
    r = te.reduce_axis((0, k), name="r")
    return A, B, te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")


def panels(A, B, C, width=16):
    """B in panels of columns: [n // width, k, width]."""
    s = te.create_schedule(C)
    s[B].transform_layout(lambda i, j: [j // width, i, j % width], pad_value=0)
    i, j = s[C].op.axis
    jo, ji = s[C].split(j, width)
    s[C].reorder(jo, i, s[C].op.reduce_axis[0], ji)
    s[C].vectorize(ji)
    return s


def values(*tensors):
    rng = np.random.default_rng(7)
    return [rng.integers(-4, 5, tuple(t.shape)).astype(t.dtype) for t in tensors]


def run(f, a, b, C):
    c = np.zeros(tuple(C.shape), C.dtype)
    f(a, f.pack("B", b), c)
    return c


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [48, 41])
def test_a_packed_input_gives_what_an_unpacked_one_gives(target, n):
    A, B, C = matmul(n=n)
    f = tw.build(panels(A, B, C), [A, B, C], target=target)
    assert f.packed_params == ["B"]
    assert f.args[1].shape == (3, 20, 16) and f.args[1].layout and not f.args[0].layout
    a, b = values(A, B)
    np.testing.assert_array_equal(run(f, a, b, C), a @ b)
    packed = f.pack("B", b).numpy()
    np.testing.assert_array_equal(packed[1, 3], b[3, 16:32])
    assert not packed[2, :, n - 32 :].any()


def test_it_is_packed_once_and_used_often():
    A, B, C = matmul()
    f = tw.build(panels(A, B, C), [A, B, C])
    a, b = values(A, B)
    packed = f.pack("B", b)
    assert f.pack(1, packed) is packed
    for _ in range(3):
        c = np.zeros((5, 48), "float32")
        f(a, packed, c)
        np.testing.assert_array_equal(c, a @ b)
    assert f.time(a, packed, c, number=1, repeat=1).median > 0
    assert packed.shape == (3, 20, 16) and packed.dtype == "float32" and packed.layout in repr(packed)
    with pytest.raises(ValueError, match="read-only"):
        packed.numpy()[0] = 1


def test_a_plain_array_is_refused():
    A, B, C = matmul()
    f = tw.build(panels(A, B, C), [A, B, C], name="dense")
    a, b = values(A, B)
    c = np.zeros((5, 48), "float32")
    with pytest.raises(tw.ArgumentError, match=r"(?s)dense: argument 2 \(B\): B is packed as 3x20x16.*pass f.pack\(\"B\", array\)"):
        f(a, b, c)
    with pytest.raises(tw.ArgumentError, match="B is packed as 3x20x16"):
        f(a, np.zeros((3, 20, 16), "float32"), c)
    with pytest.raises(tw.ArgumentError, match="B is packed as"):
        f.time(a, b, c)
    np.testing.assert_array_equal(c, 0)


def test_shapes_that_agree_by_accident_are_refused_too():
    A, B, C = matmul(n=16, k=16)
    s = te.create_schedule(C)
    s[B].transform_layout(lambda i, j: [j, i])
    f, plain = tw.build(s, [A, B, C]), tw.build(te.create_schedule(C), [A, B, C])
    a, b = values(A, B)
    c = np.zeros((5, 16), "float32")
    with pytest.raises(tw.ArgumentError, match="B is packed as 16x16"):
        f(a, b, c)
    np.testing.assert_array_equal(run(f, a, b, C), a @ b)
    with pytest.raises(tw.ArgumentError, match="must be the array as declared, not one that is packed as"):
        plain(a, f.pack("B", b), c)


def test_what_was_packed_for_another_layout_is_refused():
    A, B, C = matmul()
    f, g = (tw.build(panels(A, B, C, width), [A, B, C]) for width in (16, 8))
    a, b = values(A, B)
    with pytest.raises(tw.ArgumentError, match="(?s)must be packed as .*, not as .*another kernel"):
        f(a, g.pack("B", b), np.zeros((5, 48), "float32"))
    with pytest.raises(tw.ArgumentError, match="as declared"):
        f.pack("B", g.pack("B", b))


def test_kernels_that_agree_in_the_layout_share_what_is_packed():
    A, B, C = matmul()
    A2, B2, C2 = matmul(m=1)
    f, g = tw.build(panels(A, B, C), [A, B, C]), tw.build(panels(A2, B2, C2), [A2, B2, C2], target="c")
    a, b = values(A, B)
    c = np.zeros((1, 48), "float32")
    g(a[:1], f.pack("B", b), c)
    np.testing.assert_array_equal(c, a[:1] @ b)


def test_other_extents_are_another_layout():
    A, B, C = matmul(n=48)
    A2, B2, C2 = matmul(n=41)
    f, g = tw.build(panels(A, B, C), [A, B, C]), tw.build(panels(A2, B2, C2), [A2, B2, C2])
    a, b = values(A, B)
    with pytest.raises(tw.ArgumentError, match="must be packed as"):
        g(a, f.pack("B", b), np.zeros((5, 41), "float32"))


def test_pack_refuses():
    A, B, C = matmul()
    f = tw.build(panels(A, B, C), [A, B, C], name="dense")
    a, b = values(A, B)
    with pytest.raises(tw.ArgumentError, match="dense.pack: there is no parameter D"):
        f.pack("D", b)
    with pytest.raises(tw.ArgumentError, match="there is no tensor 3"):
        f.pack(3, b)
    with pytest.raises(tw.ArgumentError, match="name of a parameter or its number, not an array of shape"):
        f.pack(b, "B")
    with pytest.raises(tw.ArgumentError, match="C is an output"):
        f.pack("C", b)
    with pytest.raises(tw.ArgumentError, match=r"shape must be \(20, 48\), not \(48, 20\)"):
        f.pack("B", b.T)
    with pytest.raises(tw.DTypeError, match="dtype must be float32, not float64"):
        f.pack("B", b.astype("float64"))
    with pytest.raises(tw.ArgumentError, match="must be an array"):
        f.pack("B", 3)


def test_what_no_step_packs_comes_back_as_it_is():
    A, B, C = matmul()
    f = tw.build(te.create_schedule(C), [A, B, C])
    a, b = values(A, B)
    assert f.pack("B", b) is b and f.pack("A", a) is a and f.packed_params == []
    np.testing.assert_array_equal(run(f, a, b, C), a @ b)


@pytest.mark.parametrize("target, ending", [("llvm", ".so"), ("c", ".so")])
def test_a_saved_kernel_brings_its_packing_along(target, ending, tmp_path):
    A, B, C = matmul(n=41)
    path = tmp_path / f"dense{ending}"
    made = tw.build(panels(A, B, C), [A, B, C], target=target, name="dense")
    made.save(path)
    f = tw.load(path)
    assert f.name == "dense" and f.packed_params == ["B"] and f.args[1].layout == made.args[1].layout
    a, b = values(A, B)
    np.testing.assert_array_equal(run(f, a, b, C), a @ b)
    c = np.zeros((5, 41), "float32")
    f(a, made.pack("B", b), c)
    np.testing.assert_array_equal(c, a @ b)
    with pytest.raises(tw.ArgumentError, match="B is packed as"):
        f(a, b, c)
    assert tw.load(path, "dense_pack_B").name == "dense_pack_B"


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_c_packs_without_us(target, tmp_path):
    if not shutil.which("cc"):
        pytest.skip("no C compiler: cc is not on the PATH")
    A, B, C = matmul(n=41)
    tw.build(panels(A, B, C), [A, B, C], target=target, name="dense").save(tmp_path / "dense.o")
    header = (tmp_path / "dense.h").read_text()
    assert "p_B: float32[3, 20, 16], packed" in header and "by dense_pack_B_run" in header
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "dense.h"\n'
        "static float a[5 * 20], b[20 * 41], c[5 * 41], packed[3 * 20 * 16];\n"
        "int main(void) {\n"
        "  for (int i = 0; i < 100; ++i) a[i] = (float)(i % 7);\n"
        "  for (int i = 0; i < 820; ++i) b[i] = (float)(i % 5);\n"
        "  int code = dense_pack_B_run(b, packed);\n"
        "  if (!code) code = dense_run(a, packed, c);\n"
        '  printf("%d", code);\n'
        '  for (int i = 0; i < 205; ++i) printf(" %g", c[i]);\n'
        "  return 0;\n}\n"
    )
    subprocess.run(["cc", "-std=c99", "-O1", "-Wall", "-Werror", "main.c", "dense.o", "-o", "main"], cwd=tmp_path, check=True)
    code, *numbers = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split()
    a, b = np.arange(100).reshape(5, 20) % 7, np.arange(820).reshape(20, 41) % 5
    assert code == "0"
    np.testing.assert_array_equal(np.array(numbers, float).reshape(5, 41), a @ b)


def test_two_packed_inputs_and_a_symbolic_one():
    n = te.var("n")
    A = te.placeholder((n, 20), name="A")
    B = te.placeholder((20, 32), name="w.1", param=True)
    D = te.placeholder((20, 32), name="w_1", param=True)
    r = te.reduce_axis((0, 20), name="r")
    C = te.compute((n, 32), lambda i, j: te.sum(A[i, r] * (B[r, j] + D[r, j]), axis=r), name="C")
    s = te.create_schedule(C)
    s[B].transform_layout(lambda i, j: [j // 16, i, j % 16])
    s[D].transform_layout(lambda i, j: [j, i])
    f = tw.build(s, [A, B, D, C])
    assert f.packed_params == ["w.1", "w_1"]
    rng = np.random.default_rng(3)
    a, b, d = (rng.integers(-4, 5, shape).astype("float32") for shape in ((7, 20), (20, 32), (20, 32)))
    packed = f.pack("w.1", b), f.pack("w_1", d)
    for rows in (7, 1, 0):
        c = np.zeros((rows, 32), "float32")
        f(a[:rows], *packed, c)
        np.testing.assert_array_equal(c, a[:rows] @ (b + d))


def test_an_extent_that_another_argument_explains():
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    B = te.placeholder((2 * n, 4), name="B", param=True)
    C = te.compute((n, 4), lambda i, j: A[i, j] + B[2 * i + 1, j], name="C")
    s = te.create_schedule(C)
    s[B].transform_layout(lambda i, j: [j, i])
    f = tw.build(s, [A, B, C])
    rng = np.random.default_rng(5)
    a, b, c = (rng.random(shape, "float32") for shape in ((3, 4), (6, 4), (3, 4)))
    f(a, f.pack("B", b), c)
    np.testing.assert_array_equal(c, a + b[1::2])
    with pytest.raises(tw.ArgumentError, match=r"\(B\)"):
        f(a, f.pack("B", b[:4]), c)


def vnni(m=8, n=32, k=24):
    A = te.placeholder((m, k), "uint8", name="A")
    B = te.placeholder((k, n), "int8", name="B", param=True)
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r].astype("int32") * B[r, j].astype("int32"), axis=r), name="C")
    s = te.create_schedule(C)
    s[B].transform_layout(lambda i, j: [j // 16, i // 4, j % 16, i % 4])
    sums = s.cache_write(C, "local")
    i, j = s[C].op.axis
    io, ii = s[C].split(i, 4)
    jo, ji = s[C].split(j, 16)
    s[C].reorder(io, jo, ii, ji)
    s[C].vectorize(ji)
    s[sums].compute_at(s[C], jo)
    i, j = s[sums].op.axis
    jo, ji = s[sums].split(j, 16)
    ko, ki = s[sums].split(s[sums].op.reduce_axis[0], 4)
    s[sums].reorder(ko, i, jo, ji, ki)
    s[sums].tensorize(ji, "avx512_vnni_dot_16x4")
    return s, A, B, C


@pytest.mark.parametrize("target", TARGETS)
def test_weights_of_a_tensor_intrinsic_are_packed_by_the_schedule(target):
    s, A, B, C = vnni()
    f = tw.build(s, [A, B, C], target=target)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (8, 24)).astype(np.uint8), rng.integers(-128, 128, (24, 32)).astype(np.int8)
    np.testing.assert_array_equal(run(f, a, b, C), a.astype(np.int32) @ b.astype(np.int32))


def test_a_task_with_weights_is_tuned(tmp_path):
    @tw.autotune.template("test_pack_dense")
    def dense(cfg, n):
        A, B, C = matmul(m=16, n=n, k=32)
        s = te.create_schedule(C)
        cfg.define_knob("wide", [False, True])
        width = 16 if cfg["wide"].val else 8
        s[B].transform_layout(lambda i, j: [j // width, i, j % width], pad_value=0)
        return s, [A, B, C]

    task = tw.autotune.Task(dense, args=(41,))
    log = tmp_path / "dense.jsonl"
    result = tw.autotune.tune(task, trials=2, log=log)
    assert [t.status for t in result.trials] == ["ok", "ok"], result.failures
    f = tw.build(task, log=log)
    A, B, C = matmul(m=16, n=41, k=32)
    a, b = values(A, B)
    assert f.packed_params == ["B"]
    np.testing.assert_array_equal(run(f, a, b, C), a @ b)


def test_promises_are_checked_when_asked(monkeypatch):
    A = te.placeholder((4,), "int8", name="A", range=(-64, 63))
    C = te.compute((4,), lambda i: A[i] + A[i], name="C")
    f = tw.build([A, C], name="twice")
    a, c = np.array([1, 2, 100, 4], "int8"), np.zeros(4, "int8")
    assert not f.check_ranges
    f(a, c)
    f.check_ranges = True
    with pytest.raises(tw.ArgumentError, match=r"twice: A is promised to be in -64..63, and A\[2\] is 100"):
        f(a, c)
    f(np.array([-64, 63, 0, 0], "int8"), c)
    monkeypatch.setenv("TW_CHECK_RANGES", "1")
    g = tw.build([A, C])
    assert g.check_ranges
    with pytest.raises(tw.ArgumentError, match=r"A\[2\] is 100"):
        g(a, c)


def test_promises_of_packed_inputs_are_checked_where_they_are_packed():
    A = te.placeholder((5,), "int32", name="A", param=True, range=(1, 9))
    C = te.compute((5,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C)
    s[A].transform_layout(lambda i: [i // 4, i % 4], pad_value=0)
    f = tw.build(s, [A, C])
    f.check_ranges = True
    c = np.zeros(5, "int32")
    f(f.pack("A", np.arange(1, 6, dtype="int32")), c)
    assert c.tolist() == [2, 3, 4, 5, 6]
    with pytest.raises(tw.ArgumentError, match=r"promised to be in 1..9, and A\[0\] is 0"):
        f.pack("A", np.arange(5, dtype="int32"))


@pytest.mark.parametrize("value", [(1,), (3, 1), "ab", (1.5, 2), (0, 2**63)])
def test_ranges_that_are_none(value):
    with pytest.raises(tw.ArgumentError, match="placeholder A: range must be two integers"):
        te.placeholder((4,), "int32", name="A", range=value)


def test_param_is_a_truth():
    with pytest.raises(tw.ArgumentError, match="param must be True or False, not 1"):
        te.placeholder((4,), name="A", param=1)
    with pytest.raises(tw.ArgumentError, match="range must be two integers .* of an integer dtype"):
        te.placeholder((4,), name="A", range=(0, 1))


NAMES = ["args", "context", "parallel_body", "param", "scalar", "kernel", "default_context", "default_alloc", "data"]


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_no_name_clashes_with_the_header(target, tmp_path):
    if not shutil.which("cc"):
        pytest.skip("no C compiler: cc is not on the PATH")
    includes, calls = "", ""
    for name in NAMES:
        A = te.placeholder((4,), name=NAMES[(NAMES.index(name) + 1) % len(NAMES)])
        tw.build([A, te.compute((4,), lambda i: A[i] * 2, name=name)], target=target, name=name).save(tmp_path / f"{name}.o")
        includes += f'#include "{name}.h"\n'
        calls += f"  code |= {name}_run(a, b);\n"
    (tmp_path / "main.c").write_text(includes + "int main(void) {\n  float a[4] = {1, 2, 3, 4}, b[4];\n  int code = 0;\n" + calls + "  return code || b[3] != 8;\n}\n")
    objects = [f"{name}.o" for name in NAMES]
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "main.c", *objects, "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "main"], check=True)
    if shutil.which("c++"):
        subprocess.run(["c++", "-x", "c++", "-Wall", "-Werror", "-fsyntax-only", "main.c"], cwd=tmp_path, check=True)


def test_refusals_say_what_came_and_not_all_of_it():
    A, alpha = te.placeholder((100, 100), name="A"), te.var("alpha", "float32")
    C = te.compute((100, 100), lambda i, j: A[i, j] * alpha, name="C")
    f = tw.build([A, alpha, C], name="scale")
    a, c = np.ones((100, 100), "float32"), np.zeros((100, 100), "float32")
    with pytest.raises(tw.DTypeError, match=r"scale: argument 2 \(alpha\): must be a number \(float32\), not an array of shape \(100, 100\)"):
        f(a, a, c)
    with pytest.raises(tw.ArgumentError, match=r"(?s)number and repeat must be integers.*number was an array of shape \(100, 100\)"):
        f.time(a, 1.0, c, number=a)
    with pytest.raises(tw.ArgumentError, match=r"(?s)number and repeat must be integers.*repeat was 2.5"):
        f.time(a, 1.0, c, repeat=2.5)
