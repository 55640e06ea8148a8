"""The schedules of TVM's scripts for scans on GPUs, with our names."""

import numpy as np
import pytest

import tensorwright as tw
from cuda_scripts import bind, random, run
from tensorwright import te

block_x, thread_x = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")


def prefix_sums(m, n):
    X, state = te.placeholder((m, n), name="X"), te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    return X, init, update, te.scan(init, update, state, inputs=[X], name="S")


def in_registers(s, init, update, S, tx):
    s[init].compute_at(s[S], tx)
    s[update].compute_at(s[S], tx)


def side_by_side(s, init, update, S, tx):
    """Where a scan computes its updates by itself, all threads of a block do so together."""
    s[init].compute_inline()


def inlined(s, init, update, S, tx):
    s[init].compute_inline()
    s[update].compute_inline()


@pytest.mark.parametrize("places", [in_registers, side_by_side, inlined])
@pytest.mark.parametrize("m, n", [(6, 24), (5, 21)])
def test_scan(m, n, places):
    X, init, update, S = prefix_sums(m, n)
    s = te.create_schedule(S)
    bx, tx = s[S].split(S.op.spatial_axis_[0], factor=8)
    s[S].bind(bx, block_x)
    s[S].bind(tx, thread_x)
    places(s, init, update, S, tx)
    x = random(m, n)
    np.testing.assert_array_equal(run(s, [X, S], x, shape=(m, n)), x.cumsum(0))


def test_scan_whose_state_others_wrote():
    steps, batch, hidden = 4, 3, 10
    X, W = te.placeholder((steps, batch, hidden), name="X"), te.placeholder((hidden, hidden), name="W")
    state = te.placeholder((steps, batch, hidden), name="state")
    k = te.reduce_axis((0, hidden), name="k")
    init = te.compute((1, batch, hidden), lambda _, b, j: X[0, b, j], name="init")
    product = te.compute((steps, batch, hidden), lambda t, b, j: te.sum(state[t - 1, b, k] * W[k, j], axis=k), name="product")
    update = te.compute((steps, batch, hidden), lambda t, b, j: te.max(product[t, b, j] + X[t, b, j], 0.0), name="update")
    H = te.scan(init, update, state, name="H")
    s = te.create_schedule(H)
    b, j = H.op.spatial_axis_
    s[H].bind(b, block_x)
    s[H].bind(j, thread_x)
    s[init].compute_inline()
    s[update].compute_inline()
    x, w = random(steps, batch, hidden), random(hidden, hidden)
    s[product].compute_at(s[H], b)
    expected = [x[0]]
    for t in range(1, steps):
        expected.append(np.maximum(expected[-1] @ w + x[t], 0))
    np.testing.assert_array_equal(run(s, [X, W, H], x, w, shape=x.shape), np.array(expected))
    over = te.create_schedule(H)
    over[init].compute_inline()
    over[H].bind(j, block_x)
    with pytest.raises(tw.ScheduleError, match="must not be bound to blockIdx.x where its updates read other places"):
        over.check()


def lstm(steps, batch, hidden):
    """Two states: the one is read where it is written, the other by all. What a gate lets through is clipped, which is exact."""
    def clip(x, low):
        return te.min(te.max(x, low), 1.0)

    X, W = te.placeholder((steps, batch, 4, hidden), name="X"), te.placeholder((4, hidden, hidden), name="W")
    h, c = (te.placeholder((steps, batch, hidden), name=name) for name in "hc")
    k = te.reduce_axis((0, hidden), name="k")
    inits = [te.compute((1, batch, hidden), lambda _, b, j: 0.0, name=name) for name in ("h_init", "c_init")]
    product = te.compute((steps, batch, 4, hidden), lambda t, b, g, j: te.sum(h[t - 1, b, k] * W[g, j, k], axis=k), name="product")
    gates = te.compute((steps, batch, 4, hidden), lambda t, b, g, j: product[t, b, g, j] + X[t, b, g, j], name="gates")
    next_c = te.compute((steps, batch, hidden), lambda t, b, j: clip(gates[t, b, 0, j], 0.0) * c[t - 1, b, j]
                        + clip(gates[t, b, 1, j], 0.0) * clip(gates[t, b, 2, j], -1.0), name="next_c")
    next_h = te.compute((steps, batch, hidden), lambda t, b, j: clip(gates[t, b, 3, j], 0.0) * clip(next_c[t, b, j], -1.0), name="next_h")
    H, C = te.scan(inits, [next_h, next_c], [h, c], inputs=[X, W], name="scan")
    return X, W, inits, product, gates, next_c, next_h, H, C


def test_states_that_are_read_in_place_beside_one_that_all_threads_read():
    steps, batch, hidden = 4, 3, 10
    X, W, inits, product, gates, next_c, next_h, H, C = lstm(steps, batch, hidden)
    s = te.create_schedule([H.op])
    b, j = H.op.spatial_axis_
    s[H].bind(b, block_x)
    s[H].bind(j, thread_x)
    for stage in (*inits, gates, next_c, next_h):
        s[stage].compute_inline()
    s[product].compute_at(s[H], b)
    x, w = random(steps, batch, 4, hidden), random(4, hidden, hidden)
    h, c = [np.zeros((batch, hidden))], [np.zeros((batch, hidden))]
    for t in range(1, steps):
        g = np.einsum("bk,gjk->bgj", h[-1], w) + x[t]
        c.append(g[:, 0].clip(0, 1) * c[-1] + g[:, 1].clip(0, 1) * g[:, 2].clip(-1, 1))
        h.append(g[:, 3].clip(0, 1) * c[-1].clip(-1, 1))
    outs = [np.full((steps, batch, hidden), 7, "float32") for _ in range(2)]
    tw.build(s, [X, W, H, C], target="interp")(x, w, *outs)
    np.testing.assert_array_equal(outs, [h, c])
    assert np.unique(outs).size > 2


def test_a_state_that_another_thread_wrote_is_refused_behind_one_in_place():
    X, state = te.placeholder((5, 12), name="X"), te.placeholder((5, 12), name="state")
    init = te.compute((1, 12), lambda _, i: X[0, i], name="init")
    own = te.compute((5, 12), lambda t, i: state[t - 1, i] * 2, name="own")
    update = te.compute((5, 12), lambda t, i: own[t, 11 - i] + X[t, i], name="update")
    S = te.scan(init, update, state, inputs=[X], name="S")
    s = te.create_schedule(S)
    s[S].bind(S.op.spatial_axis_[0], thread_x)
    s[init].compute_inline()
    s[update].compute_inline()
    s[own].compute_at(s[S], S.op.spatial_axis_[0])
    with pytest.raises(tw.ScheduleError, match="must not be bound to threadIdx.x where its updates read other places"):
        s.check()


def test_blocks_are_bound_by_the_scan():
    """Which is a launch; TVM's scripts bind its updates' axes."""
    X, init, update, S = prefix_sums(6, 24)
    s = te.create_schedule(S)
    s[init].compute_inline()
    bx, tx = s[update].split(update.op.axis[1], factor=8)
    s[update].bind(bx, block_x)
    s[update].bind(tx, thread_x)
    with pytest.raises(tw.ScheduleError, match=r"the scan is the launch: s\[S\].bind\(S.op.spatial_axis_\[0\]"):
        s.check()


def test_env_threads():
    X, init, update, S = prefix_sums(5, 20)
    s = te.create_schedule(S)
    s[S].env_threads([block_x, thread_x])
    s[init].compute_inline()
    tx = s[update].split(update.op.axis[1], factor=8)[1]
    s[update].bind(tx, thread_x)
    x = random(5, 20)
    np.testing.assert_array_equal(run(s, [X, S], x, shape=(5, 20)), x.cumsum(0))


def test_env_threads_of_one_state():
    """There is no axis but time, which stays outside."""
    X, state = te.placeholder((9,), name="X"), te.placeholder((9,), name="state")
    init, update = te.compute((1,), lambda _: X[0], name="init"), te.compute((9,), lambda t: state[t - 1] * X[t], name="update")
    S = te.scan(init, update, state, inputs=[X], name="S")
    s = te.create_schedule(S)
    s[S].env_threads(thread_x)
    for stage in (init, update):
        s[stage].compute_inline()
    assert [axis.name for axis in s[S].leaf_iter_vars] == ["t", "once"]
    x = random(9)
    np.testing.assert_array_equal(run(s, [X, S], x, shape=(9,)), x.cumprod())
