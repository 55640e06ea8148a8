"""What rounds to 0, as exp of a masked score, is no product that a processor computes by hand."""

import re

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

ENDS = {
    "float32": [0.0, -0.0, -87.4, -103.9, -103.98, -104.0, -104.01, -105.0, -106.0, -200.0, -1e30, -np.inf, np.inf, np.nan, 88.8],
    "float64": [0.0, -708.5, -745.1, -745.14, -745.9, -746.0, -746.1, -800.0, -1e300, -np.inf, np.inf, np.nan, 709.8],
}


def built(name, dtype, target, n):
    A = te.placeholder((n,), dtype, "A")
    s = te.create_schedule(B := te.compute((n,), lambda i: getattr(te, name)(A[i]), name="B"))
    s[B].vectorize(s[B].split(s[B].op.axis[0], 64 if dtype == "float32" else 32)[1])
    return tw.build(s, [A, B], target=target)


@pytest.mark.parametrize("dtype", sorted(ENDS))
@pytest.mark.parametrize("name", ["exp", "exp2", "sigmoid", "expm1"])
def test_ends_are_alike_everywhere(name, dtype):
    x = np.resize(np.array(ENDS[dtype], dtype), 128)
    results = []
    for target in ("interp", "llvm", str(tw.Target.host()), "c"):
        out = np.full(128, 7, dtype)
        built(name, dtype, target, 128)(x, out)
        results.append(out)
    for out in results[1:]:
        np.testing.assert_array_equal(results[0], out)
    if name == "exp":
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(results[0], np.exp(x.astype("longdouble")).astype(dtype), rtol=1e-6, atol=1e-45)


def test_lanes_that_round_to_0_are_not_scaled():
    text = built("exp", "float32", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4", 128).source("asm")
    scaled = re.findall(r"vscalefps.*", text)
    assert scaled and all("{%k" in line and "{z}" in line for line in scaled)
