"""Three channels are copied with a fourth of zeros, in vectors: what these need not read lies beyond the array."""

import ml_dtypes
import numpy as np
import pytest
from fenced import fenced

import tensorwright as tw
from tensorwright import te

ROWS, PIXELS, CHANNELS = 3, 21, 3


def copied(dtype, lanes, border):
    """Y = X with a border of zeros, kept in four channels; Z reads it."""
    x = te.placeholder((ROWS, PIXELS, CHANNELS), dtype, name="X")
    wide, high = PIXELS + 2 * border, ROWS + 2 * border
    inside = lambda y, v: te.all(y >= border, y < ROWS + border, v >= border, v < PIXELS + border)
    y = te.compute((high, wide, CHANNELS), lambda i, v, c: te.if_then_else(
        inside(i, v), x[i - border, v - border, c], te.const(0, dtype)) if border else x[i, v, c], name="Y")
    z = te.compute((high, wide, CHANNELS), lambda i, v, c: y[i, v, c], name="Z")
    s = te.create_schedule(z)
    s[y].transform_layout(lambda i, v, c: [i, v * 4 + c % 4, c // 4], pad_value=0)
    i, v, c = s[y].op.axis
    outer, inner = s[y].split(c, factor=4, tail="pad")
    s[y].reorder(i, outer, v, inner)
    _, vector = s[y].split(s[y].fuse(v, inner), factor=lanes)
    s[y].vectorize(vector)
    s[y].compute_at(s[z], s[z].op.axis[0])
    return s, [x, z]


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="skipped: this build has no LLVM")
@pytest.mark.parametrize("dtype", ["uint8", "int16", "bfloat16", "float32", "float64", "bool"])
@pytest.mark.parametrize("lanes", [4, 8, 16, 64])
@pytest.mark.parametrize("border", [0, 1, 3])
def test_nothing_beyond_the_array_is_read(dtype, lanes, border):
    s, args = copied(dtype, lanes, border)
    f = tw.build(s, args)
    values = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, args[0].shape)
    values = values.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    expected = np.pad(values, ((border, border), (border, border), (0, 0)))
    for at_end in (False, True):
        z = np.zeros(args[1].shape, values.dtype)
        f(fenced(values, at_end), z)
        np.testing.assert_array_equal(z, expected)
