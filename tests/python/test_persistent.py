"""Blocks that compute one tile after the other: results do not depend on how many there are, and rings run on from tile to tile."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from fake_device import needs_fake, run
from test_warp_products import numbers, product
from tiles_of_blocks import X, check, check_written_and_read, operands, tiled


def doubled(n=160, blocks=4):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B)
    io, ii = s[B].split(B.op.axis[0], factor=16)
    s[B].bind(io, X)
    s[B].bind(ii, te.thread_axis("threadIdx.x"))
    return s, [A, B], s[B].persistent(io, blocks)


def by_groups(tensors, blocks, stages=3, by="tma", step=64):
    """A tile of 64 x 64 for each iteration of the loop over blocks, multiplied by four warps."""
    s, tile, _ = tiled(tensors, step=step, stages=stages, by=by)
    s[tensors[2]].persistent(tile, blocks)
    return s


def by_threads(tensors, blocks, stages=3, by="auto"):
    """Sums of a thread, of operands that threads copy, in the loops of another stage."""
    A, B, C = tensors
    s = te.create_schedule(C)
    CL = s.cache_write(C, "local")
    io, jo, ii, ji = s[C].tile(*C.op.axis, 16, 16)
    tile = s[C].fuse(io, jo)
    s[C].bind(tile, X)
    s[C].bind(ii, te.thread_axis("threadIdx.y"))
    s[C].bind(ji, te.thread_axis("threadIdx.x"))
    s[CL].compute_at(s[C], ji)
    ko, ki = s[CL].split(CL.op.reduce_axis[0], factor=8)
    for operand in (A, B):
        s[s.cache_read(operand, "shared", [CL])].compute_at(s[CL], ko)
    s[CL].pipeline(ko, stages, by)
    s[C].persistent(tile, blocks)
    return s


def test_fewer_tiles_than_blocks_by_a_size():
    """No block has a second tile, and which have a first one only a call knows."""
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B)
    io, ii = s[B].split(B.op.axis[0], factor=te.max(te.min(n, 3), 1))
    s[B].bind(ii, X)
    s[B].persistent(ii, 4)
    f = tw.build(s, [A, B, n], target="interp")
    for size in (1, 2, 4, 7):
        a, b = np.arange(size, dtype="float32"), np.zeros(size, "float32")
        f(a, b, size)
        np.testing.assert_array_equal(b, 2 * a)


def test_a_ring_of_what_each_tile_computes_begins_with_the_tile():
    A = te.placeholder((32, 16), name="A")
    E = te.compute((32, 16), lambda i, j: A[i, j] + 1, name="E")
    D = te.compute((32, 16), lambda i, j: E[i, j] * 2, name="D")
    k = te.reduce_axis((0, 16), name="k")
    B = te.compute((32,), lambda i: te.sum(D[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    (i,) = B.op.axis
    BL = s.cache_write(B, "local")
    s[B].bind(i, X)
    s[BL].compute_at(s[B], i)
    ko, _ = s[BL].split(BL.op.reduce_axis[0], factor=4)
    s[D].set_scope("shared")
    s[D].compute_at(s[BL], ko)
    s[BL].pipeline(ko, 2)
    s[E].set_scope("local")
    s[E].compute_at(s[B], i)
    s[B].persistent(i, 5)
    a, b = numbers(32, 16, dtype="float32"), np.zeros(32, "float32")
    tw.build(s, [A, B], target="interp")(a, b)
    np.testing.assert_array_equal(b, ((a + 1) * 2).sum(1))


@pytest.mark.parametrize("n, blocks", [(160, 1), (160, 3), (160, 4), (160, 10), (160, 11), (153, 4), (7, 2)])
def test_each_tile_is_computed_once(n, blocks):
    s, tensors, _ = doubled(n, blocks)
    a, b = np.arange(n, dtype="float32"), np.zeros(n, "float32")
    tw.build(s, tensors, target="interp")(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_sizes_that_calls_bring():
    n = te.var("n")
    s, tensors, _ = doubled(n, 3)
    f = tw.build(s, [*tensors, n], target="interp")
    for size in (0, 1, 16, 47, 160):
        a, b = np.arange(size, dtype="float32"), np.zeros(size, "float32")
        f(a, b, size)
        np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.parametrize("blocks", [1, 4, 6])
@pytest.mark.parametrize("by", ["tma", "cp.async", "ldg"])
def test_rings_of_products_run_on(by, blocks):
    """Six tiles of four iterations each; where each block has one there is nothing to run on to."""
    tensors, a, b = operands(192, 128, 256)
    text = check(by_groups(tensors, blocks, by=by), tensors, a, b)
    if by == "tma":
        assert text.count('"mbarrier.init"') == 1 and '"mbarrier.inval"' not in text
        assert ('"mbarrier.wait", address(inout A.shared.full[0]), 3, k.o)' in text) == (blocks == 6)


@pytest.mark.parametrize("stages, step", [(2, 64), (4, 64), (3, 16)])
def test_turns_are_counted_over_tiles(stages, step):
    """A tile of one iteration, of fewer than there are slots, and of eight."""
    depth = 128 if step == 16 else 64
    tensors, a, b = operands(192, 128, depth)
    check(by_groups(tensors, 4, stages, step=step), tensors, a, b)


@pytest.mark.parametrize("by", ["auto", "tma", "cp.async", "ldg"])
@pytest.mark.parametrize("shape", [(48, 32, 48), (40, 24, 44)])
def test_rings_of_sums_run_on(shape, by):
    n, m, depth = shape
    tensors = product(n, m, depth, "float32", "float32")
    check(by_threads(tensors, 4, by=by), tensors, numbers(n, depth, dtype="float32"), numbers(m, depth, dtype="float32"))


def test_rows_that_a_block_shares():
    A = te.placeholder((10, 32), name="A")
    S = te.compute((10, 32), lambda i, j: A[i, j] * 2, name="S")
    B = te.compute((10, 32), lambda i, j: S[i, 31 - j] + 1, name="B")
    s = te.create_schedule(B)
    i, j = B.op.axis
    s[B].bind(i, X)
    s[B].bind(j, te.thread_axis("threadIdx.x"))
    s[S].compute_at(s[B], i)
    s[S].set_scope("shared")
    s[B].persistent(i, 4)
    a, b = numbers(10, 32, dtype="float32"), np.zeros((10, 32), "float32")
    tw.build(s, [A, B], target="interp")(a, b)
    np.testing.assert_array_equal(b, a[:, ::-1] * 2 + 1)
    tw.lower(s, [A, B], target="cuda -arch=sm_90a")


@pytest.mark.parametrize("arch, blocks", [("sm_80", 108), ("sm_90a", 132)])
def test_as_many_blocks_as_the_device_has_multiprocessors(arch, blocks):
    s, tensors, _ = doubled(1 << 20, None)
    assert f"grid ({blocks}, 1, 1)" in tw.build(s, tensors, target=f"cuda -arch={arch}").source("cuda")


def test_steps_are_written_and_read():
    s, tensors, (tiles, block) = doubled()
    assert (tiles.name, tiles.extent, block.name, block.extent) == ("i.o.o", 3, "i.o.i", 4)
    assert "s[B].persistent(io, blocks=4)" in s.to_python() and "persistent(io)" in doubled(blocks=None)[0].to_python()
    check_written_and_read(s, tensors)


@needs_fake
def test_by_the_driver():
    run("""
        from test_persistent import by_groups, operands
        tensors, a, b = operands(192, 128, 256)
        f = tw.build(by_groups(tensors, 4), tensors, target="cuda -arch=sm_90a", name="gemm")
        assert f.source("cuda").count("mbarrier_init(&") == 1 and "grid (4, 1, 1)" in f.source("cuda")
        c = tw.device_array(np.zeros((192, 128), "float32"))
        f(tw.device_array(a), tw.device_array(b), c)
        assert (c.numpy() == a.astype("float32") @ b.astype("float32").T).all()
    """)


@pytest.mark.parametrize("call, what", [
    (lambda s, B: s[B].persistent(B.op.axis[0]), "axis must be bound to blocks"),
    (lambda s, B: s[B].persistent("i.o", 0), "blocks must be"),
])
def test_what_is_refused(call, what):
    s, (_, B), _ = doubled()
    with pytest.raises(tw.ScheduleError, match=what):
        call(s, B)
