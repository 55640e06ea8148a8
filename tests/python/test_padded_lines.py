"""Zeros around an image: masks of loads in the innermost loop, or a copy that each task makes; the estimate weighs them."""

import pytest

import tensorwright as tw
from tensorwright import te


def convolution(channels, filters, size):
    A, W = te.placeholder((channels, size, size), name="A"), te.placeholder((filters, channels, 3, 3), name="W")
    c, r, s = te.reduce_axis((0, channels), name="c"), te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 3), name="s")
    inside = lambda y, x: te.all(y >= 1, y <= size, x >= 1, x <= size)
    padded = te.compute((channels, size + 2, size + 2), lambda k, y, x: te.if_then_else(inside(y, x), A[k, y - 1, x - 1], 0.0), name="padded")
    return [A, W, te.compute((filters, size, size), lambda f, y, x: te.sum(padded[c, y + r, x + s] * W[f, c, r, s], axis=[c, r, s]), name="B")]


@pytest.mark.parametrize("size, copied", [(19, True), (128, False)])
def test_a_line_of_two_registers_is_copied_and_a_long_one_is_not(size, copied):
    text = tw.default_schedule(convolution(40, 50, size), target="llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server").to_python()
    assert ("s[padded].compute_inline()" not in text) == copied
