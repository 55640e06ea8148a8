"""Kernels that have a schedule for each range of a size."""

import pathlib
import shutil
import subprocess
import types

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM: nothing is frozen")
K, N = 24, 40


def declared():
    """Few rows on one thread in vectors, some in register tiles, many on all threads; and what each computes alone."""
    n = te.var("n")
    A, B = te.placeholder((n, K), name="A"), te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((n, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    few, some, many = te.create_schedule(C), te.create_schedule(C), te.create_schedule(C)
    few[C].reorder(C.op.axis[0], k, C.op.axis[1])
    few[C].vectorize(few[C].split(C.op.axis[1], factor=8)[1])
    io, _ = some[C].split(C.op.axis[0], factor=4)
    some[C].vectorize(some[C].split(C.op.axis[1], factor=8)[1])
    io, _ = many[C].split(C.op.axis[0], factor=16)
    many[C].parallel(io)
    return tw.aot.BySize(n, {64: some, 3: few}, otherwise=many, args=[A, B, C])


def arrays(rows):
    generator = np.random.default_rng(rows)
    a, b = generator.standard_normal((rows, K)).astype("float32"), generator.standard_normal((K, N)).astype("float32")
    return a, b, np.zeros((rows, N), "float32")


def test_bools_that_are_packed_have_a_byte_each(tmp_path):
    A, M = te.placeholder((64,), name="A"), te.placeholder((64, 48), "bool", name="M", param=True)
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((48,), lambda j: te.sum(te.if_then_else(M[k, j], A[k], 0.0), axis=k), name="C")
    s = te.create_schedule(C)
    s[M].transform_layout(lambda i, j: [j // 16, i, j % 16], pad_value=0)
    tw.aot.library(tw.aot.freeze({"mask": (s, [A, M, C])}, targets=["x86-64-v3"], out=tmp_path), tmp_path)
    main = tmp_path / "main.c"
    main.write_text('#include <stdio.h>\n#include "kernels.h"\nint main(void) { printf("%zu", mask_M_bytes()); return 0; }\n')
    subprocess.run(["cc", main, *tmp_path.glob("*.a"), "-lpthread", "-lm", "-o", tmp_path / "main"], check=True)
    assert subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout == str(3 * 64 * 16)


def test_what_a_schedule_requires_counts_where_it_runs():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    by_quarters, plain = te.create_schedule(B), te.create_schedule(B)
    by_quarters[B].split(B.op.axis[0], factor=n // 4)  # of at least one
    for schedules, otherwise, refused in (({8: by_quarters}, plain, {1, 2, 3}), ({3: plain}, by_quarters, set()), ({8: plain}, by_quarters, set()),
                                          ({2: plain, 8: by_quarters}, plain, {3})):
        f = tw.build(tw.aot.BySize(n, schedules, otherwise=otherwise, args=[A, B]))
        for size in (1, 2, 3, 4, 8, 9, 30):
            a, b = np.arange(size, dtype="float32"), np.zeros(size, "float32")
            if size in refused:
                with pytest.raises(tw.ArgumentError, match="n // 4"):
                    f(a, b)
            else:
                f(a, b)
                assert (b == a + 1).all()


SIZES = {1: 3, 3: 3, 4: 64, 64: 64, 65: None, 200: None}


@pytest.mark.parametrize("target", [None, "interp"])
def test_each_size_has_the_bits_of_its_schedule(target):
    kernel = declared()
    f = tw.build(kernel, target=target)
    alone = {bound: tw.build(s, kernel.tensors, target=target) for bound, s in [*kernel.schedules.items(), (None, kernel.otherwise)]}
    for rows, bound in SIZES.items():
        a, b, c = arrays(rows)
        f(a, b, c)
        expected = np.zeros_like(c)
        alone[bound](a, b, expected)
        assert c.tobytes() == expected.tobytes(), rows
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    f(*arrays(0))


def test_the_file_says_the_table(tmp_path):
    kernels = {"rows": declared()}
    [path] = tw.aot.freeze(kernels, targets=["x86-64-v3"], out=tmp_path)
    text = pathlib.Path(path).read_text()
    assert text.count('range: {"size":"n","up_to":3,"steps":[[') == 1 and '"up_to":64' in text and "if n <= 3:" in text
    assert tw.aot.check(kernels, targets=["x86-64-v3"], out=tmp_path) == []
    tw.aot.library(path, tmp_path / "out")
    assert "with schedules up to n = 3, 64" in (tmp_path / "out/kernels.h").read_text()


def test_what_was_edited_is_proved_for_all_sizes(tmp_path):
    [path] = map(pathlib.Path, tw.aot.freeze({"rows": declared()}, targets=["x86-64-v3"], out=tmp_path))
    text = "".join(line for line in path.read_text().splitlines(True) if not line.startswith("checksum: "))
    path.write_text(text.replace("if n <= 3:", "if n <= 5:"))
    assert "if n <= 5:" in path.read_text()
    tw.aot.library(path, tmp_path / "out")
    path.write_text(text.replace("if i.o < n // 16:", "if i.o <= n // 16:"))
    with pytest.raises(tw.ArgumentError, match="must be seen to be safe"):
        tw.aot.library(path, tmp_path / "out")


def test_what_was_edited_may_multiply_sizes(tmp_path):
    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n, m), name="A"), te.placeholder((n, m), name="B")
    C = te.compute((n, m), lambda i, j: A[i, j] * B[i, j] + 1.0, name="C")
    soft = tw.ops.softmax(A)
    kernels = {"two": [A, B, C], "soft": (te.create_schedule(soft), [A, soft])}
    for path in map(pathlib.Path, tw.aot.freeze(kernels, targets=["x86-64-v3"], out=tmp_path)):
        text = "".join(line for line in path.read_text().splitlines(True) if not line.startswith("checksum: "))
        path.write_text(text)
        tw.aot.library(path, tmp_path / "out")
        assert "[m * " in text
        path.write_text(text.replace("[m * ", "[n * "))
        with pytest.raises(tw.ArgumentError, match="not seen to stay inside of"):
            tw.aot.library(path, tmp_path / "out")


@pytest.mark.parametrize("body, why", [
    ("F[i] = exp(A[i])", "a function that lowering should have expanded"),
    ("F[i] = A[i] * 2.0", None),
])
def test_what_was_edited_is_as_lowering_leaves_it(body, why, tmp_path):
    A = te.placeholder((64,), name="A")
    F = te.compute((64,), lambda i: A[i] + 1.0, name="F")
    [path] = map(pathlib.Path, tw.aot.freeze({"one": [A, F]}, targets=["x86-64-v3"], out=tmp_path))
    head = path.read_text().split("\n\n")[0]
    lines = "".join(line + "\n" for line in head.splitlines() if not line.startswith("checksum: "))
    path.write_text(lines + "\nkernel one(A: float32[64], F: out float32[64]):\n  for i in 0..64:\n    " + body + "\n")
    if why is None:
        tw.aot.library(path, tmp_path / "out")
        return
    with pytest.raises(tw.ArgumentError, match="one.x86-64-v3.twk: a program that was edited must be as lowering leaves one: " + why):
        tw.aot.library(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_launches_of_a_device_by_size(tmp_path):
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")

    def blocks(threads):
        s = te.create_schedule(B)
        outer, inner = s[B].split(B.op.axis[0], factor=threads)
        s[B].bind(outer, te.thread_axis("blockIdx.x"))
        s[B].bind(inner, te.thread_axis("threadIdx.x"))
        return s

    kernel = tw.aot.BySize(n, {512: blocks(32)}, otherwise=blocks(256), args=[A, B])
    [path] = tw.aot.freeze({"k": kernel}, targets=["sm_80"], out=tmp_path)
    text = pathlib.Path(path).read_text()
    assert "if n <= 512:\n    for bx in 0..(n + 31) // 32 blockIdx.x:" in text and "for bx in 0..(n + 255) // 256 blockIdx.x:" in text
    f = tw.build(kernel, target="interp")
    for size in (1, 512, 513, 2000):
        a, b = np.arange(size, dtype="float32"), np.zeros(size, "float32")
        f(a, b)
        np.testing.assert_array_equal(b, 2 * a)


MAIN = """#include "kernels.h"
#include <stdio.h>
static float a[200 * 24], b[24 * 40], c[200 * 40];
int main(void) {
  for (int i = 0; i < 200 * 24; ++i) a[i] = (float)(i % 7);
  for (int i = 0; i < 24 * 40; ++i) b[i] = (float)(i % 5);
  int64_t sizes[] = {0, 1, 3, 4, 64, 65, 200};
  for (int s = 0; s < 7; ++s) {
    double sum = 0, right = 0;
    int32_t code = rows_run(a, b, c, sizes[s]);
    for (int64_t i = 0; i < sizes[s]; ++i)
      for (int j = 0; j < 40; ++j) {
        sum += c[i * 40 + j];
        for (int k = 0; k < 24; ++k) right += a[i * 24 + k] * b[k * 40 + j];
      }
    if (code != 0 || sum != right) return 1 + s;
  }
  return 0;
}
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_in_a_program(tmp_path):
    paths = tw.aot.freeze({"rows": declared()}, targets=["x86-64-v2", "x86-64-v3"], out=tmp_path)
    tw.aot.library(paths, tmp_path)
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "main", tmp_path / "main.c", tmp_path / "libkernels.a"], check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 0


def test_the_table_is_measured(monkeypatch):
    kernel = declared()
    few, some, many = kernel.schedules[3], kernel.schedules[64], kernel.otherwise
    seconds = iter([1, 2, 3, 1, 2, 3, 2, 1, 3, 2, 3, 1])  # of three candidates at each of four sizes
    monkeypatch.setattr(tw.Function, "time", lambda f, *arrays: types.SimpleNamespace(median=next(seconds)), raising=True)
    table = tw.aot.BySize.measured(kernel.size, [few, some, many], [1, 512, 8, 64], kernel.tensors)
    assert table.schedules == {8: few, 64: some} and table.otherwise is many
    assert table.seconds == {1: [1, 2, 3], 8: [1, 2, 3], 64: [2, 1, 3], 512: [2, 3, 1]}
    monkeypatch.undo()
    table = tw.aot.BySize.measured(kernel.size, [few, some], [5], kernel.tensors)
    assert list(table.schedules) == [5] and table.otherwise is table.schedules[5] and min(table.seconds[5]) > 0
    a, b, c = arrays(7)
    tw.build(table)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    with pytest.raises(tw.ArgumentError, match="extents must be numbers or n"):
        X = te.placeholder((kernel.size, te.var("m")), name="X")
        Y = te.compute(X.shape, lambda i, j: X[i, j], name="Y")
        tw.aot.BySize.measured(kernel.size, [te.create_schedule(Y)], [4], [X, Y])
    for sizes in ([], [0], ["a"], 8):
        with pytest.raises(tw.ArgumentError):
            tw.aot.BySize.measured(kernel.size, [few], sizes, kernel.tensors)
    monkeypatch.setenv("TW_MEASURE", "forbid")
    with pytest.raises(tw.TuneError, match="forbidden"):
        tw.aot.BySize.measured(kernel.size, [few], [4], kernel.tensors)


def test_what_is_refused():
    good = declared()
    few = good.schedules[3]
    with pytest.raises(tw.ArgumentError, match="size must be a te.var"):
        tw.aot.BySize(8, {8: few}, few, good.tensors)
    for table in ({}, {0: few}, {True: few}, [few], {2.5: few}):
        with pytest.raises(tw.ArgumentError, match="positive integers for keys"):
            tw.aot.BySize(good.size, table, few, good.tensors)
    with pytest.raises(tw.ArgumentError, match="must be schedules"):
        tw.aot.BySize(good.size, {8: few}, None, good.tensors)
    with pytest.raises(tw.ArgumentError, match="m is no size of the kernel"):
        tw.build(tw.aot.BySize(te.var("m"), {8: few}, few, good.tensors))
    with pytest.raises(tw.ArgumentError, match="log chooses one schedule"):
        tw.build(good, log="some.jsonl")
