"""Automatic schedules multiply bytes and bfloat16 by the instructions that a CPU has; nothing runs."""

import re

import ml_dtypes
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

A72, N1, V1 = (f"llvm -mtriple=aarch64-linux-gnu -mcpu={cpu}" for cpu in ("cortex-a72", "neoverse-n1", "neoverse-v1"))
S8S8, U8U8, U8S8 = ("int8", "int8", "int32"), ("uint8", "uint8", "int32"), ("uint8", "int8", "int32")
BF16 = ("bfloat16", "bfloat16", "float32")


def matmul(types, rows=64):
    a, b = te.placeholder((rows, 64), types[0], name="A"), te.placeholder((64, 64), types[1], name="B", param=True)
    k = te.reduce_axis((0, 64), name="k")
    return te.compute((rows, 64), lambda i, j: te.sum(a[i, k].astype(types[2]) * b[k, j].astype(types[2]), axis=k), name="C")


def dense(types):
    c, bias = matmul(types), te.placeholder((64,), types[2], name="bias")
    return te.compute((64, 64), lambda i, j: te.max(c[i, j] + bias[j], te.const(0, types[2])), name="D")


def conv2d(types):
    """3x3 over a padded copy."""
    x = te.placeholder((1, 14, 14, 32), types[0], name="X")
    w = te.placeholder((3, 3, 32, 32), types[1], name="W", param=True)
    p = te.compute((1, 16, 16, 32), lambda n, h, v, c: te.if_then_else(
        te.all(h >= 1, h < 15, v >= 1, v < 15), x[n, h - 1, v - 1, c], te.const(0, types[0])), name="P")
    kh, kw, c = (te.reduce_axis((0, extent), name=name) for extent, name in ((3, "kh"), (3, "kw"), (32, "c")))
    return te.compute((1, 14, 14, 32), lambda n, h, v, f: te.sum(
        p[n, h + kh, v + kw, c].astype(types[2]) * w[kh, kw, c, f].astype(types[2]), axis=[kh, kw, c]), name="Y")


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")
@pytest.mark.parametrize("target, types, products, convolutions", [
    (A72, S8S8, "neon_sdot_4x4", "neon_sdot_4x4"), (A72, U8S8, "neon_usdot_4x4", "neon_usdot_4x4"),
    (N1, S8S8, "neon_sdot_4x4", "neon_sdot_4x4"), (N1, U8U8, "neon_udot_4x4", "neon_udot_4x4"),
    (V1, S8S8, "neon_smmla_2x2x8", "neon_sdot_4x4"), (V1, U8U8, "neon_udot_4x4", "neon_udot_4x4"),
    (V1, U8S8, "neon_usdot_4x4", "neon_usdot_4x4"), (V1, BF16, "neon_bfmmla_2x2x4", "neon_bfdot_4x2"),
    ("llvm -mcpu=znver4", U8S8, "avx512_vnni_dot_16x4", "avx512_vnni_dot_16x4"),
    ("llvm -mcpu=znver4", S8S8, "avx512_vnni_s8s8_16x4", "avx512_vnni_s8s8_16x4"),
    ("llvm -mcpu=alderlake", U8S8, "avx_vnni_dot_8x4", "avx_vnni_dot_8x4"),
    ("llvm -mcpu=alderlake", S8S8, "avx_vnni_s8s8_8x4", "avx_vnni_s8s8_8x4"),
    ("llvm -mcpu=sapphirerapids", U8S8, "amx.u8s8", "amx.u8s8.m14.k8"),
    ("llvm -mcpu=sapphirerapids", BF16, "amx.bf16", "amx.bf16.m14")])
def test_the_instruction_is_chosen(target, types, products, convolutions):
    for output, expected in ((matmul(types), products), (dense(types), products), (conv2d(types), convolutions)):
        text = tw.default_schedule(output, target).to_python()
        assert re.findall(r'tensorize\(\w+, "([\w.]+)"\)', text) == [expected]


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")
@pytest.mark.parametrize("target, types, instruction", [
    ("llvm -mcpu=znver4", S8S8, "avx512_vnni_s8s8_16x4"), ("llvm -mcpu=sapphirerapids", BF16, "avx512_bf16_dot_16x2"),
    (V1, S8S8, "neon_sdot_4x4"), ("llvm -mcpu=x86-64-v3", S8S8, "avx_vnni_s8s8_8x4"), ("llvm -mcpu=x86-64-v2", S8S8, None)])
def test_of_one_row(target, types, instruction):
    """Tiles and matrices need more rows than that."""
    text = tw.default_schedule(matmul(types, rows=1), target).to_python()
    assert re.findall(r'tensorize\(\w+, "([\w.]+)"\)', text) == ([instruction] if instruction else [])


def product(types, m, n, k, param, turned):
    a = te.placeholder((m, k), types[0], name="A")
    b = te.placeholder((n, k) if turned else (k, n), types[1], name="B", param=param)
    t = te.reduce_axis((0, k), name="t")
    return a, b, te.compute((m, n), lambda i, j: te.sum(
        a[i, t].astype(types[2]) * (b[j, t] if turned else b[t, j]).astype(types[2]), axis=t), name="C")


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")
@pytest.mark.parametrize("target, types, size, param, instruction", [
    ("llvm -mcpu=znver4", S8S8, (32, 1000, 1023), True, "avx512_vnni_s8s8_16x4"),
    ("llvm -mcpu=znver4", S8S8, (32, 20, 35), False, "avx512_vnni_s8s8_16x4"),
    ("llvm -mcpu=znver4", S8S8, (32, 20, 36), True, "avx512_vnni_s8s8_16x4"),
    ("llvm -mcpu=znver4", S8S8, (7, 8, 36), True, None),  # half of all lanes would be for nobody
    ("llvm -mcpu=znver4", BF16, (197, 1000, 1001), True, "avx512_bf16_dot_16x2"),
    ("llvm -mcpu=x86-64-v3", S8S8, (32, 1001, 1023), True, "avx_vnni_s8s8_8x4"),
    (A72, S8S8, (32, 1001, 1023), True, "neon_sdot_4x4"), (N1, S8S8, (33, 71, 130), False, "neon_sdot_4x4"),
    (V1, S8S8, (33, 1001, 1024), True, "neon_smmla_2x2x8"), (V1, S8S8, (33, 71, 130), False, "neon_smmla_2x2x8"),
    (V1, S8S8, (33, 1001, 1023), True, "neon_smmla_2x2x8"), (V1, BF16, (33, 71, 131), False, "neon_bfmmla_2x2x4"),
    ("llvm -mcpu=sapphirerapids", U8S8, (197, 1000, 1024), True, "amx.u8s8"),
    ("llvm -mcpu=sapphirerapids", U8S8, (197, 1000, 1000), True, "amx.u8s8"),  # of 64 terms, the last with zeros
    ("llvm -mcpu=sapphirerapids", U8S8, (8, 1000, 1000), True, "amx.u8s8.m8.k10"),
    ("llvm -mcpu=sapphirerapids", U8S8, (8, 1000, 1000), False, "avx512_vnni_dot_16x4"),  # packing takes the time
    ("llvm -mcpu=sapphirerapids", U8S8, (1024, 1024, 96), True, "avx512_vnni_dot_16x4"),  # so few terms are added sooner
    ("llvm -mcpu=sapphirerapids", U8S8, (2048, 32, 264), True, "avx512_vnni_dot_16x4"),  # rows are copied for two tiles
    ("llvm -mcpu=sapphirerapids", BF16, (1024, 1024, 48), True, "amx.bf16.k12"),
    ("llvm -mcpu=sapphirerapids", U8S8, (197, 1000, 1023), True, "amx.u8s8"),
    ("llvm -mcpu=sapphirerapids", BF16, (197, 1001, 1024), False, "amx.bf16")])
def test_sizes_that_leave_ends(target, types, size, param, instruction):
    for turned in (False, True):
        text = tw.default_schedule(product(types, *size, param, turned)[-1], target).to_python()
        assert re.findall(r'tensorize\(\w+, "([\w.]+)"\)', text) == ([instruction] if instruction else []), text


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")
@pytest.mark.parametrize("size", [(32, 1000, 1024), (32, 1024, 1023), (32, 1000, 1023)])
@pytest.mark.parametrize("param", [False, True])
def test_ends_of_what_is_computed_before(size, param):
    """Quantized activations."""
    m, n, k = size
    x = te.placeholder((m, k), name="X")
    q = te.compute((m, k), lambda i, t: te.nearbyint(te.exp(x[i, t])).astype("int8"), name="Q")
    w = te.placeholder((n, k), "int8", name="W", param=param)
    t = te.reduce_axis((0, k), name="t")
    c = te.compute((m, n), lambda i, j: te.sum(q[i, t].astype("int32") * w[j, t].astype("int32"), axis=t), name="C")
    assert "avx512_vnni_s8s8_16x4" in tw.default_schedule(c, "llvm -mcpu=znver4").to_python()


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")
@pytest.mark.parametrize("types", [S8S8, U8S8, BF16])
@pytest.mark.parametrize("param", [False, True])
def test_ends_are_right(types, param):
    """To the last bit: sums of these are whole numbers that float32 holds."""
    rng = np.random.default_rng(0)
    for m, n, k in ((5, 71, 37), (7, 9, 131), (3, 197, 43)):
        for turned in (False, True):
            low, high = (-8, 8) if types is BF16 else (0, 256) if types[0] == "uint8" else (-128, 128)
            a = rng.integers(low, high, (m, k)).astype(ml_dtypes.bfloat16 if types is BF16 else types[0])
            b = rng.integers(-8 if types is BF16 else -128, 8 if types is BF16 else 128, (n, k) if turned else (k, n))
            b, c = b.astype(ml_dtypes.bfloat16 if types is BF16 else types[1]), np.empty((m, n), types[2])
            f = tw.build([*product(types, m, n, k, param, turned)])
            f(a, f.pack("B", b) if f.packed_params else b, c)
            np.testing.assert_array_equal(c, a.astype("float64") @ (b.T if turned else b).astype("float64"))


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")
def test_tiles_are_shown_anywhere_and_refused_where_the_cpu_has_none():
    if "amx-tile" in tw.Target("llvm -mcpu=native").features:
        pytest.skip("skipped: this CPU has tiles")
    C = matmul(BF16)
    f = tw.build([*C.op.input_tensors, C], target="llvm -mcpu=sapphirerapids")
    assert "tdpbf16ps" in f.source("asm")
    with pytest.raises(tw.TargetError, match="it lacks amx-bf16, amx-int8, amx-tile"):
        f.pack("B", np.zeros((64, 64), ml_dtypes.bfloat16))


@pytest.mark.parametrize("columns", [41, 42, 44])
@pytest.mark.parametrize("turned", [False, True], ids=["as it lies", "turned"])
@pytest.mark.parametrize("target", ["llvm -mcpu=sapphirerapids", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76"])
@pytest.mark.parametrize("param", [False, True], ids=["packed by it", "packed ahead"])
def test_terms_of_a_longer_row(columns, turned, target, param):
    """Rows that are packed whole need not end with a group of terms where the sum does."""
    A = te.placeholder((64, columns), "int8", name="A")
    B = te.placeholder((columns, 16) if turned else (16, columns), "int8", name="B", param=param)
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((64, 16), lambda i, j: te.sum(A[i, k].astype("int32") * (B[k, j] if turned else B[j, k]).astype("int32"), axis=k), name="C")
    space = tw.autotune.Task([A, B, C], target=target).space
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype("int8") for shape in (A.shape, B.shape))
    for candidate in (space[0], space[len(space) - 1]):
        s, args = candidate.instantiate()
        f, c = tw.build(s, args, target="interp"), np.zeros((64, 16), "int32")
        f(a, f.pack("B", b) if param else b, c)
        np.testing.assert_array_equal(c, a[:, :32].astype("int32") @ (b[:32] if turned else b[:, :32].T).astype("int32"))


@pytest.mark.parametrize("copied", [0, 1], ids=["where they lie", "copied"])
@pytest.mark.parametrize("columns", [64, 72])
def test_rows_of_tiles(columns, copied):
    """Whole tiles read rows where they lie, or as a task has copied them."""
    A, B, C = product(U8S8, 48, columns, 256, True, False)
    space = tw.autotune.Task([A, B, C], target="llvm -mcpu=sapphirerapids").space
    candidate = next(point for point in (space[i] for i in range(len(space))) if point.knobs["C.copy_rows"] == copied)
    s, args = candidate.instantiate()
    assert ("cache_read(A" in s.to_python()) == bool(copied) and '"amx.u8s8"' in s.to_python()
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, A.shape).astype("uint8"), rng.integers(-128, 128, B.shape).astype("int8")
    c = np.zeros(C.shape, "int32")
    f = tw.build(s, args, target="interp")
    f(a, f.pack("B", b), c)
    np.testing.assert_array_equal(c, a.astype("int32") @ b.astype("int32"))


@pytest.mark.parametrize("target, instruction", [
    ("llvm -mcpu=znver4", "avx512_vnni_s8s8_16x4"), ("llvm -mcpu=x86-64-v3 -mattr=+avxvnni", "avx_vnni_s8s8_8x4"), (N1, "neon_sdot_4x4"), (V1, "neon_sdot_4x4")])
@pytest.mark.parametrize("channels, kernel, stride, padding", [(3, 7, 2, 3), (3, 3, 2, 0), (6, 3, 1, 1), (3, 4, 4, 0)])
@pytest.mark.parametrize("order", ["HWIO", "OIHW"])
def test_few_channels(target, instruction, channels, kernel, stride, padding, order):
    """Terms are those of the pixels of a line, which are copied side by side."""
    size, filters = 12, 16
    X = te.placeholder((2, size, size, channels), "int8", name="X")
    W = te.placeholder((kernel, kernel, channels, filters) if order == "HWIO" else (filters, channels, kernel, kernel), "int8", name="W", param=True)
    P = tw.ops.pad(X, (0, padding, padding, 0), name="P") if padding else X
    kh, kw, c = (te.reduce_axis((0, n), name=name) for n, name in ((kernel, "kh"), (kernel, "kw"), (channels, "c")))
    result = (size + 2 * padding - kernel) // stride + 1
    Y = te.compute((2, result, result, filters), lambda n, h, v, f: te.sum(
        P[n, h * stride + kh, v * stride + kw, c].astype("int32")
        * (W[kh, kw, c, f] if order == "HWIO" else W[f, c, kh, kw]).astype("int32"), axis=[kh, kw, c]), name="Y")
    space = tw.autotune.Task([X, W, Y], target=target).space
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-128, 128, t.shape).astype("int8") for t in (X, W))
    around = np.pad(x.astype("int32"), ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (kernel, kernel), (1, 2))[:, ::stride, ::stride]
    expected = np.einsum("nhvcij,ijcf->nhvf" if order == "HWIO" else "nhvcij,fcij->nhvf", windows, w.astype("int32"))
    for point in (0, len(space) - 1):
        s, args = space[point].instantiate()
        assert re.findall(r'tensorize\(\w+, "([\w.]+)"\)', s.to_python()) == [instruction]
        f, y = tw.build(s, args, target="interp"), np.zeros(Y.shape, "int32")
        f(x, f.pack("W", w), y)
        np.testing.assert_array_equal(y, expected)
