"""transform_layout from Python: what it takes and returns; its loops and refusals are golden pages."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te


def chain(rows=60, columns=30):
    a = te.placeholder((rows, columns), name="A")
    p = te.compute((rows, columns), lambda i, j: a[i, j] * 2, name="P")
    return a, p, te.compute((rows, columns), lambda i, j: p[i, j] + 1, name="C")


def runs_right(s, a, c, shape):
    x, y = np.random.default_rng(1).random(shape, "float32"), np.zeros(shape, "float32")
    tw.build(s, [a, c])(x, y)
    np.testing.assert_array_equal(y, x * 2 + 1)


def test_blocks_with_padding():
    a, p, c = chain()
    s = te.create_schedule(c)
    loops = s[p].transform_layout(lambda i, j: [i // 16, j, i % 16], pad_value=0)
    assert [axis.name for axis in loops] == ["i.o", "j", "i.i"]
    s[p].vectorize(loops[-1])
    runs_right(s, a, c, (60, 30))


def test_texts_are_the_same_as_a_function():
    a, p, c = chain()
    s, t = te.create_schedule(c), te.create_schedule(c)
    s[p].transform_layout(lambda i, j: [j, 59 - i])
    t[p].transform_layout(["j", "59 - i"])
    assert s.steps == t.steps
    runs_right(s, a, c, (60, 30))


def test_printed_as_python():
    _, p, c = chain()
    s = te.create_schedule(c)
    io, j, ii = s[p].transform_layout(lambda i, j: [i // 16, j, i % 16], pad_value=float("-inf"))
    s[p].unroll(j)
    text = s.to_python()
    assert 'transform_layout(lambda i, j: [i // 16, j, i % 16], pad_value=float("-inf"))' in text
    again = {"te": te, "C": c, "P": p}
    exec(text, again)
    assert again["s"].steps == s.steps


@pytest.mark.parametrize("index_map, pad, rule", [
    (lambda i, j: [i, i], None, "a place of its own"),
    (lambda i, j: [i // 16, j, i % 16], None, "pad_value must be given"),
    (lambda i, j: [i // 16, j, i % 16], "zero", "pad_value must be a number"),
    (lambda i, j: i, None, "must return a list"),
    (["i", "k"], None, "index must be an expression over i, j"),
    (lambda i, j: [i, j * 1.5], None, "whole number"),
])  # fmt: skip
def test_refusals_name_the_line(index_map, pad, rule):
    _, p, c = chain()
    s = te.create_schedule(c)
    with pytest.raises(tw.ScheduleError, match=rule) as refused:
        s[p].transform_layout(index_map, pad_value=pad)
    assert "test_transform_layout.py" in str(refused.value)
    assert s.steps == te.create_schedule(c).steps


def test_a_parameter_has_no_loops():
    b = te.placeholder((32, 64), name="B", param=True)
    c = te.compute((32, 64), lambda i, j: b[i, j] + 1, name="C")
    s = te.create_schedule(c)
    assert s[b].transform_layout(lambda k, n: [n // 16, k, n % 16]) == []
    assert "transform_layout(lambda ax0, ax1: [ax1 // 16, ax0, ax1 % 16])" in s.to_python()
    f = tw.build(s, [b, c])
    x, y = np.random.default_rng(1).random((32, 64), "float32"), np.zeros((32, 64), "float32")
    f(f.pack("B", x), y)
    np.testing.assert_array_equal(y, x + 1)


def test_an_input_is_the_callers():
    a, _, c = chain()
    with pytest.raises(tw.ScheduleError, match="param=True"):
        te.create_schedule(c)[a].transform_layout(lambda i, j: [j, i])
