"""Stages in scope "warp": values in the registers of a warp's lanes, which read each other's (TVM's lower_warp_memory and its tests)."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from fake_device import needs_fake, run


def in_warp(A, B, per_lane=2, inner=None, warps=0, scope="warp"):
    """B's elements in blocks of `per_lane` times 32, A's on the way in registers; `inner` elements of a lane side by side."""
    s = te.create_schedule(B)
    AA = s.cache_read(A, scope, [B])
    axis = B.op.axis[-1]
    xo, xi = s[B].split(axis, factor=32 * per_lane)
    rest, lane = s[B].split(xi, factor=32)
    s[B].bind(lane, te.thread_axis("threadIdx.x"))
    if warps:
        block, xo = s[B].split(xo, factor=warps)
        s[B].bind(xo, te.thread_axis("threadIdx.y"))
        s[B].bind(block, te.thread_axis("blockIdx.x"))
    else:
        s[B].bind(xo, te.thread_axis("blockIdx.x"))
    s[AA].compute_at(s[B], xo)
    own = s[AA].op.axis[-1]
    if inner:
        own, _ = s[AA].split(own, factor=inner)
    _, lane = s[AA].split(own, factor=32)
    s[AA].bind(lane, te.thread_axis("threadIdx.x"))
    return s


def loops(s, *args):
    return str(tw.lower(s, list(args)))


def runs(s, args, expected):
    arrays = [np.arange(a.shape[-1]).astype(a.dtype) if len(a.shape) == 1 else np.arange(np.prod(a.shape)).reshape(a.shape).astype(a.dtype)
              for a in args[:-1]]
    out = np.full(args[-1].shape, 99, args[-1].dtype)
    tw.build(s, args, target="interp")(*arrays, out)
    assert (out == expected(*arrays)).all()


def rotated(n=128, dtype="float32"):
    A = te.placeholder((n,), dtype=dtype, name="A")
    return A, te.compute((n,), lambda i: A[i // 32 * 32 + (i + 1) % 32], name="B")


def rotation(a):
    return np.roll(a.reshape(-1, 32), -1, axis=1).reshape(-1)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "float64", "uint16", "bool"])
@pytest.mark.parametrize("warps", [0, 2])
def test_lanes_read_their_neighbours(dtype, warps):
    A, B = rotated(256, dtype)
    s = in_warp(A, B, warps=warps)
    text = loops(s, A, B)
    assert "shfl" in text and "local" in text and "] warp" not in text
    runs(s, [A, B], rotation)
    again = {"te": te, "A": A, "B": B}
    exec(s.to_python(), again)
    assert again["s"].steps == s.steps
    assert tw.Schedule.from_steps(B, s.steps).steps == s.steps


def test_own_elements_are_read_without_an_exchange():
    A = te.placeholder((128,), name="A")
    B = te.compute((128,), lambda i: A[i] + 1, name="B")
    s = in_warp(A, B)
    assert "shfl" not in loops(s, A, B)
    runs(s, [A, B], lambda a: a + 1)


def test_elements_of_a_lane_may_stand_side_by_side():
    A = te.placeholder((256,), name="A")
    B = te.compute((256,), lambda i: A[i // 128 * 128 + (i + 2) % 128], name="B")
    s = te.create_schedule(B)
    AA = s.cache_read(A, "warp", [B])
    for stage in (B, AA):
        axis = s[stage].op.axis[0]
        if stage is B:
            block, axis = s[B].split(axis, factor=128)
            s[B].bind(block, te.thread_axis("blockIdx.x"))
            s[AA].compute_at(s[B], block)
        lane, beside = s[stage].split(axis, factor=4)
        s[stage].bind(lane, te.thread_axis("threadIdx.x"))
        s[stage].unroll(beside)
    assert "AA: float32[4] local" in loops(s, A, B).replace("A.warp", "AA")
    runs(s, [A, B], lambda a: np.roll(a.reshape(-1, 128), -2, axis=1).reshape(-1))


def test_tails_and_conditions_do_not_part_the_lanes():
    A = te.placeholder((100,), name="A")
    B = te.compute((100,), lambda i: te.if_then_else(te.all(i % 3 == 0, i % 32 > 0), A[te.min(i // 32 * 32 + (i + 31) % 32, 99)], 7), name="B")
    s = in_warp(A, B, per_lane=1)
    i = np.arange(100)
    runs(s, [A, B], lambda a: np.where((i % 3 == 0) & (i % 32 > 0), a[np.minimum(i // 32 * 32 + (i + 31) % 32, 99)], 7))


def test_a_sum_over_the_lanes_of_a_warp():
    """Each lane adds all 32 of its row: what others have, by exchanges in a loop."""
    A = te.placeholder((8, 32), name="A")
    k = te.reduce_axis((0, 32), name="k")
    B = te.compute((8, 32), lambda i, j: te.sum(A[i, (j + k) % 32] * (k + 1), axis=k), name="B")
    s = te.create_schedule(B)
    AA = s.cache_read(A, "warp", [B])
    i, j = B.op.axis
    block, warp = s[B].split(i, factor=4)
    for axis, index in ((block, "blockIdx.x"), (warp, "threadIdx.y"), (j, "threadIdx.x")):
        s[B].bind(axis, te.thread_axis(index))
    s[AA].compute_at(s[B], j)
    s[AA].bind(s[AA].op.axis[1], te.thread_axis("threadIdx.x"))
    runs(s, [A, B], lambda a: sum(np.roll(a, -k, axis=1) * np.float32(k + 1) for k in range(32)))


def test_lanes_that_only_come_along_read_nothing_of_what_one_writes():
    n, r = 40, te.reduce_axis((0, 4), name="r")
    A = te.placeholder((4, n), name="A")
    smaller = te.comm_reducer(lambda x, y: (te.select(x[1] <= y[1], x[0], y[0]), te.select(x[1] <= y[1], x[1], y[1])),
                              lambda *types: (te.const(9, types[0]), te.const(1e9, types[1])), name="argmin")
    place, least = te.compute((n,), lambda i: smaller((r, A[r, i]), axis=r), name="B")
    s = te.create_schedule([place, least])
    AA = s.cache_read(A, "warp", [place])
    block, _ = s[place].split(s[place].op.axis[0], factor=32)
    s[place].bind(block, te.thread_axis("blockIdx.x"))
    s[AA].compute_at(s[place], block)
    _, lane = s[AA].split(s[AA].op.axis[1], factor=32)
    s[AA].bind(lane, te.thread_axis("threadIdx.x"))
    a = np.random.default_rng(0).permutation(4 * n).reshape(4, n).astype("float32")
    found = [np.zeros(n, place.dtype), np.zeros(n, "float32")]
    tw.build(s, [A, place, least], target="interp")(a, *found)
    np.testing.assert_array_equal(found[0], a.argmin(0))
    np.testing.assert_array_equal(found[1], a.min(0))


def refused(s, args, *parts):
    with pytest.raises(tw.ScheduleError) as error:
        tw.lower(s, args)
    for part in parts:
        assert part in str(error.value), str(error.value)


def test_a_block_that_is_no_whole_warps():
    A, B = rotated()
    s = te.create_schedule(B)
    AA = s.cache_read(A, "warp", [B])
    xo, xi = s[B].split(B.op.axis[0], factor=16)
    s[B].bind(xo, te.thread_axis("blockIdx.x"))
    s[B].bind(xi, te.thread_axis("threadIdx.x"))
    s[AA].compute_at(s[B], xo)
    _, lane = s[AA].split(s[AA].op.axis[0], factor=16)
    s[AA].bind(lane, te.thread_axis("threadIdx.x"))
    refused(s, [A, B], "threadIdx.x must be the 32 lanes of a warp", "it has 16", "the warps of a block to threadIdx.y", "set it to shared")


def test_a_place_that_depends_on_the_lane():
    A = te.placeholder((128,), name="A")
    B = te.compute((126,), lambda i: A[i] + A[i + 2], name="B")
    s = in_warp(A, B, per_lane=1)
    refused(s, [A, B], "what a lane reads of others must lie at one place in all of them", "an exchange names one register of all lanes",
            "set it to shared")


def test_elements_that_no_lane_computes_in_turn():
    A, B = rotated()
    s = te.create_schedule(B)
    AA = s.cache_read(A, "warp", [B])
    xo, xi = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(xo, te.thread_axis("blockIdx.x"))
    s[B].bind(xi, te.thread_axis("threadIdx.x"))
    s[AA].compute_at(s[B], xo)
    refused(s, [A, B], "a stage in scope warp must have an axis that is bound to threadIdx.x, and A.warp has none", "bind the inner part")
    lane, _ = s[AA].split(s[AA].op.axis[0], factor=5)
    s[AA].bind(lane, te.thread_axis("threadIdx.y"))
    refused(s, [A, B], "must be bound to threadIdx.x alone", "leave")


def test_threads_of_other_warps():
    A, B = rotated()
    s = te.create_schedule(B)
    AA = s.cache_read(A, "warp", [B])
    AS = s.cache_read(AA, "shared", [B])
    xo, xi = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(xo, te.thread_axis("blockIdx.x"))
    s[B].bind(xi, te.thread_axis("threadIdx.x"))
    for stage in (AA, AS):
        s[stage].compute_at(s[B], xo)
    s[AA].bind(s[AA].op.axis[0], te.thread_axis("threadIdx.x"))
    refused(s, [A, B], "scope of a stage that all threads of a block need must be shared, and that of A.warp is warp", "another warp")


def test_the_host_has_no_warps():
    A, B = rotated()
    s = te.create_schedule(B)
    s.cache_read(A, "warp", [B])
    refused(s, [A, B], "scope warp must stand inside of a launch")
    with pytest.raises(tw.ScheduleError, match="scope of an output must be global, not warp"):
        s[B].set_scope("warp")


@needs_fake
def test_by_the_driver():
    run("""
        from test_warp_memory import in_warp, rotated, rotation
        A, B = rotated(256)
        f = tw.build(in_warp(A, B, warps=2), [A, B], target="cuda -arch=sm_80", name="rotate")
        assert "shfl(" in f.source("cuda") and "__shfl_sync(0xffffffffu" in f.source("cuda")
        a, b = np.random.default_rng(0).random(256).astype("float32"), tw.device_array(np.zeros(256, "float32"))
        f(tw.device_array(a), b)
        assert (b.numpy() == rotation(a)).all()
    """)


def softmax(rows, columns, threads=32):
    """topi's schedule_softmax for one warp a row: the exponentials stay with its lanes, who join their sum."""
    A = te.placeholder((rows, columns), name="A")
    k1, k2 = te.reduce_axis((0, columns), name="k1"), te.reduce_axis((0, columns), name="k2")
    most = te.compute((rows,), lambda i: te.max(A[i, k1], axis=k1), name="most")
    exps = te.compute((rows, columns), lambda i, j: te.exp(A[i, j] - most[i]), name="exps")
    total = te.compute((rows,), lambda i: te.sum(exps[i, k2], axis=k2), name="total")
    C = te.compute((rows, columns), lambda i, j: exps[i, j] / total[i], name="C")
    s = te.create_schedule(C)
    thread_x = te.thread_axis((0, threads), "threadIdx.x")

    def lanes(stage, axis):
        xo, xi = s[stage].split(axis, nparts=threads)
        if stage in (C, exps):
            s[stage].vectorize(s[stage].split(xi, factor=2)[1])
        s[stage].bind(xo, thread_x)
        return xo

    xo = lanes(C, C.op.axis[1])
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    lanes(total, k2)
    s[total].compute_at(s[C], xo)
    own = lanes(exps, exps.op.axis[1])
    s[exps].compute_at(s[C], C.op.axis[0])
    s[exps].set_scope("warp")
    lanes(most, k1)
    s[most].compute_at(s[exps], own)
    return s, A, C


@pytest.mark.parametrize("columns", [32, 64, 128])
def test_lanes_join_a_sum_of_what_they_keep(columns):
    s, A, C = softmax(3, columns)
    a, c = np.random.default_rng(0).random((3, columns), "float32"), np.zeros((3, columns), "float32")
    tw.build(s, [A, C], target="interp")(a, c)
    e = np.exp(a - a.max(1, keepdims=True))
    np.testing.assert_allclose(c, e / e.sum(1, keepdims=True), rtol=1e-5)


def test_a_sum_of_more_than_a_warp_reads_no_lanes():
    s, A, C = softmax(3, 128, threads=64)
    with pytest.raises(tw.ScheduleError, match="all threads of a block need must be shared, and that of exps is warp"):
        s.check()
