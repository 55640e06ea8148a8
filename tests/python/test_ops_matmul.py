"""matmul, dense and kernels by name against PyTorch."""

import numpy as np
import pytest
from stock import close, integers, needs_torch, normal, run, torch

import tensorwright as tw
from tensorwright import te

ops = tw.ops


@needs_torch
def test_matmul_shapes_and_batches():
    rng = np.random.default_rng(1)
    cases = [((7, 13), (13, 5)), ((1, 33), (33, 17)), ((31, 1), (1, 3)), ((3, 7, 13), (3, 13, 5)), ((3, 7, 13), (13, 5)),
             ((4, 6), (2, 6, 3)), ((2, 1, 5, 9), (3, 9, 4)), ((1, 3, 2, 9), (2, 1, 9, 4)), ((2, 1, 1, 3, 3, 5), (1, 2, 1, 3, 5, 4))]
    for a, b in cases:
        x, y = normal(rng, *a), normal(rng, *b)
        close(run(ops.matmul, x, y), torch.from_numpy(x) @ torch.from_numpy(y))


@needs_torch
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_matmul_transposes(ta, tb):
    rng = np.random.default_rng(2)
    for batch in [(), (3,)]:
        a, b = normal(rng, *batch, 19, 23), normal(rng, *batch, 23, 7)
        given = [v.swapaxes(-1, -2).copy() if t else v for v, t in ((a, ta), (b, tb))]
        close(run(lambda x, y: ops.matmul(x, y, transpose_a=ta, transpose_b=tb), *given), a @ b)


def test_matmul_of_integers_is_exact():
    rng = np.random.default_rng(3)
    cases = [("uint8", "int8", "int32"), ("int8", "int8", "int32"), ("int16", "int16", "int32"), ("int64", "int8", "int64")]
    for left, right, out in cases:
        a, b = integers(rng, left, 9, 70), integers(rng, right, 70, 11)
        got = run(ops.matmul, a, b)
        with np.errstate(over="ignore"):
            expected = a.astype("int64") @ b.astype("int64")
        assert got.dtype == out
        np.testing.assert_array_equal(got, expected.astype(out))


@needs_torch
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_added_up_in_float32(dtype):
    rng = np.random.default_rng(4)
    ml = pytest.importorskip("ml_dtypes") if dtype == "bfloat16" else None
    kind = ml.bfloat16 if ml else np.float16
    a, b = normal(rng, 9, 300).astype(kind), normal(rng, 300, 11).astype(kind)
    exact = torch.from_numpy(a.astype("float32")) @ torch.from_numpy(b.astype("float32"))
    close(run(ops.matmul, a, b), exact, rtol=1e-5)
    once = run(lambda x, y: ops.matmul(x, y, out_dtype=dtype), a, b)
    assert str(once.dtype) == dtype
    close(once.astype("float32"), exact.to(getattr(torch, dtype)).float(), rtol=1e-2)
    close(run(lambda x, y: ops.matmul(x, y, out_dtype="float64"), a, b), exact.double(), rtol=1e-5)


@needs_torch
def test_dense():
    rng = np.random.default_rng(5)
    for shape, n, activation in [((5, 37), 11, None), ((1, 64), 3, "relu"), ((2, 3, 19), 8, "gelu"), ((7, 1), 1, "silu")]:
        x, w, bias = normal(rng, *shape), normal(rng, n, shape[-1]), normal(rng, n)
        got = run(lambda x, w, b, a=activation: ops.dense(x, w, transpose_w=True, bias=b, activation=a), x, w, bias)
        expected = torch.nn.functional.linear(*(torch.from_numpy(v) for v in (x, w, bias)))
        close(got, getattr(torch.nn.functional, activation)(expected) if activation else expected)
        close(run(ops.dense, x, w.T.copy()), x @ w.T)


def test_symbolic_rows():
    rows = te.var("rows")
    x, w = te.placeholder((rows, 24), name="X"), te.placeholder((24, 10), name="W")
    y = ops.dense(x, w, activation="relu")
    f = tw.build([x, w, y])
    for n in (1, 7):
        a, b, out = normal(np.random.default_rng(n), n, 24), normal(np.random.default_rng(9), 24, 10), np.empty((n, 10), "float32")
        f(a, b, out)
        close(out, np.maximum(a @ b, 0))


A = te.placeholder((7, 13), name="A")
B = te.placeholder((13, 5), name="B")
I = te.placeholder((13, 5), "int8", name="I")


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: ops.matmul(A, A), tw.ExprError, "matmul: rows of b must be as many as columns of a, 13, not 7"),
    (lambda: ops.matmul(te.placeholder((3,), name="v"), A), tw.ExprError, "matmul: a must have at least 2 dimensions, not 1"),
    (lambda: ops.matmul(A, I), tw.DTypeError, "matmul: a and b must both be floats or both be integers, not float32 and int8"),
    (lambda: ops.matmul(te.placeholder((2, 7, 13)), te.placeholder((3, 13, 5))),
     tw.ExprError, "matmul: batch dimensions must agree or be 1, not 2 and 3"),
    (lambda: ops.matmul(A, B, out_dtype="int8"), tw.DTypeError, "matmul: out_dtype must be one that holds sums of float32, not int8"),
    (lambda: ops.matmul(A, B, out_dtype="floof"), tw.DTypeError, 'matmul: out_dtype must be a dtype, not "floof"'),
    (lambda: ops.matmul(A, B, transpose_a=1), tw.ArgumentError, "matmul: transpose_a must be True or False, not 1"),
    (lambda: ops.matmul(A, np.zeros((13, 5))), tw.ArgumentError, "matmul: argument 1 must be a tensor of te"),
    (lambda: ops.dense(A, B, bias=te.placeholder((6,))),
     tw.ExprError, "dense: elements of bias must be as many as channels of the result, 5, not 6"),
    (lambda: ops.dense(A, B, activation="reluu"), tw.ArgumentError, "dense: activation must be one of"),
    (lambda: ops.kernel("matmull", M=1), tw.ArgumentError, 'no stock operator is called "matmull"; did you mean matmul'),
    (lambda: ops.kernel("matmul", M=1, N=2, K=3, KK=4), tw.ArgumentError, "matmul: no parameter KK; did you mean K"),
    (lambda: ops.kernel("matmul", M=1, N=2), tw.ArgumentError, "matmul: K must be given: what is added up"),
    (lambda: ops.kernel("matmul", M=0, N=2, K=3), tw.ArgumentError, 'matmul: M must be a positive integer, not "0"'),
])
def test_refusals(make, error, message):
    with pytest.raises(error) as e:
        make()
    assert message in str(e.value)
    assert "test_ops_matmul.py" in str(e.value)


def test_every_kernel_by_name_can_be_made():
    sizes = dict.fromkeys(("M", "N", "K", "H", "W", "D", "CI", "CO", "C"), 8)
    for name, parameters in ops.kernels().items():
        given = {p: sizes.get(p, 4) for p, standard in parameters.items() if standard is None}
        args = ops.kernel(name, **given)
        assert len(args) >= 2 and all(isinstance(t, te.Tensor) for t in args), name
        tw.lower(tw.default_schedule(args), args)
