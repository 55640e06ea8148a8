"""Terms and elements that a condition of indices leaves out: scores of causal attention and of bands, however who reads them is scheduled."""
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

N, D = 100, 20
LEAST = float("-inf")


def product(name, n):
    return te.reduce_axis((0, n), name=name)


def summed(condition, transposed=False):
    t = product("t", N)
    return lambda s, v: te.compute((N, D), lambda i, c: te.sum(te.if_then_else(
        condition(i, t), (s[t, i] if transposed else s[i, t]) * v[t, c], 0.0), axis=t), name="O")


def largest(condition):
    t = product("t", N)
    return lambda s, v: te.compute((N,), lambda i: te.max(te.if_then_else(condition(i, t), s[i, t], te.const(LEAST, "float32")), axis=t), name="O")


ROWS, COLUMNS = np.indices((N, N))
CASES = {
    "lower": (summed(lambda i, t: t <= i), lambda s, v: np.where(COLUMNS <= ROWS, s, 0) @ v, ""),
    "turned": (summed(lambda i, t: t >= i, True), lambda s, v: np.where(COLUMNS >= ROWS, s.T, 0) @ v, ""),
    "largest": (largest(lambda i, t: t <= i), lambda s, v: np.where(COLUMNS <= ROWS, s, LEAST).max(1), "set_store_predicate("),
    "band": (largest(lambda i, t: te.all(t <= i, t + 5 > i)),
             lambda s, v: np.where((COLUMNS <= ROWS) & (COLUMNS + 5 > ROWS), s, LEAST).max(1), "set_store_predicate(te.all("),
    "all": (largest(lambda i, t: t < i + N), lambda s, v: s.max(1), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_scores_are_computed_where_they_are_asked_for(case):
    q, k, v = (te.placeholder((N, D), name=name) for name in "QKV")
    r = product("r", D)
    s = te.compute((N, N), lambda i, j: te.sum(q[i, r] * k[j, r], axis=r), name="S")
    read, expected, step = CASES[case]
    o = read(s, v)
    tensors = [q, k, v, o] if len(o.shape) == 2 else [q, k, o]
    steps = tw.default_schedule(tensors).to_python()
    assert step in steps and ("set_store_predicate" in steps) == bool(step)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, (N, D)).astype(np.float32) for _ in tensors[:-1]]
    out = np.empty(o.shape, np.float32)
    tw.build(tensors, name="left_out")(*arrays, out)
    np.testing.assert_array_equal(out, expected(arrays[0] @ arrays[1].T, arrays[-1]))
