"""Threads that copy for others: products are what they are without, whatever the sizes, and the Steps are written and read."""

import re

import ml_dtypes
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from fake_device import needs_fake, run
from test_warp_products import numbers
from tiles_of_blocks import check, check_written_and_read, operands, tiled


def by_roles(tensors, rows=128, stages=3, blocks=None, step=64, **roles):
    """A tile of `rows` x 64 for each iteration of the loop over blocks, each four warps 64 rows of it."""
    s, tile, _ = tiled(tensors, rows, step=step, stages=stages, groups=True)
    C = tensors[2]
    s[C].roles(**roles)
    if blocks is not None:
        s[C].persistent(tile, blocks)
    return s


@pytest.mark.parametrize("rows, stages, blocks, depth", [
    (64, 3, None, 256), (128, 3, None, 256), (64, 4, 2, 128), (128, 2, 2, 192), (128, 4, 3, 128),
])
def test_products_are_what_they_are_without(rows, stages, blocks, depth):
    tensors, a, b = operands(256, 128, depth)
    text = check(by_roles(tensors, rows, stages, blocks), tensors, a, b)
    assert text.count("sync block") == 1 and ("setmaxnreg.inc" in text) == (rows == 128)


@pytest.mark.parametrize("consumers", [2, 3, 4])
def test_no_role_takes_more_registers_than_a_block_begins_with(consumers):
    """Who asks for more waits for ever; a block of so many threads begins with 65536 / threads, in whole eights."""
    tensors, _, _ = operands(consumers * 64, 64, 256)
    text = str(tw.lower(by_roles(tensors, consumers * 64), tensors, target="cuda -arch=sm_90a"))
    taken, = map(int, re.findall(r'"setmaxnreg\.inc", (\d+)', text))
    left, = map(int, re.findall(r'"setmaxnreg\.dec", (\d+)', text))
    assert consumers * taken + left <= (consumers + 1) * (65536 // (128 * (consumers + 1)) // 8 * 8)


def rounded(rows, **roles):
    """What a lane has of the sums it rounds: the product is computed inside of the loop over rows of 128 threads."""
    (A, B, C), a, b = operands(256, 128, 256)
    D = te.compute((256, 128), lambda i, j: te.max(C[i, j], 0.0).astype("bfloat16"), name="D")
    s = te.create_schedule(D)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    io, jo, i, j = s[D].tile(*D.op.axis, rows, 64)
    group, i = s[D].split(i, factor=64)
    iw, i = s[D].split(i, factor=16)
    ih, i = s[D].split(i, factor=8)
    jq, j = s[D].split(j, factor=8)
    jp, j = s[D].split(j, factor=2)
    s[D].reorder(io, jo, group, iw, i, jp, jq, ih, j)
    for axis, index in ((io, "blockIdx.y"), (jo, "blockIdx.x"), (group, "threadIdx.y"), (s[D].fuse(iw, i, jp), "threadIdx.x")):
        s[D].bind(axis, te.thread_axis(index))
    s[D].vectorize(j)
    s[C].set_scope("warp")
    s[C].compute_at(s[D], group)
    ko, k = s[C].split(s[C].op.reduce_axis[0], factor=64)
    km, k = s[C].split(k, factor=16)
    s[C].reorder(ko, km, *C.op.axis, k)
    s[C].tensorize(C.op.axis[0], "wgmma.m64n64k16.bf16")
    for operand in (AS, BS):
        s[operand].compute_at(s[C], ko)
        s[operand].swizzle()
    s[C].pipeline(ko, 3, "tma")
    s[C].roles(**roles)
    return s, [A, B, D], C, a, b


@pytest.mark.parametrize("rows", [64, 128, 256])
def test_consumers_go_on_with_what_they_have(rows):
    s, tensors, C, a, b = rounded(rows, consumers=rows // 64)
    d = np.full((256, 128), 7, ml_dtypes.bfloat16)
    tw.build(s, tensors, target="interp")(a, b, d)
    expected = np.maximum(a.astype("float32") @ b.astype("float32").T, 0).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(d, expected)
    exec(s.to_python(), {"te": te, "C": C, **{tensor.op.name: tensor for tensor in tensors}}, names := {})
    assert str(names["s"]) == str(s) == str(tw.Schedule.from_steps(tensors[-1], s.steps))
    with pytest.raises(tw.ScheduleError, match=f"consumers must be as many as the schedule binds, 128 threads each: {rows // 64}, not 7"):
        rounded(rows, consumers=7)[0].check()


def test_depths_that_calls_bring():
    depth = te.var("depth")
    r = te.reduce_axis((0, depth * 64), name="r")
    A, B = te.placeholder((128, depth * 64), "bfloat16", name="A"), te.placeholder((64, depth * 64), "bfloat16", name="B")
    C = te.compute((128, 64), lambda i, j: te.sum(A[i, r].astype("float32") * B[j, r].astype("float32"), axis=r), name="C")
    f = tw.build(by_roles([A, B, C]), [A, B, C, depth], target="interp")
    for many in (1, 2, 5):
        a, b = numbers(128, 64 * many, dtype=ml_dtypes.bfloat16), numbers(64, 64 * many, dtype=ml_dtypes.bfloat16)
        c = np.full((128, 64), 7, "float32")
        f(a, b, c, many)
        np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32").T)


def test_steps_are_written_and_read():
    tensors, _, _ = operands(256, 128, 256)
    for given, text in [({}, "roles(producer=1)"), ({"consumers": 2}, "roles(producer=1, consumers=2)"),
                        ({"consumers": 2, "registers": (40, 232)}, "roles(producer=1, consumers=2, registers=(40, 232))")]:
        s = by_roles(tensors, **given)
        assert "s[C]." + text in s.to_python() and text in str(s.steps[-1])
        check_written_and_read(s, tensors)
    assert "384 threads" in str(by_roles(tensors).explain(target="cuda -arch=sm_90a"))


@needs_fake
def test_by_the_driver():
    run("""
        from test_roles import by_roles, operands
        tensors, a, b = operands(256, 128, 256)
        f = tw.build(by_roles(tensors, blocks=3), tensors, target="cuda -arch=sm_90a", name="gemm")
        text = f.source("cuda")
        assert "__launch_bounds__(384, 1)" in text and "setmaxnreg_inc<232>();" in text and "block (128, 3, 1)" in text
        c = tw.device_array(np.zeros((256, 128), "float32"))
        f(tw.device_array(a), tw.device_array(b), c)
        assert (c.numpy() == a.astype("float32") @ b.astype("float32").T).all()
    """)


@pytest.mark.parametrize("given, what", [
    ({"producer": 2}, "producer must be 1, or 0 for nobody, not 2"),
    ({"consumers": 0}, "consumers must be a positive integer, not 0"),
    ({"registers": (40, 236)}, "registers must be two multiples of 8 from 24 to 256, not 236"),
    ({"registers": 40}, "registers must be two integers, not 40"),
    ({"registers": (232, 40)}, "registers of a producer must be no more than those of a consumer"),
])
def test_what_is_refused(given, what):
    tensors, _, _ = operands(256, 128, 256)
    with pytest.raises(tw.ScheduleError, match=what.replace("(", "\\(")):
        by_roles(tensors, **given)
