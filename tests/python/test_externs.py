"""Extern stages: builder bodies, C functions by symbol and by pointer, on every target."""

import ctypes
import pathlib
import runpy

import numpy as np
import pytest
from programs import run

import tensorwright as tw
from tensorwright import te

TARGETS = ["llvm", "interp", "c"]
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def halves(ins, outs):
    """The first rows doubled, the others times three, by a local row."""
    ib = te.ir_builder.create()
    a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    with ib.for_range(0, 6, name="i", kind="parallel") as i:
        row = ib.allocate("float32", (5,), name="row", scope="local")
        with ib.for_range(0, 5, name="j", kind="vectorize") as j:
            row[j] = a[i, j]
        with ib.if_scope(i < 3):
            with ib.for_range(0, 5, name="j") as j:
                b[i, j] = row[j] * 2.0
        with ib.else_scope():
            with ib.for_range(0, 5, name="j", kind="unroll") as j:
                b[i * 5 + j] = row[j] * 3.0
    return ib.get()


@pytest.mark.parametrize("target", TARGETS)
def test_builder_between_stages(target):
    A = te.placeholder((6, 5), name="A")
    X = te.compute((6, 5), lambda i, j: A[i, j] + 1, name="X")
    B = te.extern((6, 5), [X], halves, name="B")
    C = te.compute((6, 5), lambda i, j: B[i, j] - 1, name="C")
    s = te.create_schedule(C)
    s[X].vectorize(X.op.axis[1])
    a = np.arange(30, dtype=np.float32).reshape(6, 5)
    expected = (a + 1) * np.array([2, 2, 2, 3, 3, 3], np.float32)[:, None] - 1
    np.testing.assert_array_equal(run(s, [A, C], [a], target), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_two_outputs_and_declared_buffers(target):
    A = te.placeholder((8,), "int32", name="A")
    Ab, Lo, Hi = (te.decl_buffer((8,), "int32", name=n) for n in ("Ab", "Lo", "Hi"))

    def split(ins, outs):
        assert ins == [Ab] or ins[0].name == "Ab"
        ib = te.ir_builder.create()
        a, lo, hi = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), ib.buffer_ptr(outs[1])
        with ib.for_range(2, 10, name="i") as i:
            lo[i - 2] = a[i - 2] & 15
            hi[i - 2] = a[i - 2] >> 4
        return ib.get()

    lo, hi = te.extern([(8,), (8,)], [A], split, name="S", dtype=["int32", "int32"], in_buffers=[Ab], out_buffers=[Lo, Hi])
    C = te.compute((8,), lambda i: lo[i] * 100 + hi[i], name="C")
    a = np.arange(0, 80, 10, dtype=np.int32)
    np.testing.assert_array_equal(run(te.create_schedule(C), [A, C], [a], target), (a & 15) * 100 + (a >> 4))


@pytest.fixture
def times_ten():
    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_float)
    def function(source, target, n, factor):
        for i in range(n):
            ctypes.c_float.from_address(target + 4 * i).value = ctypes.c_float.from_address(source + 4 * i).value * factor
        return 0

    te.register_extern("tw_test_times", function)
    yield
    te.register_extern("tw_test_times", None)


def by_pointer():
    A = te.placeholder((3, 4), name="A")
    body = lambda ins, outs: te.call_extern("int32", "tw_test_times", ins[0].access_ptr("r"), outs[0].access_ptr("w"), 12, te.const(10, "float32"))
    B = te.extern((3, 4), [A], body, name="B")
    return A, te.compute((3, 4), lambda i, j: B[i, j] + 1, name="C")


@pytest.mark.parametrize("target", TARGETS)
def test_function_by_pointer(target, times_ten):
    A, C = by_pointer()
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(run(te.create_schedule(C), [A, C], [a], target), a * 10 + 1)


def test_function_by_pointer_is_not_saved(times_ten, tmp_path):
    A, C = by_pointer()
    f = tw.build(te.create_schedule(C), [A, C])
    with pytest.raises(tw.ArgumentError, match="registered by a pointer"):
        f.save(str(tmp_path / "f.so"))
    assert not list(tmp_path.iterdir())


def test_unknown_function():
    A, C = by_pointer()
    with pytest.raises(tw.BuildError, match="calls tw_test_times, which is not known"):
        tw.build(te.create_schedule(C), [A, C])


@pytest.mark.parametrize("target", TARGETS)
def test_pure_function_in_a_compute(target):
    A = te.placeholder((40,), name="A")
    B = te.compute((40,), lambda i: te.call_extern("float32", "fabsf", A[i]) + te.call_extern("int32", "abs", i - 20).astype("float32"), name="B")
    s = te.create_schedule(B)
    o, i = s[B].split(B.op.axis[0], 8)
    s[B].parallel(o)
    s[B].vectorize(i)
    a = np.linspace(-2, 2, 40, dtype=np.float32)
    np.testing.assert_array_equal(run(s, [A, B], [a], target), np.abs(a) + np.abs(np.arange(40) - 20).astype(np.float32))


@pytest.mark.parametrize("kind", [".so", ".o"])
def test_saved_kernel_finds_its_functions(kind, tmp_path):
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: te.call_extern("float32", "fabsf", A[i]), name="B")
    path = tmp_path / f"f{kind}"
    tw.build(te.create_schedule(B), [A, B], name="f").save(str(path))
    header = path.with_suffix(".h").read_text()
    assert "externs: fabsf" in header and "void (*const* externs)(void)" in header
    if kind == ".so":
        out = np.zeros(4, np.float32)
        tw.load(str(path))(np.array([-1, 2, -3, 4], np.float32), out)
        np.testing.assert_array_equal(out, [1, 2, 3, 4])


def test_schedules_leave_extern_stages_whole():
    A = te.placeholder((6, 5), name="A")
    X = te.compute((6, 5), lambda i, j: A[i, j] + 1, name="X")
    B = te.extern((6, 5), [X], halves, name="B")
    C = te.compute((6, 5), lambda i, j: B[i, j] - 1, name="C")
    s = te.create_schedule(C)
    for refused in (lambda: s[B].compute_at(s[C], C.op.axis[0]), s[B].compute_inline, lambda: s.cache_write(B, "local"), lambda: s.cache_read(X, "local", [B])):
        with pytest.raises(tw.ScheduleError, match="extern"):
            refused()
    s[X].compute_inline()
    with pytest.raises(tw.ScheduleError, match="read by an extern stage"):
        tw.lower(s, [A, C])


def test_bad_statements_are_refused():
    A = te.placeholder((4,), name="A")
    other = te.decl_buffer((4,), name="other")

    def writes(buffer_of):
        def body(ins, outs):
            ib = te.ir_builder.create()
            ib.buffer_ptr(buffer_of(ins, outs))[0] = 1.0
            return ib.get()
        return body

    with pytest.raises(tw.ExprError, match="other"):
        te.extern((4,), [A], writes(lambda ins, outs: other))
    with pytest.raises(tw.ExprError, match="A"):
        te.extern((4,), [A], writes(lambda ins, outs: ins[0]))
    with pytest.raises(tw.ExprError, match="must return a statement"):
        te.extern((4,), [A], lambda ins, outs: None)
    with pytest.raises(tw.ArgumentError, match="symbol of a C function"):
        te.call_extern("float32", "no name", 1)
    with pytest.raises(tw.DTypeError, match="C has no values of float16"):
        te.call_extern("float16", "f", 1)
    with pytest.raises(tw.ArgumentError, match="mask"):
        other.access_ptr("x")
    with pytest.raises(tw.ArgumentError, match="register_extern"):
        te.register_extern("f", "g")


def test_example_with_blas(capsys):
    runpy.run_path(str(EXAMPLES / "extern_cblas.py"))["main"]()
    printed = capsys.readouterr().out
    if printed.startswith("skipped"):
        pytest.skip(printed.strip())
    assert "agrees with NumPy" in printed


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_float), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
def tw_test_places(out, *scratch):
    for i, place in enumerate(scratch):
        out[i] = place % 64
    return 0


@pytest.mark.parametrize("target", TARGETS)
def test_scratch_is_aligned_to_64_bytes(target):
    def places(ins, outs):
        ib = te.ir_builder.create()
        all_ = [ib.allocate(dtype, (n,), name=f"scratch{n}", scope=scope) for dtype, n, scope in
                (("int8", 3, "local"), ("float32", 5, "local"), ("float64", 7, "global"))]
        for one, dtype in zip(all_, ("int8", "float32", "float64")):
            one[0] = te.const(1, dtype)
        ib.emit(te.call_extern("int32", "tw_test_places", outs[0].access_ptr("w"), *(one.access_ptr("rw") for one in all_)))
        return ib.get()

    te.register_extern("tw_test_places", tw_test_places)
    try:
        C = te.extern((3,), [], places, name="C", dtype="float32")
        np.testing.assert_array_equal(run(te.create_schedule(C), [C], [], target), 0)
    finally:
        te.register_extern("tw_test_places", None)


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM: nothing to tune")
def test_what_calls_c_functions_is_tuned():
    A = te.placeholder((1000,), name="A")
    B = te.compute((1000,), lambda i: te.call_extern("float32", "fabsf", A[i] - 1.0), name="B")
    result = tw.autotune.tune(tw.autotune.Task([A, B]), trials=3)
    assert [t.status for t in result.trials if t.status not in ("ok", "beaten")] == []
