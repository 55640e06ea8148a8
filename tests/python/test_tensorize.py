"""Tensor intrinsics: shipped and declared ones give what the expression says, on every target; what does not fit is refused."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
from programs import run

import tensorwright as tw
from tensorwright import te

TARGETS = ["llvm", "interp", "c", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"]


def packed(m, n, k, group, dtypes, columns=16, promise=None):
    A = te.placeholder((m, k), dtypes[0], name="A")
    W = te.placeholder((n // columns, k // group, columns, group), dtypes[1], name="W", range=promise)
    r = te.reduce_axis((0, k), name="k")
    to = dtypes[2]
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r].astype(to) * W[j // columns, r // group, j % columns, r % group].astype(to), axis=r), name="C")
    return A, W, C


def in_registers(C, group, intrin, rows, columns=16):
    s = te.create_schedule(C)
    sums = s.cache_write(C, "local")
    i, j = s[C].op.axis
    io, ii = s[C].split(i, rows)
    jo, ji = s[C].split(j, columns)
    s[C].reorder(io, jo, ii, ji)
    s[C].vectorize(ji)
    s[sums].compute_at(s[C], jo)
    i, j = s[sums].op.axis
    jo, ji = s[sums].split(j, columns)
    ko, ki = s[sums].split(s[sums].op.reduce_axis[0], group)
    s[sums].reorder(ko, i, jo, ji, ki)
    s[sums].tensorize(ji, intrin)
    return s


def dense(w):
    return w.transpose(1, 3, 0, 2).reshape(w.shape[1] * w.shape[3], -1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows", [4, 3])
def test_vnni(target, rows):
    A, W, C = packed(8, 32, 24, 4, ("uint8", "int8", "int32"))
    rng = np.random.default_rng(0)
    a, w = rng.integers(0, 256, (8, 24)).astype(np.uint8), rng.integers(-128, 128, (2, 6, 16, 4)).astype(np.int8)
    s = in_registers(C, 4, "avx512_vnni_dot_16x4", rows)
    np.testing.assert_array_equal(run(s, [A, W, C], [a, w], target), a.astype(np.int32) @ dense(w).astype(np.int32))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("intrin, left, right, columns", [
    ("neon_usdot_4x4", "uint8", "int8", 4), ("neon_sdot_4x4", "int8", "int8", 4), ("neon_udot_4x4", "uint8", "uint8", 4),
    ("avx512_vnni_s8s8_16x4", "int8", "int8", 16), ("avx_vnni_dot_8x4", "uint8", "int8", 8), ("avx_vnni_s8s8_8x4", "int8", "int8", 8)])
def test_dots_of_bytes(intrin, left, right, columns, target):
    A, W, C = packed(8, 32, 24, 4, (left, right, "int32"), columns=columns)
    rng = np.random.default_rng(0)
    numbers = lambda shape, dtype: rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)
    a, w = numbers((8, 24), left), numbers((32 // columns, 6, columns, 4), right)
    a[0], w[:, :, 0] = np.iinfo(left).min, np.iinfo(right).min
    a[1] = np.iinfo(left).max
    s = in_registers(C, 4, intrin, 3, columns=columns)
    np.testing.assert_array_equal(run(s, [A, W, C], [a, w], target), a.astype(np.int32) @ dense(w).astype(np.int32))


@pytest.mark.parametrize("left", ["uint8", "int8"])
@pytest.mark.parametrize("cpu, register, columns", [("haswell", "ymm", 8), ("haswell", "ymm", 16), ("skylake-avx512", "zmm", 16)])
def test_bytes_are_multiplied_as_words_without_vnni(cpu, register, columns, left):
    A, W, C = packed(8, 32, 24, 4, (left, "int8", "int32"), columns=columns)
    intrin = {("uint8", 8): "avx_vnni_dot_8x4", ("uint8", 16): "avx512_vnni_dot_16x4",
              ("int8", 8): "avx_vnni_s8s8_8x4", ("int8", 16): "avx512_vnni_s8s8_16x4"}[left, columns]
    asm = tw.build(in_registers(C, 4, intrin, 2, columns=columns), [A, W, C], target=f"llvm -mcpu={cpu}").source("asm")
    products = [line for line in asm.splitlines() if "vpmaddwd" in line]
    assert products and all(f"%{register}" in line for line in products)
    assert "vpmulld" not in asm


def test_vnni_is_one_instruction():
    if "avx512vnni" not in tw.Target("llvm -mcpu=native").features:
        pytest.skip("this CPU lacks avx512vnni")
    A, W, C = packed(8, 32, 24, 4, ("uint8", "int8", "int32"))
    assert "vpdpbusd" in tw.build(in_registers(C, 4, "avx512_vnni_dot_16x4", 4), [A, W, C]).source("asm")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("intrin, columns", [("avx512_bf16_dot_16x2", 16), ("neon_bfdot_4x2", 4)])
def test_bf16_has_the_bits_of_the_instruction(intrin, columns, target):
    A, W, C = packed(8, 32, 24, 2, ("bfloat16", "bfloat16", "float32"), columns)
    rng = np.random.default_rng(0)
    bits = lambda shape: rng.integers(0, 2**16, shape).astype(np.uint16)
    a, w = bits((8, 24)), bits((32 // columns, 12, columns, 2))
    for values in (a, w):  # finite, over all the range: denormals, sums that overflow and lose all digits
        values[(values & 0x7F80) == 0x7F80] &= 0xBFFF
    a, w = a.view(ml_dtypes.bfloat16), w.view(ml_dtypes.bfloat16)
    s = in_registers(C, 2, intrin, 4, columns)
    out = run(s, [A, W, C], [a, w], target)
    reference = run(s, [A, W, C], [a, w], "interp")
    same = (out.view(np.uint32) == reference.view(np.uint32)) | (np.isnan(out) & np.isnan(reference))
    assert same.all()


@pytest.mark.parametrize("target", TARGETS)
def test_maddubs_with_a_promise(target):
    A, W, C = packed(4, 16, 8, 4, ("uint8", "int8", "int32"), columns=8, promise=(-64, 63))
    rng = np.random.default_rng(0)
    a, w = rng.integers(0, 256, (4, 8)).astype(np.uint8), rng.integers(-64, 64, (2, 2, 8, 4)).astype(np.int8)
    s = in_registers(C, 4, "avx2_maddubs_8x4", 2, columns=8)
    np.testing.assert_array_equal(run(s, [A, W, C], [a, w], target), a.astype(np.int32) @ dense(w).astype(np.int32))


def test_maddubs_without_a_promise():
    _, _, C = packed(4, 16, 8, 4, ("uint8", "int8", "int32"), columns=8)
    with pytest.raises(tw.ScheduleError, match="must be known to be small"):
        in_registers(C, 4, "avx2_maddubs_8x4", 2, columns=8).check()


def matmul(m=8, n=32, k=12):
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    return A, B, te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")


@pytest.mark.parametrize("target", TARGETS)
def test_fma_on_rows_of_a_plain_matmul(target):
    A, B, C = matmul()
    s = te.create_schedule(C)
    jo, ji = s[C].split(C.op.axis[1], 16)
    s[C].reorder(C.op.axis[0], jo, C.op.reduce_axis[0], ji)
    s[C].tensorize(ji, "fma_16")
    a, b = np.arange(96, dtype=np.float32).reshape(8, 12), np.arange(384, dtype=np.float32).reshape(12, 32) - 99
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b], target), a @ b)


def gemv(bodies):
    """4 columns, 3 values each; `bodies` choose among body, reset and update."""
    a, b = te.placeholder((3,), name="a"), te.placeholder((3, 4), name="b")
    r = te.reduce_axis((0, 3), name="r")
    c = te.compute((4,), lambda j: te.sum(a[r] * b[r, j], axis=r), name="c")

    def statements(ins, outs):
        def made(first, adds):
            ib = te.ir_builder.create()
            x, y, z = ib.buffer_ptr(ins[0]), ib.buffer_ptr(ins[1]), ib.buffer_ptr(outs[0])
            with ib.for_range(0, 4, name="j", kind="vectorize") as j:
                if first:
                    z[j] = 0.0
            if adds:
                with ib.for_range(0, 3, name="r") as r:
                    with ib.for_range(0, 4, name="j", kind="vectorize") as j:
                        z[j] = z[j] + x[r] * y[r, j]
            return ib.get()

        parts = {"body": made(True, True), "reset": made(True, False), "update": made(False, True)}
        return tuple(parts[name] if name in bodies else None for name in parts)

    return te.decl_tensor_intrin(c.op, statements, name="gemv")


@pytest.mark.parametrize("target", ["llvm", "interp", "c"])
@pytest.mark.parametrize("bodies", [("body", "reset", "update"), ("reset", "update"), ("update",), ("body",)], ids="-".join)
@pytest.mark.parametrize("outside", [False, True], ids=["whole", "outside"])
def test_declared_intrinsic(bodies, outside, target):
    A, B, C = matmul(n=8, k=12 if outside else 3)
    s = te.create_schedule(C)
    i, j = C.op.axis
    jo, ji = s[C].split(j, 4)
    ko, ki = s[C].split(C.op.reduce_axis[0], 3)
    s[C].reorder(i, jo, ko, ji, ki)
    s[C].tensorize(ji, gemv(bodies))
    if outside and "update" not in bodies:
        with pytest.raises(tw.ScheduleError, match="must have an update"):
            s.check()
        return
    k = 12 if outside else 3
    a, b = np.arange(8 * k, dtype=np.float32).reshape(8, k), np.arange(8 * k, dtype=np.float32).reshape(k, 8) - 9
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b], target), a @ b)


def test_a_declaration_that_computes_something_else():
    a = te.placeholder((4,), name="a")
    c = te.compute((4,), lambda i: a[i] * 2, name="c")

    def triple(ins, outs):
        ib = te.ir_builder.create()
        x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4) as i:
            y[i] = x[i] * 3.0
        return ib.get()

    with pytest.raises(tw.ScheduleError, match="the body must compute the expression"):
        te.decl_tensor_intrin(c.op, triple)


def test_steps_name_what_was_declared():
    intrin = gemv(("update",))
    A, B, C = matmul(n=8, k=3)
    s = te.create_schedule(C)
    jo, ji = s[C].split(C.op.axis[1], 4)
    s[C].reorder(C.op.axis[0], jo, ji, C.op.reduce_axis[0])
    s[C].tensorize(ji, intrin)
    assert s.steps[-1][-1] == intrin.key and intrin.key.startswith("gemv@")
    assert '.tensorize(ji, "gemv")' in s.to_python()
    gemv(("reset", "update"))  # the name means another one from here on
    assert intrin.key in s.to_python() and intrin.key in str(s.steps[-1])
    with pytest.raises(tw.ScheduleError, match="declared here"):
        te.create_schedule(C)[C].tensorize(C.op.axis[1], intrin.key[:-1] + "?")


def test_what_does_not_fit():
    A, B, C = matmul()
    i, j = C.op.axis
    k = C.op.reduce_axis[0]

    def refused(match, schedule):
        s = te.create_schedule(C)
        with pytest.raises(tw.ScheduleError, match=match):
            schedule(s[C])
            s.check()

    refused("loops must be those", lambda c: c.tensorize(j, "fma_16"))
    refused("must be a plain loop", lambda c: (c.vectorize(j), c.tensorize(j, "fma_16")))
    refused("tensorized at one loop, and C is at j", lambda c: (c.tensorize(j, "fma_16"), c.tensorize(k, "fma_16")))
    refused("loops must be those", lambda c: (c.reorder(i, k, j), c.tensorize(c.split(j, 20)[1], "fma_16")))
    refused("split or fused afterwards", lambda c: (c.tensorize(j, "fma_16"), c.split(j, 16)))
    refused("must be plain", lambda c: (c.reorder(i, j), c.tensorize(j, "fma_16"), c.unroll(k)))
    refused("vectorized loop", lambda c: (c.reorder(k, i, j), c.vectorize(i), c.tensorize(c.split(j, 16)[1], "fma_16")))
    with pytest.raises(tw.ScheduleError, match="name of one"):
        te.create_schedule(C)[C].tensorize(j, 16)


# A function in C goes from the address that it is given as through a compact tile.

GEMV = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.POINTER(ctypes.c_float)] * 3)


def test_a_second_intrinsic_at_one_loop_replaces_the_first():
    A, B, C = matmul()
    s = te.create_schedule(C)
    jo, ji = s[C].split(C.op.axis[1], 16)
    s[C].reorder(C.op.axis[0], jo, C.op.reduce_axis[0], ji)
    s[C].tensorize(ji, "avx512_vnni_dot_16x4")
    s[C].tensorize(ji, "fma_16")
    s.check()


@GEMV
def tw_test_gemv(c, a, b):
    for i in range(4):
        for k in range(8):
            c[i] += a[k] * b[i * 8 + k]
    return 0


def gemv_by_address():
    a, b = te.placeholder((8,), name="a"), te.placeholder((4, 8), name="b")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((4,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")

    def statements(ins, outs):
        update = te.call_extern("int32", "tw_test_gemv", outs[0].access_ptr("rw"), ins[0].access_ptr("r"), ins[1].access_ptr("r"))
        ib = te.ir_builder.create()
        z = ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, name="i") as i:
            z[i] = 0.0
        return None, ib.get(), update

    return te.decl_tensor_intrin(c.op, statements, name="gemv")


@pytest.fixture
def rows_apart():
    te.register_extern("tw_test_gemv", tw_test_gemv)
    A, B = te.placeholder((6, 16), name="A"), te.placeholder((8, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((6, 8), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    s = te.create_schedule(C)
    i, j = s[C].op.axis
    jo, ji = s[C].split(j, 4)
    ko, ki = s[C].split(k, 8)
    s[C].reorder(i, jo, ko, ji, ki)
    yield s, A, B, C, ko, ji
    te.register_extern("tw_test_gemv", None)


def test_addresses_of_rows_that_lie_apart_are_refused(rows_apart):
    s, A, B, C, _, ji = rows_apart
    s[C].tensorize(ji, gemv_by_address())
    with pytest.raises(tw.ScheduleError, match="the elements of B must lie side by side, as those of b do") as e:
        tw.lower(s, [A, B, C])
    assert "cache_read" in str(e.value)


@pytest.mark.parametrize("target", TARGETS[:3])
def test_addresses_of_a_tile_that_is_kept_alone(rows_apart, target):
    s, A, B, C, ko, ji = rows_apart
    tile = s.cache_read(B, "local", [C])
    s[tile].compute_at(s[C], ko)
    s[C].tensorize(ji, gemv_by_address())
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((6, 16), "float32"), rng.standard_normal((8, 16), "float32")
    np.testing.assert_allclose(run(s, [A, B, C], [a, b], target), a @ b.T, rtol=1e-5)


def test_what_an_intrinsic_and_its_loop_say():
    x, y = te.placeholder((8,), name="x"), te.placeholder((8,), name="y")
    z = te.compute((8,), lambda i: x[i] - y[i], name="z")

    def subtract(ins, outs):
        ib = te.ir_builder.create()
        a, b, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(ins[1]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, name="i") as i:
            c[i] = a[i] - b[i]
        return ib.get()

    intrin = te.decl_tensor_intrin(z.op, subtract, name="subtract_8")
    assert list(intrin.inputs) == [x, y] and [b.name for b in intrin.buffers] == ["x", "y", "z"]
    assert "x[i] - y[i]" in str(intrin.body) and intrin.reduce_init is None and intrin.reduce_update is None
    A, B = te.placeholder((24,), name="A"), te.placeholder((24,), name="B")
    C = te.compute((24,), lambda i: A[i] - B[i], name="C")
    s = te.create_schedule(C)
    io, ii = s[C].split(C.op.axis[0], 8)
    s[C].tensorize(ii, intrin)
    attrs = s[C].iter_var_attrs
    assert attrs[ii].iter_type == "tensorized" and attrs[ii].tensor_intrin.key == intrin.key
    assert attrs[io].iter_type == "serial" and attrs[io].tensor_intrin is None


def adder(n):
    x, y = te.placeholder((n,), name="x"), te.placeholder((n,), name="y")
    z = te.compute((n,), lambda i: x[i] + y[i], name="z")

    def add(ins, outs):
        ib = te.ir_builder.create()
        a, b, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(ins[1]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, name="i") as i:
            c[i] = a[i] + b[i]
        return ib.get()

    return te.decl_tensor_intrin(z.op, add, name="adder")


@pytest.mark.parametrize("target", TARGETS[:3])
@pytest.mark.parametrize("tiles", [True, False])
def test_cache_write_takes_the_intrinsic_along(target, tiles):
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((6, 8), name="B")
    if tiles:
        C = te.compute((6, 8), lambda i: adder(8)(A[i, 0:8], B[i, 0:8]), name="C")
        s = te.create_schedule(C)
    else:
        C = te.compute((6, 8), lambda i, j: A[i, j] + B[i, j], name="C")
        s = te.create_schedule(C)
        jo, ji = s[C].split(C.op.axis[1], 4)
        s[C].tensorize(ji, adder(4))
    kept = s.cache_write(C, "local")
    assert [a.iter_type for a in s[C].iter_var_attrs.values()] == ["serial"] * 2
    assert list(s[kept].iter_var_attrs.values())[-1].iter_type == "tensorized"
    s[kept].compute_at(s[C], C.op.axis[0])
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((6, 8), "float32"), rng.standard_normal((6, 8), "float32")
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b], target), a + b)
    assert tw.Schedule.from_steps([C], s.steps).steps == s.steps


@pytest.mark.parametrize("target", TARGETS[:3])
def test_cache_write_of_a_tiled_reduction(rows_of_tiles, target):
    s, args, C, arrays, expected = rows_of_tiles
    kept = s.cache_write(C, "local")
    s[kept].compute_at(s[C], C.op.axis[0])
    np.testing.assert_array_equal(run(s, args, arrays, target), expected)


@pytest.fixture
def rows_of_tiles():
    x, w = te.placeholder((8,), name="x"), te.placeholder((4, 8), name="w")
    r = te.reduce_axis((0, 8), name="r")
    z = te.compute((4,), lambda i: te.sum(w[i, r] * x[r], axis=r), name="z")

    def parts(ins, outs):
        def loops(first, more):
            ib = te.ir_builder.create()
            a, b, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(ins[1]), ib.buffer_ptr(outs[0])
            with ib.for_range(0, 4, name="i") as i:
                if first:
                    c[i] = 0.0
                if more:
                    with ib.for_range(0, 8, name="r") as at:
                        c[i] = c[i] + a[i, at] * b[at]
            return ib.get()

        return loops(True, True), loops(True, False), loops(False, True)

    gemv = te.decl_tensor_intrin(z.op, parts, name="rows_of_tiles")
    W, X = te.placeholder((3, 5, 4, 8), name="W"), te.placeholder((6, 5, 8), name="X")
    k = te.reduce_axis((0, 5), name="k")
    C = te.compute((3, 6, 4), lambda i, j: gemv(W[i, k, 0:4, 0:8], X[j, k, 0:8], reduce_axis=k), name="C")
    rng = np.random.default_rng(6)
    weights, rows = (rng.integers(-8, 8, t.shape).astype("float32") for t in (W, X))
    return te.create_schedule(C), [W, X, C], C, [weights, rows], np.einsum("ikar,jkr->ija", weights, rows)


def test_binds_of_tvm():
    a, b = te.placeholder((8,), name="a"), te.placeholder((8,), name="b")
    c = te.compute((8,), lambda i: a[i] + b[i], name="c")

    def add(ins, outs):
        ib = te.ir_builder.create()
        x, y, z = ib.buffer_ptr(ins[0]), ib.buffer_ptr(ins[1]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, name="i") as i:
            z[i] = x[i] + y[i]
        return ib.get()

    whole = te.decl_buffer((8,), name="A", strides=[1], offset_factor=1)
    assert te.decl_tensor_intrin(c.op, add, binds={a: whole, c: te.decl_buffer((8,))}).op.name == "c"
    with pytest.raises(tw.ArgumentError, match=r"the buffer of b must be float32\[8\], not Buffer\(A: float32\[4\]\)"):
        te.decl_tensor_intrin(c.op, add, binds={b: te.decl_buffer((4,), name="A")})
    with pytest.raises(tw.ArgumentError, match="binds must be"):
        te.decl_tensor_intrin(c.op, add, binds={"b": whole})
    with pytest.raises(tw.ArgumentError, match="scalar_params must be left out"):
        te.decl_tensor_intrin(c.op, add, scalar_params=[te.var("n")])
