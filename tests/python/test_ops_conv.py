"""Convolutions of all forms and layouts against PyTorch."""

import itertools

import numpy as np
import pytest
from stock import close, needs_torch, normal, run, torch

import tensorwright as tw
from tensorwright import te

ops = tw.ops
RANK = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}

# spatial extents, channels in and out, window, options
CASES = [
    ((17,), 3, 5, (4,), {}),
    ((17,), 6, 4, (3,), {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}),
    ((9, 11), 3, 7, (3, 3), {"padding": 1}),
    ((15, 8), 4, 6, (3, 5), {"stride": (2, 1), "padding": (0, 2)}),
    ((12, 13), 6, 9, (2, 3), {"groups": 3, "dilation": (2, 1), "padding": 2, "stride": 3}),
    ((7, 7), 5, 2, (1, 1), {}),
    ((3, 4), 2, 3, (3, 4), {}),
    ((5, 6, 7), 2, 3, (3, 2, 3), {"padding": (1, 0, 1), "stride": (1, 2, 2)}),
]


def reference(x, w, bias=None, **options):
    """x and w with channels first."""
    f = {3: torch.nn.functional.conv1d, 4: torch.nn.functional.conv2d, 5: torch.nn.functional.conv3d}[x.ndim]
    return f(torch.from_numpy(x), torch.from_numpy(w), bias if bias is None else torch.from_numpy(bias), **options).numpy()


def last(t):
    return np.ascontiguousarray(np.moveaxis(t, 1, -1))


def weights_last(w):
    """[O, C, ...] to [..., C, O]."""
    return np.ascontiguousarray(np.moveaxis(w, (1, 0), (-2, -1)))


def data(case, seed):
    spatial, ci, co, window, options = case
    rng = np.random.default_rng(seed)
    return normal(rng, 2, ci, *spatial), normal(rng, co, ci // options.get("groups", 1), *window), normal(rng, co), options


@needs_torch
@pytest.mark.parametrize("number", range(len(CASES)))
def test_layouts(number):
    x, w, bias, options = data(CASES[number], number)
    f = getattr(ops, f"conv{x.ndim - 2}d")
    channels_last, channels_first = RANK[x.ndim - 2]
    expected = reference(x, w, **options)
    close(run(lambda a, b: f(a, b, layout=channels_first, **options), x, w), expected, rtol=1e-4)
    got = run(lambda a, b, c: f(a, b, bias=c, activation="relu", layout=channels_last, **options), last(x), weights_last(w), bias)
    close(got, last(np.maximum(reference(x, w, bias, **options), 0)), rtol=1e-4)


@needs_torch
def test_blocked_channels():
    rng = np.random.default_rng(20)
    for ci, co, c, o, groups in [(8, 12, 4, 6, 1), (16, 16, 4, 8, 2), (6, 4, 3, 2, 2)]:
        x, w, bias = normal(rng, 1, ci, 7, 9), normal(rng, co, ci // groups, 3, 2), normal(rng, co)
        blocked = x.reshape(1, ci // c, c, 7, 9).transpose(0, 1, 3, 4, 2).copy()
        packed = w.reshape(co // o, o, ci // groups // c, c, 3, 2).transpose(0, 2, 4, 5, 3, 1).copy()
        got = run(lambda a, b, d, g=groups: ops.conv2d(a, b, layout="NCHWc", bias=d, padding=1, groups=g), blocked, packed, bias)
        expected = reference(x, w, bias, padding=1, groups=groups)
        close(got.transpose(0, 1, 4, 2, 3).reshape(expected.shape), expected, rtol=1e-4)


@needs_torch
def test_padding_on_each_side():
    x, w, _, _ = data(((6, 9), 3, 4, (3, 3), {}), 21)
    for above, left, below, right in [(1, 0, 0, 2), (2, 2, 0, 0), (0, 0, 3, 1)]:
        padded = np.pad(x, ((0, 0), (0, 0), (above, below), (left, right)))
        got = run(lambda a, b, p=(above, left, below, right): ops.conv2d(a, b, layout="NCHW", padding=p, stride=2), x, w)
        close(got, reference(padded, w, stride=2), rtol=1e-4)


@needs_torch
def test_depthwise():
    rng = np.random.default_rng(22)
    for channels, multiple, options in [(7, 1, {"padding": 1}), (4, 3, {"stride": 2, "padding": (1, 0)}), (5, 1, {"dilation": 2})]:
        x, w, bias = normal(rng, 2, channels, 9, 8), normal(rng, channels * multiple, 1, 3, 3), normal(rng, channels * multiple)
        expected = reference(x, w, bias, groups=channels, **options)
        close(run(lambda a, b, c, o=options: ops.depthwise_conv2d(a, b, bias=c, layout="NCHW", **o), x, w, bias), expected, rtol=1e-4)
        per_channel = w.reshape(channels, multiple, 3, 3).transpose(2, 3, 0, 1).copy()
        got = run(lambda a, b, c, o=options: ops.depthwise_conv2d(a, b, bias=c, **o), last(x), per_channel, bias)
        close(got, last(expected), rtol=1e-4)


TRANSPOSED = [
    ((7,), 3, 4, (3,), {"stride": 2, "padding": 1, "output_padding": 1}),
    ((5, 6), 4, 6, (4, 3), {"stride": 2, "padding": 1}),
    ((4, 3), 6, 4, (3, 3), {"stride": (3, 1), "groups": 2, "dilation": (1, 2), "output_padding": (2, 1)}),
    ((5, 5), 3, 2, (2, 2), {"padding": 1}),
    ((6, 6), 2, 2, (1, 1), {"stride": 2, "padding": 1}),
    ((3, 2, 4), 2, 4, (2, 3, 2), {"stride": 2, "padding": (0, 1, 0), "groups": 2}),
]


@needs_torch
@pytest.mark.parametrize("number", range(len(TRANSPOSED)))
def test_transposed(number):
    spatial, ci, co, window, options = TRANSPOSED[number]
    rng, groups, rank = np.random.default_rng(number), options.get("groups", 1), len(spatial)
    x, w, bias = normal(rng, 2, ci, *spatial), normal(rng, ci, co // groups, *window), normal(rng, co)
    expected = getattr(torch.nn.functional, f"conv_transpose{rank}d")(*(torch.from_numpy(t) for t in (x, w, bias)), **options)
    f = getattr(ops, f"conv{rank}d_transpose")
    channels_last, channels_first = RANK[rank]
    close(run(lambda a, b, c: f(a, b, bias=c, layout=channels_first, **options), x, w, bias), expected, rtol=1e-4)
    moved = np.ascontiguousarray(np.moveaxis(w, (0, 1), (-2, -1)))
    got = run(lambda a, b, c: f(a, b, bias=c, layout=channels_last, **options), last(x), moved, bias)
    close(got, last(expected.numpy()), rtol=1e-4)


@needs_torch
def test_im2col():
    for case in [case for case in CASES if len(case[0]) == 2 and "groups" not in case[4]]:
        x, w, bias, options = data(case, 31)
        got = run(lambda a, b, c, o=options: ops.conv2d_im2col(a, b, bias=c, activation="relu", **o), last(x), weights_last(w), bias)
        close(got, last(np.maximum(reference(x, w, bias, **options), 0)), rtol=1e-4)


@needs_torch
@pytest.mark.parametrize("tile", [2, 4])
def test_winograd(tile):
    for spatial, ci, co, padding in [((8, 8), 3, 5, 1), ((9, 7), 4, 3, 0), ((3, 5), 2, 2, 1), ((3, 3), 1, 1, 0)]:
        x, w, bias, _ = data((spatial, ci, co, (3, 3), {}), tile)
        got = run(lambda a, b, c, p=padding: ops.conv2d_winograd(a, b, tile=tile, padding=p, bias=c), last(x), weights_last(w), bias)
        close(got, last(reference(x, w, bias, padding=padding)), rtol=5e-4)


@needs_torch
def test_dtypes():
    rng = np.random.default_rng(40)
    x, w = rng.integers(0, 256, (1, 4, 7, 7)).astype("uint8"), rng.integers(-128, 128, (3, 4, 3, 3)).astype("int8")
    got = run(lambda a, b: ops.conv2d(a, b, layout="NCHW", padding=1), x, w)
    assert got.dtype == "int32"
    close(got, reference(x.astype("float64"), w.astype("float64"), padding=1).astype("int32"))
    x, w = normal(rng, 1, 4, 7, 7, dtype="float16"), normal(rng, 3, 4, 3, 3, dtype="float16")
    expected = reference(x.astype("float32"), w.astype("float32"))
    close(run(lambda a, b: ops.conv2d(a, b, layout="NCHW"), x, w), expected, rtol=1e-4)
    once = run(lambda a, b: ops.conv2d(a, b, layout="NCHW", out_dtype="float16"), x, w)
    assert once.dtype == "float16"
    close(once, expected.astype("float16"), rtol=1e-2)


def test_symbolic_batch():
    n = te.var("n")
    x, w = te.placeholder((n, 6, 6, 2), name="X"), te.placeholder((3, 3, 2, 4), name="W")
    f = tw.build([x, w, ops.conv2d(x, w, padding=1)])
    rng = np.random.default_rng(41)
    a, b = normal(rng, 3, 6, 6, 2), normal(rng, 3, 3, 2, 4)
    out, single = np.empty((3, 6, 6, 4), "float32"), np.empty((1, 6, 6, 4), "float32")
    f(a, b, out)
    padded = np.pad(a, ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(padded[:, y : y + 6, x : x + 6] @ b[y, x] for y, x in itertools.product(range(3), range(3)))
    close(out, expected, rtol=1e-4)
    f(a[1:2].copy(), b, single)
    close(single, expected[1:2], rtol=1e-4)


X = te.placeholder((1, 8, 8, 6), name="X")
W = te.placeholder((3, 3, 6, 4), name="W")


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: ops.conv2d(te.placeholder((8, 8, 6)), W), tw.ExprError, "conv2d: x must have 4 dimensions, not 3"),
    (lambda: ops.conv2d(X, te.placeholder((3, 3, 5, 4))),
     tw.ExprError, "conv2d: channels that w reads must be as many as channels of x, 6, not 5"),
    (lambda: ops.conv2d(X, te.placeholder((3, 3, 2, 4)), groups=3),
     tw.ExprError, "conv2d: groups must divide the channels of the result, 4, not 3"),
    (lambda: ops.conv2d(X, W, groups=0), tw.ArgumentError, "conv2d: groups must be at least 1, not 0"),
    (lambda: ops.conv2d(X, te.placeholder((9, 3, 6, 4))),
     tw.ExprError, "conv2d: the window must not be larger than the padded data, 8, not 9"),
    (lambda: ops.conv2d(X, W, dilation=4), tw.ExprError, "conv2d: the window must not be larger than the padded data, 8, not 9"),
    (lambda: ops.conv2d(X, W, stride=0), tw.ArgumentError, "conv2d: stride must be at least 1, not 0"),
    (lambda: ops.conv2d(X, W, stride=(1, 2, 3)), tw.ArgumentError, "conv2d: stride must be one number or 2"),
    (lambda: ops.conv2d(X, W, padding=(1, -1)), tw.ArgumentError, "conv2d: padding must be at least 0, not -1"),
    (lambda: ops.conv2d(X, W, padding="same"),
     tw.ArgumentError, "conv2d: padding must be an integer or a sequence of integers, not 'same'"),
    (lambda: ops.conv2d(X, W, layout="NCWH"), tw.ArgumentError, "conv2d: layout must be NHWC, NCHW or NCHWc, not NCWH"),
    (lambda: ops.conv3d(X, W, layout="NCDHWc"), tw.ArgumentError, "conv3d: layout must be NDHWC or NCDHW, not NCDHWc"),
    (lambda: ops.conv2d(X, te.placeholder((3, 3, 6, 4), "int8")), tw.DTypeError, "conv2d: x and w must both be floats or both be integers"),
    (lambda: ops.conv2d(X, te.placeholder((te.var("k"), 3, 6, 4))), tw.ExprError, "conv2d: the window's extent must be a constant, not k"),
    (lambda: ops.depthwise_conv2d(X, te.placeholder((3, 3, 5, 1))),
     tw.ExprError, "depthwise_conv2d: channels of w must be as many as channels of x, 6, not 5"),
    (lambda: ops.conv2d_transpose(X, W, output_padding=1),
     tw.ArgumentError, "conv2d_transpose: output_padding must be less than stride or dilation, 1, not 1"),
    (lambda: ops.conv2d_transpose(X, W, padding=5), tw.ExprError, "conv2d_transpose: padding must leave something of the result"),
    (lambda: ops.conv2d_winograd(X, te.placeholder((5, 5, 6, 4))), tw.ExprError, "conv2d_winograd: the window must be 3 x 3, not 5 x 5"),
    (lambda: ops.conv2d_winograd(X, W, tile=3), tw.ArgumentError, "conv2d_winograd: tile must be 2 or 4, not 3"),
])
def test_refusals(make, error, message):
    with pytest.raises(error) as e:
        make()
    assert message in str(e.value)
    assert "test_ops_conv.py" in str(e.value)
