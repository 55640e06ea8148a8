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
