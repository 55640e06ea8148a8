"""Declared intrinsics: what their statements may find, functions that come later, strides, vectors, tails, composite subscripts."""

import ctypes

import numpy as np
import pytest
from test_tensorize import TARGETS, gemv, matmul, rows_apart, run, tw_test_gemv  # noqa: F401

import tensorwright as tw
from tensorwright import te

# What a declaration's statements find in their output is anything.


def accumulating(parts, symbol="tw_test_gemv"):
    """`parts` name what body, reset and update are: "add" adds to the output, "set" overwrites it, "zero" clears it."""
    a, b = te.placeholder((8,), name="a"), te.placeholder((4, 8), name="b")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((4,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")

    def statements(ins, outs):
        def made(what):
            ib = te.ir_builder.create()
            z = ib.buffer_ptr(outs[0])
            if what in ("zero", "set"):
                with ib.for_range(0, 4, name="i") as i:
                    z[i] = 0.0
            if what in ("add", "set"):
                ib.emit(te.call_extern("int32", symbol, outs[0].access_ptr("rw"), ins[0].access_ptr("r"), ins[1].access_ptr("r")))
            return ib.get() if what else None

        return tuple(made(what) for what in parts) if isinstance(parts, tuple) else made(parts)

    return te.decl_tensor_intrin(c.op, statements, name="gemv")


@pytest.fixture
def gemv_loaded():
    te.register_extern("tw_test_gemv", tw_test_gemv)
    yield
    te.register_extern("tw_test_gemv", None)


@pytest.mark.parametrize("parts", ["add", ("add", None, None), ("add", "zero", None)])
def test_a_body_that_only_adds_is_refused(gemv_loaded, parts):
    with pytest.raises(tw.ScheduleError, match="the body must compute the expression of op") as e:
        accumulating(parts)
    assert "it adds to what the output holds" in str(e.value) and "return (None, reset, update)" in str(e.value)


def test_an_update_that_overwrites_is_refused(gemv_loaded):
    with pytest.raises(tw.ScheduleError, match="the update must add the expression of op to what the output holds"):
        accumulating(("set", "zero", "set"))
    with pytest.raises(tw.ScheduleError, match="reset and update together must compute the expression of op"):
        accumulating((None, "add", "add"))


@pytest.mark.parametrize("parts", ["set", ("set", "zero", "add"), (None, None, "add"), ("add", "zero", "add")])
def test_what_says_where_it_starts_is_accepted(gemv_loaded, parts):
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((4, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((6, 4), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    s = te.create_schedule(C)
    s[C].tensorize(C.op.axis[1], accumulating(parts))
    a, b = np.arange(48, dtype="float32").reshape(6, 8), np.arange(32, dtype="float32").reshape(4, 8)
    out = np.full((6, 4), 7, "float32")
    tw.build(s, [A, B, C])(a, b, out)
    np.testing.assert_array_equal(out, a @ b.T)


def test_a_maximum_of_what_was_there_is_no_body():
    a = te.placeholder((4, 8), name="a")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((4,), lambda i: te.max(a[i, k], axis=k), name="c")

    @ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.POINTER(ctypes.c_float)] * 2)
    def higher(c, a):
        for i in range(4):
            c[i] = max([c[i], *a[i * 8 : i * 8 + 8]])
        return 0

    te.register_extern("tw_test_higher", higher)
    with pytest.raises(tw.ScheduleError, match="the body must compute"):
        te.decl_tensor_intrin(c.op, lambda ins, outs: te.call_extern("int32", "tw_test_higher", outs[0].access_ptr("w"), ins[0].data))
    te.register_extern("tw_test_higher", None)


def test_a_function_that_is_loaded_later_is_judged_later():
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((4, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((6, 4), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    good, bad = te.create_schedule(C), te.create_schedule(C)
    good[C].tensorize(C.op.axis[1], accumulating((None, "zero", "add"), "tw_test_late"))
    bad[C].tensorize(C.op.axis[1], accumulating("add", "tw_test_late"))
    assert "tw_test_late" in str(tw.lower(good, [A, B, C]))
    with pytest.raises(tw.BuildError, match="tw_test_late, which is not known"):
        tw.build(good, [A, B, C])
    te.register_extern("tw_test_late", tw_test_gemv)
    try:
        a, b = np.arange(48, dtype="float32").reshape(6, 8), np.arange(32, dtype="float32").reshape(4, 8)
        np.testing.assert_array_equal(run(good, [A, B, C], [a, b], "llvm"), a @ b.T)
        with pytest.raises(tw.ScheduleError, match="gemv must compute its expression: the body must compute"):
            tw.build(bad, [A, B, C])
    finally:
        te.register_extern("tw_test_late", None)


# Buffers with strides: the function is told how far apart rows are.

STRIDED = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.POINTER(ctypes.c_float)] * 3, *[ctypes.c_int] * 3)


@STRIDED
def tw_test_gemv_strided(c, a, b, rows, columns, apart):
    for i in range(rows):
        for k in range(columns):
            c[i] += a[k] * b[i * apart + k]
    return 0


@STRIDED
def tw_test_gemv_compact(c, a, b, rows, columns, apart):
    return tw_test_gemv_strided(c, a, b, rows, columns, columns)


def strided_gemv(symbol="tw_test_gemv_strided", **buffer):
    a, b = te.placeholder((8,), name="a"), te.placeholder((4, 8), name="b")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((4,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    Bb = te.decl_buffer(b.shape, b.dtype, name="Bb", strides=[te.var("s1"), 1], **buffer)

    def statements(ins, outs):
        aa, bb = ins
        ib = te.ir_builder.create()
        z = ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, name="i") as i:
            z[i] = 0.0
        return None, ib.get(), te.call_extern("int32", symbol, outs[0].access_ptr("rw"), aa.access_ptr("r"), bb.data, 4, 8, bb.strides[0])

    return te.decl_tensor_intrin(c.op, statements, name="gemv", binds={b: Bb}, default_buffer_params={"offset_factor": 1})


@pytest.fixture
def strided():
    for f in (tw_test_gemv_strided, tw_test_gemv_compact):
        name = "tw_test_gemv_strided" if f is tw_test_gemv_strided else "tw_test_gemv_compact"
        te.register_extern(name, f)
    yield
    te.register_extern("tw_test_gemv_strided", None)
    te.register_extern("tw_test_gemv_compact", None)


@pytest.mark.parametrize("target", TARGETS[:3])
def test_rows_that_lie_apart_by_a_stride(strided, rows_apart, target):
    s, A, B, C, _, ji = rows_apart
    s[C].tensorize(ji, strided_gemv())
    assert ", 4i32, 8i32, int32(16))" in str(tw.lower(s, [A, B, C]))
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((6, 16), "float32"), rng.standard_normal((8, 16), "float32")
    np.testing.assert_allclose(run(s, [A, B, C], [a, b], target), a @ b.T, rtol=1e-5)


def test_the_stride_is_that_of_the_memory(strided, rows_apart):
    s, A, B, C, ko, ji = rows_apart
    tile = s.cache_read(B, "global", [C])
    s[tile].compute_at(s[C], ko)
    s[tile].storage_align(s[tile].op.axis[0], 32, 5)
    s[C].tensorize(ji, strided_gemv())
    assert ", 4i32, 8i32, int32(37))" in str(tw.lower(s, [A, B, C]))
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((6, 16), "float32"), rng.standard_normal((8, 16), "float32")
    np.testing.assert_allclose(run(s, [A, B, C], [a, b], "llvm"), a @ b.T, rtol=1e-5)


def test_a_symbolic_stride(strided):
    n = te.var("n")
    A, B = te.placeholder((6, n), name="A"), te.placeholder((4, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((6, 4), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    s = te.create_schedule(C)
    i, j = C.op.axis
    ko, ki = s[C].split(k, 8)
    s[C].reorder(i, ko, j, ki)
    s[C].tensorize(j, strided_gemv())
    a, b, out = np.arange(66, dtype="float32").reshape(6, 11), np.arange(44, dtype="float32").reshape(4, 11), np.zeros((6, 4), "float32")
    tw.build(s, [A, B, C])(a, b, out)
    np.testing.assert_array_equal(out, a @ b.T)


def test_a_function_that_ignores_the_stride_is_refused(strided):
    with pytest.raises(tw.ScheduleError, match="must compute the expression of op"):
        strided_gemv("tw_test_gemv_compact")


def test_promises_of_buffers_are_kept(strided, rows_apart):
    s, A, B, C, ko, ji = rows_apart
    aligned, local = s.copy(), s.copy()
    aligned[C].tensorize(ji, strided_gemv(offset_factor=8))
    aligned.check()
    aligned = s.copy()
    aligned[C].tensorize(ji, strided_gemv(offset_factor=16))
    with pytest.raises(tw.ScheduleError, match="the tile of B must begin at a multiple of 16 elements, as offset_factor of b says"):
        aligned.check()
    intrin = strided_gemv(scope="local")
    local[C].tensorize(ji, intrin)
    with pytest.raises(tw.ScheduleError, match="must lie in scratch of scope local, and B does not"):
        local.check()
    tile = s.cache_read(B, "local", [C])
    s[tile].compute_at(s[C], ko)
    s[C].tensorize(ji, intrin)
    s.check()


def test_buffers_have_what_tvm_has():
    b = te.decl_buffer((4, 8), name="b", strides=[te.var("s"), 1], elem_offset=te.var("at"), data_alignment=64, scope="global", offset_factor=4)
    assert str(b.strides) == "(s, 1)" and str(b.elem_offset) == "at" and te.decl_buffer((4, 8)).elem_offset == 0 and te.decl_buffer((4, 8)).strides == (8, 1)
    assert str(b.vload((1, 0), "float32x4")) == "b[1, 0 : 4]" and str(te.decl_buffer((8,), name="x").vload(4)) == "x[4]"
    with pytest.raises(tw.DTypeError, match="vload: dtype must be float32, or that with lanes"):
        b.vload((0, 0), "int32x4")
    with pytest.raises(tw.ExprError, match="its strides are declared"):
        te.ir_builder.create().buffer_ptr(b)[3]
    for keywords, rule in [({"strides": [1]}, "one stride for each"), ({"strides": [1, "s"]}, "positive number or a te.var"),
                           ({"scope": "shared"}, "scope must be"), ({"offset_factor": -1}, "offset_factor must be")]:
        with pytest.raises(tw.ArgumentError, match=rule):
            te.decl_buffer((4, 8), **keywords)


@pytest.mark.parametrize("target", TARGETS)
def test_vectors_of_buffers(target):
    a, b = te.placeholder((4,), name="a"), te.placeholder((4,), name="b")
    c = te.compute((4,), lambda i: a[i] * b[i], name="c")
    four = te.decl_tensor_intrin(
        c.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x4") * ins[1].vload(0, "float32x4")), name="mul_4")
    A, B = te.placeholder((24,), name="A"), te.placeholder((24,), name="B")
    C = te.compute((24,), lambda i: A[i] * B[i], name="C")
    s = te.create_schedule(C)
    s[C].tensorize(s[C].split(C.op.axis[0], 4)[1], four)
    x, y = np.arange(24, dtype="float32"), np.arange(24, dtype="float32") - 7
    np.testing.assert_array_equal(run(s, [A, B, C], [x, y], target), x * y)


# Tails: the intrinsic where a tile is whole, the loops elsewhere.


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [37, 32, 19])
def test_a_tail(target, n):
    A, B, C = matmul(n=n)
    s = te.create_schedule(C)
    jo, ji = s[C].split(C.op.axis[1], 16)
    s[C].reorder(C.op.axis[0], jo, C.op.reduce_axis[0], ji)
    s[C].tensorize(ji, "fma_16")
    a, b = np.arange(96, dtype=np.float32).reshape(8, 12), np.arange(12 * n, dtype=np.float32).reshape(12, n) - 99
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b], target), a @ b)


@pytest.mark.parametrize("bodies", [("body", "update"), ("reset", "update"), ("update",)])
@pytest.mark.parametrize("order", ["rows", "sums"])
def test_tails_of_rows_and_sums(bodies, order):
    A, B, C = matmul(n=11, k=14)
    s = te.create_schedule(C)
    i, j = s[C].op.axis
    jo, ji = s[C].split(j, 4)
    ko, ki = s[C].split(s[C].op.reduce_axis[0], 3)
    s[C].reorder(*((i, jo, ko) if order == "rows" else (ko, i, jo)), ji, ki)
    s[C].tensorize(ji, gemv(bodies))
    a, b = np.arange(112, dtype=np.float32).reshape(8, 14), np.arange(154, dtype=np.float32).reshape(14, 11) - 9
    for target in TARGETS[:3]:
        np.testing.assert_array_equal(run(s, [A, B, C], [a, b], target), a @ b)


def test_a_symbolic_tail():
    n = te.var("n")
    A, B = te.placeholder((8, 12), name="A"), te.placeholder((12, n), name="B")
    k = te.reduce_axis((0, 12), name="k")
    C = te.compute((8, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    jo, ji = s[C].split(C.op.axis[1], 16)
    s[C].reorder(C.op.axis[0], jo, k, ji)
    s[C].tensorize(ji, "fma_16")
    f = tw.build(s, [A, B, C])
    for size in (0, 5, 16, 37):
        a, b, out = np.arange(96, dtype="float32").reshape(8, 12), np.arange(12 * size, dtype="float32").reshape(12, size), np.zeros((8, size), "float32")
        f(a, b, out)
        np.testing.assert_array_equal(out, a @ b)


# Subscripts of several axes.


@pytest.mark.parametrize("target", TARGETS[:3])
def test_an_intrinsic_of_composite_subscripts(target):
    x = te.placeholder((10,), name="x")
    w = te.placeholder((3,), name="w")
    r = te.reduce_axis((0, 3), name="r")
    y = te.compute((4,), lambda i: te.sum(x[i * 2 + r] * w[r], axis=r), name="y")

    def statements(ins, outs):
        ib = te.ir_builder.create()
        xx, ww, yy = ib.buffer_ptr(ins[0]), ib.buffer_ptr(ins[1]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, name="i") as i:
            yy[i] = xx[i * 2] * ww[0] + xx[i * 2 + 1] * ww[1] + xx[i * 2 + 2] * ww[2]
        return ib.get()

    A, W = te.placeholder((3, 18), name="A"), te.placeholder((3,), name="W")
    k = te.reduce_axis((0, 3), name="k")
    C = te.compute((3, 8), lambda i, j: te.sum(A[i, j * 2 + k] * W[k], axis=k), name="C")
    s = te.create_schedule(C)
    jo, ji = s[C].split(C.op.axis[1], 4)
    s[C].tensorize(ji, te.decl_tensor_intrin(y.op, statements, name="conv"))
    a, v = np.arange(54, dtype="float32").reshape(3, 18), np.array([1, -2, 3], "float32")
    want = np.stack([a[:, 2 * j : 2 * j + 3] @ v for j in range(8)], 1)
    np.testing.assert_array_equal(run(s, [A, W, C], [a, v], target), want)
    other = te.compute((3, 8), lambda i, j: te.sum(A[i, j + k * 2] * W[k], axis=k), name="C")
    s = te.create_schedule(other)
    jo, ji = s[other].split(other.op.axis[1], 4)
    s[other].tensorize(ji, te.decl_tensor_intrin(y.op, statements, name="conv"))
    with pytest.raises(tw.ScheduleError, match="by multiples of what the intrinsic's subscripts grow"):
        s.check()


def test_quotients_and_remainders_in_subscripts():
    x = te.placeholder((5, 5), name="x")
    y = te.compute((9, 9), lambda i, j: x[j // 3 + i % 3, j % 3 + i // 3], name="y")

    def statement(ins, outs):
        ib = te.ir_builder.create()
        xx, yy = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 9, name="i") as i, ib.for_range(0, 9, name="j") as j:
            yy[i, j] = xx[j // 3 + i % 3, j % 3 + i // 3]
        return ib.get()

    A = te.placeholder((5, 5), name="A")
    B = te.compute((9, 9), lambda i, j: A[j // 3 + i % 3, j % 3 + i // 3], name="B")
    s = te.create_schedule(B)
    s[B].tensorize(B.op.axis[0], te.decl_tensor_intrin(y.op, statement, name="op", default_buffer_params={"offset_factor": 2}))
    a = np.arange(25, dtype="float32").reshape(5, 5)
    i, j = np.indices((9, 9))
    np.testing.assert_array_equal(run(s, [A, B], [a], "llvm"), a[j // 3 + i % 3, j % 3 + i // 3])
