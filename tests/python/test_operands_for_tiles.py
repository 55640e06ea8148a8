"""Operands that no instruction can take as they lie: copies with their terms side by side, with zeros where a tile is not full."""

import re

import ml_dtypes
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

TILES, ZEN4 = "llvm -mcpu=sapphirerapids", "llvm -mcpu=znver4"
N1 = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"
BF16 = ("bfloat16", "bfloat16", "float32")
S8S8, U8S8 = ("int8", "int8", "int32"), ("uint8", "int8", "int32")

pytestmark = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")


def values(rng, tensor):
    """Whole numbers, of which float32 holds all sums here."""
    low = 0 if tensor.dtype == "uint8" else -8
    return rng.integers(low, 8, tensor.shape).astype(ml_dtypes.bfloat16 if tensor.dtype == "bfloat16" else tensor.dtype)


def product(types, m, n, k, *, across=False, turned=False, param=False):
    a = te.placeholder((k, m) if across else (m, k), types[0], name="A")
    b = te.placeholder((n, k) if turned else (k, n), types[1], name="B", param=param)
    t = te.reduce_axis((0, k), name="t")
    left, right = (lambda i, t: a[t, i]) if across else (lambda i, t: a[i, t]), (lambda t, j: b[j, t]) if turned else (lambda t, j: b[t, j])
    return [a, b, te.compute((m, n), lambda i, j: te.sum(left(i, t).astype(types[2]) * right(t, j).astype(types[2]), axis=t), name="C")]


def conv2d(types, channels, filters, size, kernel, stride, padding, layout):
    first = layout == "NCHW"
    x = te.placeholder((2, channels, size, size) if first else (2, size, size, channels), types[0], name="X")
    w = te.placeholder((filters, channels, kernel, kernel) if first else (kernel, kernel, channels, filters), types[1], name="W", param=True)
    return [x, w, tw.ops.conv2d(x, w, stride=stride, padding=padding, layout=layout, out_dtype=types[2], name="Y")]


def convolved(x, w, stride, padding, layout):
    x, w = x.astype(np.float64), w.astype(np.float64)
    if layout == "NCHW":
        x, w = np.moveaxis(x, 1, 3), np.transpose(w, (2, 3, 1, 0))
    around = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(around, w.shape[:2], (1, 2))[:, ::stride, ::stride]
    y = np.einsum("nhvcij,ijcf->nhvf", windows, w)
    return np.moveaxis(y, 3, 1) if layout == "NCHW" else y


def candidates(tensors, target):
    """The default schedule, the first candidate and the last, as programs of the interpreter."""
    space = tw.autotune.Task(tensors, target=target).space
    yield tw.default_schedule(tensors[-1], target), tensors
    for point in (0, len(space) - 1):
        yield space[point].instantiate()


def check(tensors, target, instruction, expected, arrays):
    for s, args in candidates(tensors, target):
        assert instruction in re.findall(r'tensorize\(\w+, "([\w.]+)"\)', s.to_python()), s.to_python()
        f, out = tw.build(s, args, target="interp"), np.zeros(tensors[-1].shape, tensors[-1].dtype)
        f(*(f.pack(t.name, x) if t.name in f.packed_params else x for t, x in zip(args, arrays)), out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("target, types, size, options, instruction", [
    (TILES, BF16, (32, 64, 64), {"across": True}, "amx.bf16"),
    (TILES, S8S8, (37, 65, 257), {"across": True, "turned": True}, "amx.s8s8.k13"),
    (TILES, BF16, (37, 33, 131), {}, "amx.bf16.k14"),
    (TILES, BF16, (37, 33, 131), {"param": True}, "amx.bf16.k14"),
    (TILES, U8S8, (37, 64, 513), {"turned": True, "param": True}, "amx.u8s8.k15"),
    (ZEN4, S8S8, (64, 64, 32), {"across": True}, "avx512_vnni_s8s8_16x4"),
    (ZEN4, S8S8, (64, 8, 64), {"turned": True}, "avx512_vnni_s8s8_16x4"),  # rows are the lanes
    (ZEN4, BF16, (64, 8, 64), {}, "avx512_bf16_dot_16x2"),
    (N1, S8S8, (64, 64, 32), {"across": True}, "neon_sdot_4x4")])
def test_products(target, types, size, options, instruction):
    tensors = product(types, *size, **options)
    a, b = (values(np.random.default_rng(0), t) for t in tensors[:2])
    left, right = a.astype(np.float64), b.astype(np.float64)
    expected = (left.T if options.get("across") else left) @ (right.T if options.get("turned") else right)
    check(tensors, target, instruction, expected, (a, b))


@pytest.mark.parametrize("target, types, where, instruction", [
    (TILES, BF16, (32, 16, 8, 3, 1, 1, "NCHW"), "amx.bf16.m8"),
    (TILES, S8S8, (64, 64, 9, 3, 2, 1, "NCHW"), "amx.s8s8.m5"),
    (TILES, U8S8, (64, 64, 8, 1, 1, 0, "NCHW"), "amx.u8s8.m8"),
    (ZEN4, S8S8, (16, 32, 8, 3, 1, 1, "NCHW"), "avx512_vnni_s8s8_16x4"),
    (N1, S8S8, (16, 32, 8, 3, 1, 1, "NCHW"), "neon_sdot_4x4"),
    (TILES, BF16, (3, 16, 32, 7, 2, 3, "NHWC"), "amx.bf16.k14"),
    (TILES, U8S8, (3, 16, 32, 7, 2, 3, "NHWC"), "amx.u8s8.k7"),
    (TILES, BF16, (3, 16, 32, 7, 2, 3, "NCHW"), "amx.bf16.k14"),
    (TILES, BF16, (3, 32, 64, 16, 16, 0, "NHWC"), "amx.bf16.m4"),  # patches
    (TILES, BF16, (32, 16, 19, 3, 1, 1, "NHWC"), "amx.bf16.m10"),
    (TILES, S8S8, (64, 16, 17, 3, 1, 1, "NHWC"), "amx.s8s8.m9"),
    (TILES, BF16, (3, 16, 34, 3, 2, 1, "NHWC"), "amx.bf16.m9.k6")])
def test_convolutions(target, types, where, instruction):
    tensors = conv2d(types, *where)
    x, w = (values(np.random.default_rng(0), t) for t in tensors[:2])
    check(tensors, target, instruction, convolved(x, w, *where[4:]), (x, w))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_what_stands_beside_a_window_stays_there(layout):
    """Neither an infinite pixel nor one that is no number reaches sums that do not read it, through no zero."""
    tensors = conv2d(BF16, 3, 16, 32, 3, 1, 1, layout)
    rng = np.random.default_rng(0)
    x, w = (values(rng, t) for t in tensors[:2])
    at = (0, slice(None), 5, 7) if layout == "NCHW" else (0, 5, 7)
    x[at] = np.nan
    x[tuple(1 if d == 0 else where for d, where in enumerate(at))] = np.inf
    with np.errstate(invalid="ignore"):
        expected = convolved(x, w, 1, 1, layout)
    finite = np.isfinite(expected)
    assert 0 < (~finite).sum() <= 2 * 9 * 16
    for s, args in candidates(tensors, TILES):
        f, out = tw.build(s, args, target="interp"), np.zeros(tensors[-1].shape, "float32")
        f(x, f.pack("W", w), out)
        np.testing.assert_array_equal(np.isfinite(out), finite)
        np.testing.assert_array_equal(out[finite], expected[finite])


def test_on_this_cpu():
    """The same programs as code, by whatever instructions this CPU has."""
    rng = np.random.default_rng(0)
    for types in (BF16, S8S8, U8S8):
        for where in ((3, 16, 37, 7, 2, 3, "NHWC"), (3, 16, 37, 7, 2, 3, "NCHW"), (24, 40, 19, 3, 1, 1, "NHWC"), (24, 40, 19, 3, 1, 1, "NCHW"), (64, 32, 17, 1, 1, 0, "NCHW")):
            tensors = conv2d(types, *where)
            f = tw.build(tensors)
            x, w = (values(rng, t) for t in tensors[:2])
            out = np.zeros(tensors[-1].shape, types[2])
            f(x, f.pack("W", w), out)
            np.testing.assert_array_equal(out, convolved(x, w, *where[4:]), err_msg=f"{types} {where}")
        for size in ((100, 100, 100), (257, 113, 129), (64, 8, 256), (31, 33, 1000)):
            for across in (False, True):
                tensors = product(types, *size, across=across)
                f = tw.build(tensors)
                a, b = (values(rng, t) for t in tensors[:2])
                out = np.zeros(tensors[-1].shape, types[2])
                f(a, b, out)
                left = a.astype(np.float64)
                np.testing.assert_array_equal(out, (left.T if across else left) @ b.astype(np.float64), err_msg=f"{types} {size} {across}")
