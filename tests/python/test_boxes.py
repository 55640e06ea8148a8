"""Boxes of tensors that a device copies by itself: ``pipeline(.., by="tma")``, in the interpreter, by the driver without a device, and refused."""

import ml_dtypes
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from fake_device import needs_fake, run
from test_warp_products import in_warps, numbers, product


def tiled(n, m, depth, tile=16, step=16, stages=3, dtype="float32", by="tma", swizzle=None):
    """A product by threads of their own, operands by way of shared memory."""
    A, B = te.placeholder((n, depth), dtype, name="A"), te.placeholder((depth, m), dtype, name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C")
    s = te.create_schedule(C)
    CL = s.cache_write(C, "local")
    AS, BS = s.cache_read(A, "shared", [CL]), s.cache_read(B, "shared", [CL])
    io, jo, i, j = s[C].tile(*C.op.axis, tile, tile)
    for axis, index in ((io, "blockIdx.y"), (jo, "blockIdx.x"), (i, "threadIdx.y"), (j, "threadIdx.x")):
        s[C].bind(axis, te.thread_axis(index))
    s[CL].compute_at(s[C], j)
    ko, _ = s[CL].split(CL.op.reduce_axis[0], factor=step)
    s[AS].compute_at(s[CL], ko)
    s[BS].compute_at(s[CL], ko)
    s[CL].pipeline(ko, stages, by)
    if swizzle is not None:
        s[AS].swizzle(swizzle)
    return s, [A, B, C]


def computes(s, tensors, n, m, depth, dtype="float32"):
    a, b = numbers(n, depth, dtype=dtype), numbers(depth, m, dtype=dtype)
    c = np.full((n, m), 7, "float32")
    tw.build(s, tensors, target="interp")(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("n, m, depth", [(32, 32, 64), (30, 36, 52), (16, 16, 16), (8, 8, 40)])
def test_tiles_and_what_is_left_over(n, m, depth, stages):
    """Outside of a tensor there are zeros; fewer tiles than slots."""
    s, tensors = tiled(n, m, depth, stages=stages)
    computes(s, tensors, n, m, depth)


@pytest.mark.parametrize("step, swizzle, strides", [(4, None, "[32, 4, 1]"), (16, 64, "[128, 16, 1]")])
def test_slots_begin_where_a_box_may(step, swizzle, strides):
    """Of 64 bytes, 128 apart; of 256 in swizzled rows of 64, 512 apart."""
    s, tensors = tiled(32, 32, 64, tile=4, step=step, swizzle=swizzle)
    computes(s, tensors, 32, 32, 64)
    assert f"A.shared: float32[3, 4, {step}] strides {strides} shared" in str(tw.lower(s, tensors))
    tw.lower(s, tensors, target="cuda -arch=sm_90a")


@pytest.mark.parametrize("swizzle", [64, "auto", "none"])
def test_swizzled_rows(swizzle):
    s, tensors = tiled(32, 32, 64, swizzle=swizzle)
    computes(s, tensors, 32, 32, 64)


@pytest.mark.parametrize("dtype", ["float16", "int8", "float64", "uint8"])
def test_elements_of_other_types(dtype):
    n, m, depth = 32, 32, 96
    s, tensors = tiled(n, m, depth, dtype=dtype, step=32)
    a, b = numbers(n, depth, dtype="int8") % 3, numbers(depth, m, dtype="int8") % 3
    c = np.zeros((n, m), "float32")
    tw.build(s, tensors, target="interp")(a.astype(dtype), b.astype(dtype), c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))


def test_dimensions_that_stand_still_and_windows():
    """A slice of a tensor of three dimensions, and what lies beside an element."""
    A = te.placeholder((4, 20, 64), name="A")
    P = te.compute((18, 64), lambda i, j: A[2, i + 1, j], name="P")
    k = te.reduce_axis((0, 18), name="k")
    C = te.compute((64,), lambda j: te.sum(P[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))
    ko, _ = s[C].split(k, factor=2)
    s[P].compute_at(s[C], ko)
    s[P].set_scope("shared")
    s[C].pipeline(ko, 3, "tma")
    a, c = numbers(4, 20, 64, dtype="float32"), np.zeros(64, "float32")
    tw.build(s, [A, C], target="interp")(a, c)
    np.testing.assert_array_equal(c, a[2, 1:19].sum(0))


def test_a_ring_that_is_come_to_again():
    """Its barriers end with the loop, and begin again."""
    A = te.placeholder((8, 64, 32), name="A")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((8, 32), lambda b, j: te.sum(A[b, k, j], axis=k), name="C")
    s = te.create_schedule(C)
    b, j = C.op.axis
    s[C].bind(j, te.thread_axis("threadIdx.x"))
    AS = s.cache_read(A, "shared", [C])
    ko, ki = s[C].split(k, factor=8)
    s[C].reorder(b, ko, ki)
    s[AS].compute_at(s[C], ko)
    s[C].pipeline(ko, 3, "tma")
    a, c = numbers(8, 64, 32, dtype="float32"), np.zeros((8, 32), "float32")
    tw.build(s, [A, C], target="interp")(a, c)
    np.testing.assert_array_equal(c, a.sum(1))
    assert '"mbarrier.inval"' in str(tw.lower(s, [A, C]))


def test_products_of_warps():
    tensors = product(32, 32, 128, "bfloat16", "float32")
    s = in_warps(tensors, "mma.m16n8k16.bf16", 32, stages=3, swizzle=True, by="tma")
    a, b = numbers(32, 128, dtype=ml_dtypes.bfloat16), numbers(32, 128, dtype=ml_dtypes.bfloat16)
    c = np.zeros((32, 32), "float32")
    tw.build(s, tensors, target="interp")(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32").T)
    text = str(tw.lower(s, tensors, target="cuda -arch=sm_90a"))
    assert text.count('"tma.load"') == 4 and "later" not in text and "sync wait" not in text


def test_steps_come_back():
    s, tensors = tiled(32, 32, 64, swizzle=64)
    assert '.pipeline(ko, 3, "tma")' in s.to_python()
    assert str(tw.Schedule.from_steps(tensors[2], s.steps)) == str(s)
    assert "C" in str(s.explain("cuda -arch=sm_90a"))


@pytest.mark.parametrize("asked, why", [
    ({"depth": 25}, "rows of A must begin at multiples of 16 bytes, and they are 100 bytes apart"),
    ({"step": 3, "depth": 64}, "rows of a box must be multiples of 16 bytes, and those of A.shared have 12"),
    ({"step": 512, "depth": 1024, "tile": 4}, "a box has at most 256 elements along a dimension"),
    ({"swizzle": 32}, "a box's rows are swizzled whole, and those of A.shared have 64 bytes, not 32"),
])
def test_what_is_no_box(asked, why):
    s, tensors = tiled(**{"n": 32, "m": 32, "depth": 64, **asked})
    with pytest.raises(tw.ScheduleError) as e:
        tw.lower(s, tensors)
    assert why in str(e.value) and "pipeline" in str(e.value) and "test_boxes.py" in str(e.value)


def test_older_devices_have_none():
    s, tensors = tiled(32, 32, 64)
    with pytest.raises(tw.TargetError, match="boxes of A are copied by tma, which devices have from sm_90 on, not sm_80"):
        tw.build(s, tensors, target="cuda -arch=sm_80")


@needs_fake
def test_by_the_driver():
    run("""
        import ml_dtypes
        import pytest
        from test_boxes import tiled
        from test_warp_products import in_warps, numbers, product
        tensors = product(64, 64, 128, "bfloat16", "float32")
        f = tw.build(in_warps(tensors, "mma.m16n8k16.bf16", 32, stages=3, swizzle=True, by="tma"), tensors, target="cuda -arch=sm_90a", name="gemm")
        text = f.source("cuda")
        assert text.count(" tma_load_2d(") == 5 and "const __grid_constant__ TensorMap A_map," in text, text
        assert "A by boxes of 32 x 32 in 64 swizzled bytes" in f.source("launches")
        a, b = numbers(64, 128, dtype=ml_dtypes.bfloat16), numbers(64, 128, dtype=ml_dtypes.bfloat16)
        right = a.astype("float32") @ b.astype("float32").T
        there, c = (tw.device_array(a), tw.device_array(b)), tw.device_array(np.zeros((64, 64), "float32"))
        f(*there, c)
        assert (c.numpy() == right).all()
        c = tw.device_array(np.zeros((64, 64), "float32"))
        f.graph(*there, c)()
        assert (c.numpy() == right).all()

        s, tensors = tiled(8, 8, 64, tile=4, swizzle=64)  # slots with gaps
        a, b, c = numbers(8, 64, dtype="float32"), numbers(64, 8, dtype="float32"), tw.device_array(np.zeros((8, 8), "float32"))
        tw.build(s, tensors, target="cuda -arch=sm_90a")(tw.device_array(a), tw.device_array(b), c)
        assert (c.numpy() == a @ b).all()

        n, m = te.var("n"), te.var("m")
        s, tensors = tiled(n, m, m)
        g = tw.build(s, tensors, target="cuda -arch=sm_90a", name="sized")
        for size in (32, 44):
            a, b, c = numbers(20, size, dtype="float32"), numbers(size, size, dtype="float32"), tw.device_array(np.zeros((20, size), "float32"))
            g(tw.device_array(a), tw.device_array(b), c)
            assert (c.numpy() == a @ b).all()
        with pytest.raises(tw.ArgumentError, match="sized: A is copied in boxes, and its rows must be a multiple of 16 bytes apart, not 132"):
            g(*[tw.device_array(np.zeros(shape, "float32")) for shape in ((20, 33), (33, 33), (20, 33))])
    """)


@needs_fake
def test_candidates_make_their_maps(tmp_path):
    """In the worker, by the code of the object, and judged at smaller sizes before."""
    run(f"""
        import os
        from test_boxes import tiled
        os.chdir({str(tmp_path)!r})

        @tw.autotune.template
        def gemm(cfg, n):
            cfg.define_knob("stages", [2, 3])
            return tiled(n, n, n, stages=cfg["stages"].val)

        result = tw.autotune.tune(tw.autotune.Task(gemm, (96,), target="cuda"), trials=2, log="t.jsonl", progress=False, timeout=60)
        assert result.best.ok and result.failures == [] and len(result.trials) == 2, (result.failures, result.trials)
    """, TW_CACHE_DIR=str(tmp_path / "cache"))
