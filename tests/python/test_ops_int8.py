"""Quantized operators against PyTorch and against their definition in NumPy."""

import numpy as np
import pytest
from stock import close, integers, needs_torch, normal, run, torch

import tensorwright as tw
from tensorwright import te

ops = tw.ops
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize")  # deprecated, and still the definition to agree with


def within_one(got, expected):
    """A result that lies at a tie may round either way: float32 in another order."""
    assert got.dtype == expected.dtype and got.shape == expected.shape
    difference = np.abs(got.astype("int64") - expected.astype("int64"))
    assert difference.max() <= 1 and (difference != 0).mean() < 0.01


def quantized(real, scale, zero_point, dtype):
    info = np.iinfo(dtype)
    return np.clip(np.rint(real / scale) + zero_point, info.min, info.max).astype(dtype)


@needs_torch
def test_quantize_and_back():
    rng = np.random.default_rng(1)
    x = normal(rng, 7, 33) * 5
    for dtype, kind, zero_point in [("int8", torch.qint8, -3), ("uint8", torch.quint8, 128)]:
        q = torch.quantize_per_tensor(torch.from_numpy(x), 0.0371, zero_point, kind)
        got = run(lambda a, z=zero_point, d=dtype: ops.quantize(a, 0.0371, z, dtype=d), x)
        close(got, q.int_repr())
        close(run(lambda a, z=zero_point: ops.dequantize(a, 0.0371, z), got), q.dequantize(), rtol=1e-6)


@needs_torch
def test_quantize_each_channel():
    rng = np.random.default_rng(2)
    x, scales = normal(rng, 6, 4, 5) * 3, rng.uniform(0.01, 0.1, 4).astype("float32")
    zeros = rng.integers(-9, 9, 4).astype("int32")
    q = torch.quantize_per_channel(torch.from_numpy(x), torch.from_numpy(scales).double(), torch.from_numpy(zeros).long(), 1, torch.qint8)
    got = run(lambda a, s, z: ops.quantize(a, s, z, axis=1), x, scales, zeros)
    within_one(got, q.int_repr().numpy())
    back = run(lambda a, s, z: ops.dequantize(a, s, z, axis=1), q.int_repr().numpy(), scales, zeros)
    close(back, q.dequantize(), rtol=1e-6)


def test_quantize_ends_ties_and_nan():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9, np.inf, -np.inf, np.nan], "float32")
    np.testing.assert_array_equal(run(ops.quantize, x), np.array([0, 2, 2, 0, -2, 127, -128, 127, -128, 0], "int8"))


ZEROS = [2**24 + 1, -(2**30) - 1, 2**31 - 1]


@pytest.mark.parametrize("zero", ZEROS)
def test_zero_points_beyond_the_digits_of_float32(zero):
    x = np.array([0, 3, -7, 2.0**25, -(2.0**25), 2.0**31, -(2.0**33), np.inf, np.nan], "float32")
    with np.errstate(invalid="ignore"):
        expected = np.clip(x.astype("float64") + zero, -(2**31), 2**31 - 1)
        expected = np.where(np.isnan(x), 0, expected).astype("int32")
    zeros = np.full(x.shape, zero, "int32")
    np.testing.assert_array_equal(run(lambda a: ops.quantize(a, 1.0, zero, dtype="int32"), x), expected)
    np.testing.assert_array_equal(run(lambda a, z: ops.quantize(a, 1.0, z, dtype="int32"), x, zeros), expected)


@pytest.mark.parametrize("zero", ZEROS)
def test_distances_from_the_zero_point_beyond_int32(zero):
    q = np.array([0, 1, zero, -zero, 2**31 - 1, -(2**31)], "int64").clip(-(2**31), 2**31 - 1).astype("int32")
    expected = (q.astype("int64") - zero).astype("float32") * np.float32(0.5)
    zeros = np.full(q.shape, zero, "int32")
    np.testing.assert_array_equal(run(lambda a: ops.dequantize(a, 0.5, zero), q), expected)
    np.testing.assert_array_equal(run(lambda a, z: ops.dequantize(a, 0.5, z), q, zeros), expected)


def test_dequantize_takes_the_upper_half_of_uint32():
    q = np.array([0, 1, 2**31, 2**32 - 1], "uint32")
    for zero in (0, 1, 3 * 2**30):
        expected = (q.astype("int64") - zero).astype("float32") * np.float32(2)
        np.testing.assert_array_equal(run(lambda a, z=zero: ops.dequantize(a, 2.0, z), q), expected)


def halfway(scales):
    """Values next to and at the middle between two steps of each scale, a column for each."""
    steps = np.arange(-127, 126, dtype="float32")[:, None] + np.float32(0.5)
    return (steps * scales).astype("float32")


def test_quantize_divides():
    """As ONNX's QuantizeLinear and torch.round(x / scale) do: a product with 1 / scale gives another step one time in eight."""
    scales = np.random.default_rng(11).uniform(0.001, 0.3, 50).astype("float32")
    x = halfway(scales)
    expected = quantized(x, scales, 0, "int8")
    product = quantized(x * (np.float32(1) / scales), 1, 0, "int8")
    assert (product != expected).mean() > 0.05
    np.testing.assert_array_equal(run(lambda a, s: ops.quantize(a, s), x, scales), expected)
    for column in range(0, 50, 10):
        one = np.ascontiguousarray(x[:, column])
        got = run(lambda a, s=float(scales[column]): ops.quantize(a, s, 3, dtype="uint8"), one)
        np.testing.assert_array_equal(got, quantized(one, scales[column], 3, "uint8"))


def test_results_of_products_divide_too():
    """quantized_dense by the definition of ONNX's QLinearMatMul: sums of one product each, so that the real values are known."""
    x, w = np.arange(-127, 127, dtype="int8").reshape(-1, 1), np.ones((1, 1), "int8")
    wrong = 0
    for scale in np.random.default_rng(12).uniform(0.01, 0.3, 20).astype("float32"):
        real = x.astype("float32") * (np.float32(0.5) * scale)
        got = run(lambda a, b, s=float(scale): ops.quantized_dense(a, b, x_scale=0.5 * s, out_scale=s, out_dtype="int8"), x, w)
        np.testing.assert_array_equal(got, quantized(real, scale, 0, "int8"))
        wrong += (quantized(real * (np.float32(1) / scale), 1, 0, "int8") != got).sum()
    assert wrong > 50


DENSE = [((5, 37), 11, "uint8", "int8", 128, 0), ((1, 64), 3, "int8", "int8", 0, 0),
         ((2, 3, 19), 8, "uint8", "uint8", 3, 117), ((7, 1), 1, "int8", "int8", -5, -7)]


@pytest.mark.parametrize(("shape", "n", "x_dtype", "w_dtype", "zx", "zw"), DENSE)
def test_dense(shape, n, x_dtype, w_dtype, zx, zw):
    rng = np.random.default_rng(n)
    x, w, bias = integers(rng, x_dtype, *shape), integers(rng, w_dtype, shape[-1], n), rng.integers(-999, 999, n).astype("int32")
    acc = (x.astype("int64") - zx) @ (w.astype("int64") - zw)
    zeros = {"x_zero_point": zx, "w_zero_point": zw}
    got = run(lambda a, b: ops.quantized_dense(a, b, out_dtype="int32", **zeros), x, w)
    np.testing.assert_array_equal(got, acc.astype("int32"))
    scales = rng.uniform(0.01, 0.02, n).astype("float32")
    got = run(lambda a, b, c, s: ops.quantized_dense(a, b, bias=c, x_scale=0.5, w_scale=s, activation="relu", **zeros), x, w, bias, scales)
    real = np.maximum((acc + bias) * 0.5 * scales, 0)
    close(got, real.astype("float32"), rtol=1e-5)
    out = {"out_scale": 3.7, "out_zero_point": 5, "out_dtype": "int8"}
    got = run(lambda a, b, c, s: ops.quantized_dense(a, b, bias=c, x_scale=0.5, w_scale=s, **out, **zeros), x, w, bias, scales)
    within_one(got, quantized((acc + bias) * 0.5 * scales, 3.7, 5, "int8"))


def test_dense_with_zero_points_of_channels():
    rng = np.random.default_rng(9)
    x, w, zeros = integers(rng, "uint8", 6, 20), integers(rng, "int8", 9, 20), rng.integers(-20, 20, 9).astype("int32")
    got = run(lambda a, b, z: ops.quantized_dense(a, b, transpose_w=True, x_zero_point=4, w_zero_point=z, out_dtype="int32"), x, w, zeros)
    np.testing.assert_array_equal(got, ((x.astype("int64") - 4) @ (w.astype("int64") - zeros[:, None]).T).astype("int32"))


@needs_torch
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_conv2d(layout):
    rng = np.random.default_rng(10)
    cases = [(3, 5, 1, 128, 0, {"padding": 1}), (4, 6, 2, 7, -3, {"stride": 2, "padding": (0, 2)}), (2, 2, 1, 0, 0, {"dilation": 2})]
    for ci, co, groups, zx, zw, options in cases:
        x, w = integers(rng, "uint8", 2, ci, 9, 8), integers(rng, "int8", co, ci // groups, 3, 3)
        bias, scales = rng.integers(-999, 999, co).astype("int32"), rng.uniform(0.01, 0.02, co).astype("float32")
        real = [torch.from_numpy(t) for t in (x.astype("float64") - zx, w.astype("float64") - zw)]
        acc = torch.nn.functional.conv2d(*real, groups=groups, **options).numpy().astype("int64")
        given = {"x_zero_point": zx, "w_zero_point": zw, "groups": groups, "layout": layout, **options}
        if layout == "NHWC":
            x, w, acc = (np.ascontiguousarray(t) for t in (x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), acc.transpose(0, 2, 3, 1)))
        got = run(lambda a, b, g=given: ops.quantized_conv2d(a, b, out_dtype="int32", **g), x, w)
        np.testing.assert_array_equal(got, acc)
        shape = (-1,) if layout == "NHWC" else (-1, 1, 1)
        real = (acc + bias.reshape(shape)) * 0.25 * scales.reshape(shape)
        given |= {"x_scale": 0.25, "out_scale": 2.5, "out_zero_point": 17, "out_dtype": "uint8"}
        got = run(lambda a, b, c, s, g=given: ops.quantized_conv2d(a, b, bias=c, w_scale=s, **g), x, w, bias, scales)
        within_one(got, quantized(real, 2.5, 17, "uint8"))


X = te.placeholder((7, 13), "uint8", "X")
W = te.placeholder((13, 5), "int8", "W")
F = te.placeholder((7, 13), name="F")


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: ops.quantize(X), tw.DTypeError, "quantize: x must be of floats, not uint8"),
    (lambda: ops.quantize(F, 0.0), tw.ArgumentError, "quantize: scale must be a positive number, not 0"),
    (lambda: ops.quantize(F, float("nan")), tw.ArgumentError, "quantize: scale must be a positive number, not nan"),
    (lambda: ops.quantize(F, 1.0, 128), tw.ArgumentError, "quantize: zero_point must be a value of int8, not 128"),
    (lambda: ops.quantize(F, dtype="float16"), tw.DTypeError, "quantize: dtype must be int8, uint8, int16, uint16 or int32, not float16"),
    (lambda: ops.quantize(F, te.placeholder((7,))), tw.ExprError, "quantize: elements of scale must be as many as channels, 13, not 7"),
    (lambda: ops.quantize(F, axis=2), tw.ExprError, "quantize: axis must lie in -2..1, not 2"),
    (lambda: ops.dequantize(F), tw.DTypeError, "dequantize: x must be of integers, not float32"),
    (lambda: ops.quantized_dense(F, W), tw.DTypeError, "quantized_dense: x must be of int8 or uint8, not float32"),
    (lambda: ops.quantized_dense(X, te.placeholder((12, 5), "int8")),
     tw.ExprError, "quantized_dense: rows of w must be as many as columns of x, 13, not 12"),
    (lambda: ops.quantized_dense(X, W, bias=te.placeholder((5,))), tw.DTypeError, "quantized_dense: bias must be of int32, not float32"),
    (lambda: ops.quantized_dense(X, W, x_zero_point=-1),
     tw.ArgumentError, "quantized_dense: x_zero_point must be a value of uint8, not -1"),
    (lambda: ops.quantized_dense(X, W, out_dtype="int32", activation="relu"),
     tw.ArgumentError, "quantized_dense: activation must be none where the result is int32 sums"),
    (lambda: ops.quantized_dense(X, W, w_scale="x"), tw.ArgumentError, "quantized_dense: w_scale must be a number, not 'x'"),
])
def test_refusals(make, error, message):
    with pytest.raises(error) as e:
        make()
    assert message in str(e.value)
    assert "test_ops_int8.py" in str(e.value)
