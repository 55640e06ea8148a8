"""What te.decl_buffer says of memory: where a tile begins, how it is aligned, in which scope; proved or refused."""

import ctypes

import numpy as np
import pytest
from test_tensorize import TARGETS, rows_apart, run  # noqa: F401

import tensorwright as tw
from tensorwright import te

FLOATS = ctypes.POINTER(ctypes.c_float)


@ctypes.CFUNCTYPE(ctypes.c_int, *[FLOATS, ctypes.c_int] * 3, ctypes.c_int)
def tw_test_from_base(c, at_c, a, at_a, b, at_b, apart):
    for i in range(4):
        for k in range(8):
            c[at_c + i] += a[at_a + k] * b[at_b + i * apart + k]
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, *[FLOATS, ctypes.c_int] * 3, ctypes.c_int)
def tw_test_from_first(c, at_c, a, at_a, b, at_b, apart):
    return tw_test_from_base(c, at_c, a, at_a, b, 0, apart)


@ctypes.CFUNCTYPE(ctypes.c_int, FLOATS, FLOATS, FLOATS, ctypes.c_int)
def tw_test_aligned_add(c, a, b, to):
    for i in range(4):
        c[i] = a[i] + b[i] if ctypes.addressof(b.contents) % to == 0 else -1.0
    return 0


@pytest.fixture(autouse=True)
def functions():
    names = ("tw_test_from_base", "tw_test_from_first", "tw_test_aligned_add")
    for name in names:
        te.register_extern(name, globals()[name])
    yield
    for name in names:
        te.register_extern(name, None)


def gemv_from_base(symbol="tw_test_from_base", **promises):
    """By the memory of each buffer and the element at which its tile begins."""
    a, b = te.placeholder((8,), name="a"), te.placeholder((4, 8), name="b")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((4,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    binds = {a: te.decl_buffer((8,), name="A", elem_offset=te.var("at_a")),
             b: te.decl_buffer((4, 8), name="B", strides=[te.var("s"), 1], elem_offset=te.var("at_b"), **promises),
             c: te.decl_buffer((4,), name="C", elem_offset=te.var("at_c"))}

    def statements(ins, outs):
        aa, bb, cc = *ins, outs[0]
        ib = te.ir_builder.create()
        z = ib.buffer_ptr(cc)
        with ib.for_range(0, 4, name="i") as i:
            z[i] = 0.0
        call = te.call_extern("int32", symbol, cc.data, cc.elem_offset, aa.data, aa.elem_offset, bb, bb.elem_offset, bb.strides[0])
        return None, ib.get(), call

    return te.decl_tensor_intrin(c.op, statements, name="gemv", binds=binds)


def data(seed=3):
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 9, (6, 16)).astype("float32"), rng.integers(-9, 9, (8, 16)).astype("float32")


@pytest.mark.parametrize("target", TARGETS[:3])
def test_a_tile_is_found_from_its_memory(rows_apart, target):
    s, A, B, C, _, ji = rows_apart
    s[C].tensorize(ji, gemv_from_base())
    assert "address(in B[0, 0]), int32(j.o * 64 + k.o * 8), int32(16))" in str(tw.lower(s, [A, B, C]))
    a, b = data()
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b], target), a @ b.T)


@pytest.mark.parametrize("target", TARGETS[:3])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_a_tile_is_found_in_scratch(rows_apart, target, padded, whole):
    s, A, B, C, ko, ji = rows_apart
    tile = s.cache_read(B, "global", [C])
    s[tile].compute_at(s[C], C.op.axis[0] if whole else ko)
    if padded:
        s[tile].storage_align(s[tile].op.axis[0], 32, 5)
    s[C].tensorize(ji, gemv_from_base(data_alignment=64, offset_factor=4, scope="global"))
    a, b = data()
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b], target), a @ b.T)


def test_a_tile_of_symbolic_rows_is_found():
    n = te.var("n")
    A, B = te.placeholder((6, n), name="A"), te.placeholder((4, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((6, 4), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    s = te.create_schedule(C)
    i, j = C.op.axis
    ko, ki = s[C].split(k, 8)
    s[C].reorder(i, ko, j, ki)
    s[C].tensorize(j, gemv_from_base())
    a, b, out = np.arange(66, dtype="float32").reshape(6, 11), np.arange(44, dtype="float32").reshape(4, 11), np.zeros((6, 4), "float32")
    tw.build(s, [A, B, C])(a, b, out)
    np.testing.assert_array_equal(out, a @ b.T)


def test_a_statement_that_forgets_the_offset_is_refused():
    with pytest.raises(tw.ScheduleError, match="must compute the expression of op"):
        gemv_from_base("tw_test_from_first")


def test_variables_of_their_own(rows_apart):
    one = te.var("one")
    a, b = te.placeholder((8,), name="a"), te.placeholder((8,), name="b")
    c = te.compute((8,), lambda i: a[i] + b[i], name="c")
    both = {t: te.decl_buffer((8,), name=t.name, elem_offset=one) for t in (a, b)}
    with pytest.raises(tw.ScheduleError, match="elem_offset must be a variable of its own, and one stands for more"):
        te.decl_tensor_intrin(c.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x8") + ins[1].vload(0, "float32x8")), binds=both)
    assert both[a].elem_offset is not None and str(both[a].elem_offset) == "one"
    with pytest.raises(tw.DTypeError, match="elem_offset must count elements, and x is of float32"):
        te.decl_buffer((8,), name="b", elem_offset=te.var("x", "float32"))


@pytest.mark.parametrize("target", TARGETS)
def test_vectors_of_buffers_that_begin_anywhere(target):
    a = te.placeholder((4,), name="a")
    c = te.compute((4,), lambda i: a[i] * te.const(2, "float32"), name="c")
    binds = {t: te.decl_buffer((4,), name=t.name, elem_offset=te.var("at_" + t.name), offset_factor=4) for t in (a, c)}
    double = te.decl_tensor_intrin(c.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x4") * te.const(2, "float32")), binds=binds)
    A = te.placeholder((24,), name="A")
    C = te.compute((24,), lambda i: A[i] * te.const(2, "float32"), name="C")
    s = te.create_schedule(C)
    s[C].tensorize(s[C].split(C.op.axis[0], 4)[1], double)
    x = np.arange(24, dtype="float32")
    np.testing.assert_array_equal(run(s, [A, C], [x], target), x * 2)


# Promises are proved or refused, whether the statement takes addresses or not.


def adds(n=4, symbol=None, params=None, **promises):
    a, b = te.placeholder((n,), name="a"), te.placeholder((n,), name="b")
    c = te.compute((n,), lambda i: a[i] + b[i], name="c")

    def statement(ins, outs):
        if symbol:
            return te.call_extern("int32", symbol, outs[0], ins[0], ins[1], promises.get("data_alignment", 4))
        return outs[0].vstore(0, ins[0].vload(0, f"float32x{n}") + ins[1].vload(0, f"float32x{n}"))

    binds = {b: te.decl_buffer((n,), name="b", **promises)} if promises else None
    return te.decl_tensor_intrin(c.op, statement, name="adds", binds=binds, default_buffer_params=params)


def sums(rows=6, columns=24):
    A, B = te.placeholder((rows, columns), name="A"), te.placeholder((rows, columns), name="B")
    C = te.compute((rows, columns), lambda i, j: A[i, j] + B[i, j], name="C")
    s = te.create_schedule(C)
    jo, ji = s[C].split(C.op.axis[1], 4)
    return s, A, B, C, jo, ji


@pytest.mark.parametrize("target", TARGETS[:3])
def test_scratch_is_aligned(target):
    s, A, B, C, jo, ji = sums()
    tile = s.cache_read(B, "local", [C])
    s[tile].compute_at(s[C], jo)
    s[C].tensorize(ji, adds(symbol="tw_test_aligned_add", data_alignment=64, scope="local"))
    a, b = np.arange(144, dtype="float32").reshape(6, 24), np.ones((6, 24), "float32")
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b], target), a + b)


def test_an_argument_is_aligned_to_its_elements():
    s, A, B, C, jo, ji = sums()
    s[C].tensorize(ji, adds(data_alignment=4))
    s.check()
    s, A, B, C, jo, ji = sums()
    s[C].tensorize(ji, adds(data_alignment=16))
    with pytest.raises(tw.ScheduleError, match="the tile of B must be aligned to 16 bytes, as data_alignment of b says") as e:
        s.check()
    assert "an array of the caller's, which is aligned to its elements, of 4 bytes" in str(e.value) and "cache_read" in str(e.value)


def test_a_tile_inside_of_scratch_is_aligned_where_it_begins():
    for bytes_, fits in ((16, True), (32, False)):
        s, A, B, C, jo, ji = sums()
        row = s.cache_read(B, "global", [C])
        s[row].compute_at(s[C], C.op.axis[0])
        s[C].tensorize(ji, adds(data_alignment=bytes_))
        if fits:
            s.check()
            continue
        with pytest.raises(tw.ScheduleError, match="the tile of B.global must be aligned to 32 bytes") as e:
            s.check()
        assert "split by a multiple of 8 elements" in str(e.value) and "it begins at element" in str(e.value)


def test_an_argument_is_found_when_the_kernel_is_made():
    s, A, B, C, jo, ji = sums()
    D = te.compute(C.shape, lambda i, j: C[i, j] * 2.0, name="D")
    s = te.create_schedule(D)
    s[C].tensorize(s[C].split(C.op.axis[1], 4)[1], adds(params={"data_alignment": 4}))
    s.check()
    intrin = te.decl_tensor_intrin(*aligned_output())
    s = te.create_schedule(D)
    s[C].tensorize(s[C].split(C.op.axis[1], 4)[1], intrin)
    tw.build(s, [A, B, D])
    with pytest.raises(tw.ScheduleError, match="the tile of C must be aligned to 16 bytes"):
        tw.build(s, [A, B, C, D])


def aligned_output():
    a, b = te.placeholder((4,), name="a"), te.placeholder((4,), name="b")
    c = te.compute((4,), lambda i: a[i] + b[i], name="c")
    statement = lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x4") + ins[1].vload(0, "float32x4"))
    return c.op, statement, "adds", {c: te.decl_buffer((4,), name="c", data_alignment=16)}


@pytest.mark.parametrize("promises", [{"binds": True}, {"params": {"offset_factor": 8}}])
def test_the_factor_of_an_offset_binds_elements_too(promises):
    s, A, B, C, jo, ji = sums()
    s[C].tensorize(ji, adds(offset_factor=8) if "binds" in promises else adds(**promises))
    with pytest.raises(tw.ScheduleError, match="must begin at a multiple of 8 elements, as offset_factor of [ab] says"):
        s.check()
    s, A, B, C, jo, ji = sums()
    s[C].tensorize(ji, adds(offset_factor=4))
    s.check()


def test_scope_global_is_not_local():
    s, A, B, C, jo, ji = sums()
    tile = s.cache_read(B, "local", [C])
    s[tile].compute_at(s[C], jo)
    s[C].tensorize(ji, adds(scope="global"))
    with pytest.raises(tw.ScheduleError, match="the buffer b must lie in memory of scope global, and B.local was set to local"):
        s.check()


@pytest.mark.parametrize("keywords, rule", [({"data_alignment": 3}, "data_alignment must be"), ({"data_alignment": 128}, "64 bytes"),
                                            ({"data_alignment": True}, "data_alignment must be"), ({"data_alignment": 0}, "data_alignment must be"),
                                            ({"offset_factor": 1 << 20}, "at most 1024"), ({"elem_offset": 4}, "elem_offset must be a te.var"),
                                            ({"elem_offset": 0}, "elem_offset must be a te.var"), ({"buffer_type": "auto_broadcast"}, "must be left out")])
def test_what_means_nothing_is_refused(keywords, rule):
    with pytest.raises(tw.ArgumentError, match=rule):
        te.decl_buffer((4,), name="b", **keywords)


# Of extern stages, whose tensors are kept whole.


@pytest.mark.parametrize("target", TARGETS[:3])
def test_buffers_of_extern_stages_begin_at_their_first_element(target):
    A, B = te.placeholder((8,), name="A"), te.placeholder((4, 8), name="B")
    declared = [te.decl_buffer((8,), name="a", elem_offset=te.var("x"), offset_factor=16),
                te.decl_buffer((4, 8), name="b", strides=[te.var("s"), 1], elem_offset=te.var("y"), data_alignment=4)]
    out = te.decl_buffer((4,), name="c", elem_offset=te.var("z"), scope="global")

    def gemv(ins, outs):
        ib = te.ir_builder.create()
        z = ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, name="i") as i:
            z[i] = 0.0
        ib.emit(te.call_extern("int32", "tw_test_from_base", outs[0].data, outs[0].elem_offset, ins[0].data, ins[0].elem_offset,
                               ins[1].data, ins[1].elem_offset, ins[1].strides[0]))
        return ib.get()

    C = te.extern((4,), [A, B], gemv, name="C", dtype="float32", in_buffers=declared, out_buffers=[out])
    a, b = data()
    a, b = a[0, :8].copy(), b[:4, :8].copy()
    np.testing.assert_array_equal(run(te.create_schedule(C), [A, B, C], [a, b], target), b @ a)


@pytest.mark.parametrize("keywords, rule", [({"data_alignment": 8}, "must have a data_alignment of at most 4, not 8"),
                                            ({"scope": "local"}, "must not be of scope local")])
def test_what_extern_stages_cannot_have(keywords, rule):
    A = te.placeholder((8,), name="A")
    first = lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x8"))
    with pytest.raises(tw.ArgumentError, match="extern C: the buffer a " + rule):
        te.extern((8,), [A], first, name="C", in_buffers=[te.decl_buffer((8,), name="a", **keywords)])
