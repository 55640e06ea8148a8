"""The target interp runs the lowered program: it gives the bits that llvm and c give with the same options."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from programs import needs_llvm

FUNCTIONS = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "atan", "cbrt", "tanh", "sigmoid", "erf",
             "sqrt", "rsqrt"]


def bits(build, target, inputs, outs):
    tw.build(*build, target=target)(*inputs, *outs)
    return [out.tobytes() for out in outs]


def agree(tensors, inputs, results, schedule=None):
    for options in ("", " -mcpu=x86-64-v3", " -mcpu=native"):
        s = schedule() if schedule else te.create_schedule(results)
        got = []
        for kind in ("interp", "llvm", "c"):
            outs = [np.zeros([int(str(n)) for n in t.shape], t.dtype) for t in results]
            got.append(bits((s, [*tensors, *results]), kind + options, inputs, outs))
        assert got[0] == got[1], f"interp{options} and llvm{options} differ: {results}"
        assert got[0] == got[2], f"interp{options} and c{options} differ: {results}"


@needs_llvm
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_functions_and_what_a_cast_shows_of_them(dtype):
    x = np.random.default_rng(5).uniform(0.01, 8, 500).astype(dtype)
    X = te.placeholder(x.shape, dtype, name="X")
    for f in FUNCTIONS:  # a kernel each: gcc takes 1.4 times as long over one of all
        y = lambda i, f=f: getattr(te, f)(X[i])  # noqa: E731
        agree([X], [x], [te.compute(x.shape, y, name="C"), te.compute(x.shape, lambda i: (y(i) * 1e4).astype("int64"), name="D")])


@needs_llvm
def test_a_schedule_with_sums_that_fma_rounds_once():
    rng = np.random.default_rng(6)
    a, b = (rng.standard_normal(shape).astype("float32") for shape in ((37, 19), (19, 23)))
    A, B = te.placeholder(a.shape, name="A"), te.placeholder(b.shape, name="B")
    k = te.reduce_axis((0, 19), name="k")
    C = te.compute((37, 23), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

    def tiled():
        s = te.create_schedule(C)
        io, jo, ii, ji = s[C].tile(*C.op.axis, 4, 8)
        s[C].reorder(io, jo, k, ii, ji)
        s[C].vectorize(ji)
        return s

    agree([A, B], [a, b], [C], tiled)


@needs_llvm
def test_subscripts_that_are_data():
    at = np.array([0, 5, -1, 9, 2**30, -(2**30)], "int32")
    A, I = te.placeholder((9,), name="A"), te.placeholder(at.shape, "int32", name="I")
    C = te.compute(at.shape, lambda i: A[I[i]], name="C")
    agree([A, I], [np.arange(9, dtype="float32"), at], [C])
