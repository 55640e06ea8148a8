"""int4 and uint4: two to a byte, under every schedule that is accepted."""

import ctypes

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

TARGETS = ["interp", "llvm", "llvm -mcpu=x86-64", "c"]
KINDS = [("int4", -8, 8), ("uint4", 0, 16)]


def numbers(shape, low, high, seed=0):
    return np.random.default_rng(seed).integers(low, high, shape).astype("int8" if low < 0 else "uint8")


@pytest.mark.parametrize("dtype, low, high", KINDS)
@pytest.mark.parametrize("shape", [(0,), (1,), (16,), (37,), (5, 7), (4, 8), (3, 1, 5)])
def test_packed_and_back(dtype, low, high, shape):
    x = numbers(shape, low, high)
    packed = tw.pack_int4(x, dtype)
    assert packed.shape == shape and packed.bytes.size == (x.size + 1) // 2
    np.testing.assert_array_equal(tw.unpack_int4(packed), x)
    np.testing.assert_array_equal(np.asarray(packed, "float32"), x.astype("float32"))
    if x.size > 1:
        assert packed.bytes[0] == (int(x.flat[0]) & 15) | (int(x.flat[1]) & 15) << 4


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype, low, high", KINDS)
@pytest.mark.parametrize("n", [1, 2, 15, 16, 33, 64])
def test_copies_of_all_lengths(n, dtype, low, high, target):
    A = te.placeholder((3, n), dtype, name="A")
    B = te.compute((3, n), lambda i, j: A[i, j], name="B")
    C = te.compute((3, n), lambda i, j: B[i, j].astype("int32"), name="C")
    x = numbers((3, n), low, high, n)
    for factor in (None, 4, 8, 16):
        s = te.create_schedule([B.op, C.op])
        if factor:
            s[B].vectorize(s[B].split(B.op.axis[1], factor)[1])
            s[C].vectorize(s[C].split(C.op.axis[1], factor)[1])
        b, c = tw.pack_int4(np.ones((3, n), "int8"), dtype), np.zeros((3, n), "int32")
        b.bytes[:] = 0xA5
        tw.build(s, [A, B, C], target=target)(tw.pack_int4(x, dtype), b, c)
        np.testing.assert_array_equal(tw.unpack_int4(b), x)
        np.testing.assert_array_equal(c, x)
        assert 3 * n % 2 == 0 or b.bytes[-1] >> 4 == 0


@pytest.mark.parametrize("target", TARGETS)
def test_conversions(target):
    """Integers wrap, floats saturate, NaN is 0."""
    i, f = np.arange(-40, 40, dtype="int32"), np.linspace(-20, 20, 80).astype("float32")
    f[:3] = np.nan, np.inf, -np.inf
    A, B = te.placeholder((80,), "int32", name="A"), te.placeholder((80,), "float32", name="B")
    for dtype, low, high in KINDS:
        for source, values in ((A, i), (B, f)):
            C = te.compute((80,), lambda j: source[j].astype(dtype), name="C")
            got = tw.pack_int4(np.zeros(80, "int8"), dtype)
            tw.build([source, C], target=target)(values, got)
            expected = (i - low) % 16 + low if values is i else np.clip(np.nan_to_num(np.trunc(f), nan=0, posinf=99, neginf=-99), low, high - 1)
            np.testing.assert_array_equal(tw.unpack_int4(got), expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, k, group", [(5, 24, 32, 16), (3, 17, 21, 7)])
def test_dequantised_matmul(target, m, n, k, group):
    X, W = te.placeholder((m, k), name="X"), te.placeholder((k, n), "int4", name="W")
    S = te.placeholder((k // group, n), name="S")
    D = te.compute((k, n), lambda p, j: W[p, j].astype("float32") * S[p // group, j], name="D")
    p = te.reduce_axis((0, k), name="p")
    C = te.compute((m, n), lambda i, j: te.sum(X[i, p] * D[p, j], axis=p), name="C")
    x, scales = np.random.default_rng(1).standard_normal((m, k)).astype("float32"), np.random.default_rng(2).random((k // group, n)).astype("float32")
    w = numbers((k, n), -8, 8)
    expected = x @ (w.astype("float32") * np.repeat(scales, group, 0))
    for inline in (True, False):
        s = te.create_schedule(C)
        jo, ji = s[C].split(C.op.axis[1], 8)
        s[C].reorder(C.op.axis[0], jo, p, ji)
        s[C].vectorize(ji)
        s[C].parallel(C.op.axis[0])
        if inline:
            s[D].compute_inline()
        else:
            s[D].vectorize(s[D].split(D.op.axis[1], 8)[1])
        got = np.zeros((m, n), "float32")
        tw.build(s, [X, W, S, C], target=target)(x, tw.pack_int4(w), scales, got)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    got = np.zeros((m, n), "float32")
    tw.build([X, W, S, C], target=target)(x, tw.pack_int4(w), scales, got)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def quantised(shape):
    A = te.placeholder(shape, name="A")
    C = te.compute(shape, lambda *i: A(*i).astype("int4"), name="C")
    return A, C, te.create_schedule(C)


def run_quantised(A, C, s, target):
    a = np.random.default_rng(3).uniform(-9, 9, [int(n) for n in A.shape]).astype("float32")
    c = tw.pack_int4(np.zeros(a.shape, "int8"))
    tw.build(s, [A, C], target=target)(a, c)
    np.testing.assert_array_equal(tw.unpack_int4(c), np.clip(np.trunc(a), -8, 7))


@pytest.mark.parametrize("target", TARGETS)
def test_parallel_at_whole_bytes(target):
    A, C, s = quantised((6, 8))
    s[C].parallel(C.op.axis[0])
    run_quantised(A, C, s, target)
    A, C, s = quantised((61,))  # the last of the iterations stores half a byte
    outer, inner = s[C].split(C.op.axis[0], 8)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    run_quantised(A, C, s, target)
    A, C, s = quantised((5, 12))
    outer, inner = s[C].split(C.op.axis[1], 6)
    s[C].reorder(outer, C.op.axis[0], inner)
    s[C].parallel(s[C].fuse(outer, C.op.axis[0]))
    run_quantised(A, C, s, target)


def refused(s, args):
    with pytest.raises(tw.ScheduleError, match="must store whole bytes of C, whose elements are int4") as caught:
        tw.lower(s, args)
    assert "test_int4.py" in str(caught.value)


def test_parallel_refused():
    A, C, s = quantised((6, 7))
    s[C].parallel(C.op.axis[0])
    refused(s, [A, C])
    A, C, s = quantised((60,))
    s[C].parallel(C.op.axis[0])
    refused(s, [A, C])
    A, C, s = quantised((60,))
    s[C].parallel(s[C].split(C.op.axis[0], 5)[0])
    refused(s, [A, C])
    A, C, s = quantised((6, 8))
    s[C].parallel(s[C].fuse(*C.op.axis))
    refused(s, [A, C])
    n = te.var("n")
    A, C, s = quantised((6, n))
    s[C].parallel(C.op.axis[0])
    refused(s, [A, C])


@pytest.mark.parametrize("target", TARGETS)
def test_symbolic_length(target):
    n = te.var("n")
    A, C, s = quantised((n,))
    outer, inner = s[C].split(C.op.axis[0], 16)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    f = tw.build(s, [A, C], target=target)
    for size in (0, 1, 15, 16, 17, 64):
        a = np.random.default_rng(size).uniform(-9, 9, size).astype("float32")
        c = tw.pack_int4(np.zeros(size, "int8"))
        f(a, c)
        np.testing.assert_array_equal(tw.unpack_int4(c), np.clip(np.trunc(a), -8, 7))


@pytest.mark.parametrize("shape", [(100, 101), (100, 100), (9999,)])
def test_default_schedule_shares_no_byte(shape):
    A, C, _ = quantised(shape)
    a = np.random.default_rng(5).uniform(-9, 9, shape).astype("float32")
    c = tw.pack_int4(np.zeros(shape, "int8"))
    tw.build([A, C])(a, c)
    np.testing.assert_array_equal(tw.unpack_int4(c), np.clip(np.trunc(a), -8, 7))


def test_function_tells_the_logical_shape(tmp_path):
    A, C, s = quantised((3, 5))
    f = tw.build(s, [A, C], name="quantise")
    assert [(arg.name, arg.dtype, arg.shape) for arg in f.args] == [("A", "float32", (3, 5)), ("C", "int4", (3, 5))]
    f.save(str(tmp_path / "quantise.so"))
    g = tw.load(str(tmp_path / "quantise.so"))
    assert [arg.dtype for arg in g.args] == ["float32", "int4"] and g.args[1].shape == (3, 5)
    a, c = np.full((3, 5), 7.0, "float32"), tw.pack_int4(np.zeros((3, 5), "int8"))
    g(a, c)
    assert c.bytes.tolist() == [0x77] * 7 + [0x07]


def test_wrong_arrays():
    A = te.placeholder((4, 3), "int4", name="A")
    f = tw.build([A, te.compute((4, 3), lambda i, j: A[i, j].astype("int8"), name="C")], name="widen")
    out = np.zeros((4, 3), "int8")
    with pytest.raises(tw.DTypeError, match="dtype must be int4, not int8"):
        f(np.zeros((4, 3), "int8"), out)
    with pytest.raises(tw.DTypeError, match="dtype must be int4, not uint4"):
        f(tw.pack_int4(np.zeros((4, 3), "int8"), "uint4"), out)
    with pytest.raises(tw.ArgumentError, match=r"shape must be \(4, 3\), not \(3, 4\)"):
        f(tw.pack_int4(np.zeros((3, 4), "int8")), out)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(tw.DTypeError, match="must hold two int4 in a byte"):
        f(np.zeros((4, 3), ml_dtypes.int4), out)
    x = numbers((4, 3), -8, 8)
    f(tw.pack_int4(x.astype(ml_dtypes.int4)), out)
    np.testing.assert_array_equal(out, x)


def test_wrong_packs():
    with pytest.raises(tw.ArgumentError, match=r"values must be in -8..7, not 0..8"):
        tw.pack_int4([0, 8])
    with pytest.raises(tw.DTypeError, match="expected integers, not float64"):
        tw.pack_int4([0.5])
    with pytest.raises(tw.DTypeError, match="dtype must be 'int4' or 'uint4', not 'int2'"):
        tw.pack_int4([0], "int2")
    with pytest.raises(tw.ArgumentError, match=r"bytes must be a uint8 array of shape \(2,\)"):
        tw.Int4Array(np.zeros(3, "uint8"), (4,))
    with pytest.raises(tw.ArgumentError, match="expected an Int4Array, not ndarray"):
        tw.unpack_int4(np.zeros(3, "uint8"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x + x,
        lambda x: x < x,
        lambda x: te.max(x, x),
        lambda x: te.abs(x),
        lambda x: te.popcount(x),
        lambda x: te.sum(x, axis=te.reduce_axis((0, 2))),
    ],
)
def test_for_storage_only(wrong):
    A = te.placeholder((4,), "int4", name="A")
    with pytest.raises(tw.DTypeError, match=r'astype\("int8"\) converts'):
        te.compute((4,), lambda i: wrong(A[i]))
    with pytest.raises(tw.DTypeError, match="dtype must be one to calculate with"):
        te.var("x", "int4")


class DLManagedTensor(ctypes.Structure):
    """DLPack before 1.0, of a packed tensor of 4 bits."""

    class Tensor(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
            ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
            ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
        ]

    _fields_ = [("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Packed4:
    def __init__(self, packed):
        self.packed, self.shape = packed, (ctypes.c_int64 * len(packed.shape))(*packed.shape)
        self.managed = DLManagedTensor()
        t = self.managed.tensor
        t.data, t.device[0], t.ndim, t.code, t.bits, t.lanes = packed.bytes.ctypes.data, 1, len(packed.shape), 0, 4, 1
        t.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


def test_dlpack_of_four_bits():
    A = te.placeholder((3, 5), "int4", name="A")
    f = tw.build([A, te.compute((3, 5), lambda i, j: A[i, j].astype("int8"), name="C")])
    x, out = numbers((3, 5), -8, 8), np.zeros((3, 5), "int8")
    f(Packed4(tw.pack_int4(x)), out)
    np.testing.assert_array_equal(out, x)


def test_header_has_bytes():
    A, C, s = quantised((3, 5))
    text = tw.build(s, [A, C], name="quantise").source("c") if hasattr(tw.Function, "source") else ""
    assert "C: int4[3, 5], written" in text and "uint8_t* restrict C" in text
