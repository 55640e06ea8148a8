"""The schedules of bench/ on small shapes, uneven ones among them: against NumPy."""

import pathlib
import sys

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from bench.elementwise import elementwise  # noqa: E402
from bench.layernorm import EPSILON, layernorm  # noqa: E402
from bench.matmul import dense  # noqa: E402
from bench.softmax import softmax  # noqa: E402
from bench.sums import all_of, columns, rows  # noqa: E402

TARGETS = ["interp", "llvm"]
RNG = np.random.default_rng(3)


def run(schedule, arguments, *inputs, target):
    out = np.zeros(arguments[-1].shape, np.float32)
    tw.build(schedule, arguments, target=target)(*inputs, out)
    return out


def normal(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(17, 64), (5, 131), (1, 1)])
def test_softmax(shape, target):
    x = normal(*shape)
    exact = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(run(*softmax(*shape), x, target=target), exact / exact.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("together", [1, 4])
@pytest.mark.parametrize("shape", [(17, 64), (5, 131), (1, 1)])
def test_layernorm(shape, together, target):
    x, scale, shift = normal(*shape), normal(shape[1]), normal(shape[1])
    exact = x - x.mean(axis=1, keepdims=True, dtype=np.float64)
    exact = exact / np.sqrt((exact**2).mean(axis=1, keepdims=True) + EPSILON) * scale + shift
    np.testing.assert_allclose(run(*layernorm(*shape, together=together), x, scale, shift, target=target), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 37, 128])
@pytest.mark.parametrize("make, axis", [(rows, 1), (columns, 0), (all_of, (0, 1))])
def test_sums(make, axis, n, target):
    x = normal(n, n)
    np.testing.assert_allclose(run(*make(n), x, target=target), np.atleast_1d(x.sum(axis=axis, dtype=np.float64)), atol=1e-3)


@pytest.mark.parametrize("n", [1, 1000])
def test_elementwise(n):
    x = normal(n)
    np.testing.assert_allclose(run(*elementwise("tanh", n), x, target="llvm"), np.tanh(x), rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_matmul_of_every_shape(target):
    kernel = tw.build(*dense(*(te.size_var(name) for name in "mnk")), target=target)
    for m, n, k in [(13, 70, 9), (6, 64, 1), (1, 1, 5), (7, 65, 0), (0, 3, 2)]:
        a, b, c = normal(m, k), normal(k, n), np.ones((m, n), np.float32)
        kernel(a, b, c)
        np.testing.assert_allclose(c, a @ b, atol=1e-4)


def test_the_list_says_what_each_bench_measures(monkeypatch, capsys):
    from bench import run as benches

    monkeypatch.setattr(sys, "argv", ["run.py", "--list"])
    assert benches.main() == 0
    said = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert {"matmul", "tune", "gpu"} <= set(said) and not benches.NOT_BENCHES & set(said)
