"""Pooling against PyTorch: windows, padding, ceil_mode, layouts, NaN."""

import itertools

import numpy as np
import pytest
from stock import close, needs_torch, normal, run, torch

import tensorwright as tw
from tensorwright import te

ops = tw.ops
LAST = {1: (0, 2, 1), 2: (0, 2, 3, 1), 3: (0, 2, 3, 4, 1)}
FIRST = {1: (0, 2, 1), 2: (0, 3, 1, 2), 3: (0, 4, 1, 2, 3)}
LAYOUT = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def pooled(name, x, *args, **options):
    """By layouts with channels first and last, which must agree."""
    n = x.ndim - 2
    operator = getattr(ops, name if "adaptive" in name else f"{name}{n}d")
    first = run(lambda a: operator(a, *args, layout=LAYOUT[n], **options), x)
    last = run(lambda a: operator(a, *args, **options), np.ascontiguousarray(x.transpose(LAST[n])))
    np.testing.assert_allclose(first, last.transpose(FIRST[n]), rtol=0 if "max" in name else 1e-4, atol=1e-6)  # sums in another order
    return first


CASES = [
    ((2, 3, 17), {"kernel": 3}),
    ((1, 2, 10), {"kernel": 4, "stride": 3, "padding": 2}),
    ((1, 5, 12, 9), {"kernel": 3, "stride": 2, "padding": 1}),
    ((2, 3, 7, 8), {"kernel": (2, 3), "stride": (1, 2), "padding": (1, 0)}),
    ((1, 2, 5, 6, 7), {"kernel": 2, "stride": (2, 1, 3)}),
    ((1, 1, 4, 4), {"kernel": 4}),
]


@needs_torch
@pytest.mark.parametrize(("shape", "options"), CASES)
def test_pools(shape, options):
    x = normal(np.random.default_rng(1), *shape)
    n, t = len(shape) - 2, torch.from_numpy(x)
    kernel, rest = options["kernel"], {k: v for k, v in options.items() if k != "kernel"}
    for ceil_mode in (False, True):
        theirs = getattr(torch.nn.functional, f"max_pool{n}d")(t, kernel, **rest, ceil_mode=ceil_mode)
        close(pooled("max_pool", x, kernel, **rest, ceil_mode=ceil_mode), theirs)
        for include in (False, True):
            theirs = getattr(torch.nn.functional, f"avg_pool{n}d")(t, kernel, **rest, ceil_mode=ceil_mode, count_include_pad=include)
            close(pooled("avg_pool", x, kernel, **rest, ceil_mode=ceil_mode, count_include_pad=include), theirs)


@needs_torch
def test_ceil_mode_at_the_edge():
    """A last window that would begin in the padding behind is none; what it reaches beyond the padding never counts."""
    rng = np.random.default_rng(2)
    for extent, kernel, stride, padding in itertools.product((5, 6, 7), (2, 3), (2, 3), (0, 1)):
        x = normal(rng, 1, 1, extent)
        for include in (False, True):
            theirs = torch.nn.functional.avg_pool1d(torch.from_numpy(x), kernel, stride, padding, True, include)
            ours = run(lambda a: ops.avg_pool1d(a, kernel, stride=stride, padding=padding, ceil_mode=True, count_include_pad=include, layout="NCW"),
                       x, target="interp")
            close(ours, theirs)


@needs_torch
def test_max_pool_dilation_nan_and_integers():
    x = normal(np.random.default_rng(3), 1, 3, 11, 13)
    theirs = torch.nn.functional.max_pool2d(torch.from_numpy(x), 3, 2, 1, 2)
    close(pooled("max_pool", x, 3, stride=2, padding=1, dilation=2), theirs)
    x[0, :, 4, 5], x[0, 1, 0, 0], x[0, 2] = np.nan, np.inf, -np.inf
    theirs = torch.nn.functional.max_pool2d(torch.from_numpy(x), 3, 2, 1)
    assert torch.isnan(theirs).any()
    close(pooled("max_pool", x, 3, stride=2, padding=1), theirs)
    whole = np.random.default_rng(4).integers(-128, 0, (1, 2, 7, 7), "int8")
    theirs = torch.nn.functional.max_pool2d(torch.from_numpy(whole).int(), 3, 2, 1)
    close(pooled("max_pool", whole, 3, stride=2, padding=1), theirs.numpy().astype("int8"))


@needs_torch
@pytest.mark.parametrize(("shape", "options"), [*CASES, ((2, 3, 11, 13), {"kernel": 3, "stride": 2, "padding": 1, "dilation": 2})])
def test_max_pool_indices(shape, options):
    """PyTorch's return_indices, in both layouts: where values repeat, the first place."""
    x = np.random.default_rng(9).integers(-3, 3, shape).astype("float32")
    n, rest = len(shape) - 2, {k: v for k, v in options.items() if k != "kernel"}
    for ceil_mode in (False, True):
        values, places = getattr(torch.nn.functional, f"max_pool{n}d")(
            torch.from_numpy(x), options["kernel"], **rest, ceil_mode=ceil_mode, return_indices=True)
        for layout, order in ((LAYOUT[n], tuple(range(n + 2))), (None, LAST[n])):
            turned = np.ascontiguousarray(x.transpose(order))
            operator = getattr(ops, f"max_pool{n}d")
            got = run(lambda a: operator(a, options["kernel"], **rest, ceil_mode=ceil_mode, layout=layout, indices=True), turned)
            np.testing.assert_array_equal(got[0], values.numpy().transpose(order))
            assert got[1].dtype == np.int64
            np.testing.assert_array_equal(got[1], places.numpy().transpose(order))


def test_indices_of_nan_and_of_integers():
    x = np.array([[1, 5, np.nan, 2, np.nan, 0], [-np.inf] * 6], "float32").reshape(1, 2, 6)
    values, places = run(lambda a: ops.max_pool1d(a, 3, padding=1, stride=3, layout="NCW", indices=True), x)
    np.testing.assert_array_equal(values, [[[5, np.nan], [-np.inf, -np.inf]]])
    np.testing.assert_array_equal(places, [[[1, 2], [0, 2]]])
    whole = np.array([-128, -128, 3, 3], "int8").reshape(1, 4, 1)
    values, places = run(lambda a: ops.max_pool1d(a, 2, indices=True), whole)
    assert values.ravel().tolist() == [-128, 3] and places.ravel().tolist() == [0, 2]


def means(x, kernel, stride, padding, dilation, ceil_mode, include):
    """avg_pool along the last dimension by ONNX's definition: of the taps, those in the data, or in the padding too, count."""
    extent, reach = x.shape[-1], dilation * (kernel - 1) + 1
    room = extent + 2 * padding - reach
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= extent + padding:
        count -= 1
    columns = []
    for i in range(count):
        taps = [i * stride - padding + k * dilation for k in range(kernel)]
        inside = [t for t in taps if 0 <= t < extent]
        counted = [t for t in taps if -padding <= t < extent + padding] if include else inside
        columns.append(x[..., inside].sum(-1) / len(counted))
    return np.stack(columns, -1)


def test_avg_pool_dilation():
    rng = np.random.default_rng(10)
    for extent, kernel, stride, padding, dilation in [(12, 3, 1, 0, 2), (11, 3, 2, 1, 2), (9, 2, 3, 2, 4), (13, 4, 1, 3, 3), (10, 3, 4, 2, 3)]:
        for ceil_mode, include in itertools.product((False, True), repeat=2):
            x = normal(rng, 2, 3, extent)
            got = pooled("avg_pool", x, kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode, count_include_pad=include)
            np.testing.assert_allclose(got, means(x, kernel, stride, padding, dilation, ceil_mode, include), rtol=1e-5, atol=1e-6)
    x = normal(rng, 1, 2, 9, 10)
    got = pooled("avg_pool", x, (2, 3), stride=(1, 2), padding=(1, 0), dilation=(3, 2), count_include_pad=False)
    rows = means(np.ones((1, 9), "float32"), 2, 1, 1, 3, False, False)
    assert got.shape == (1, 2, rows.shape[1], 3)
    sums = np.zeros(got.shape)
    for y, i in itertools.product(range(got.shape[2]), range(3)):
        taps = x[:, :, [r for r in (y - 1, y + 2) if 0 <= r < 9]][..., [2 * i, 2 * i + 2, 2 * i + 4]]
        sums[:, :, y, i] = taps.mean((2, 3))
    np.testing.assert_allclose(got, sums, rtol=1e-5, atol=1e-6)


def test_asymmetric_padding():
    x = normal(np.random.default_rng(5), 1, 6, 6, 2)
    got = run(lambda a: ops.max_pool2d(a, 3, stride=2, padding=(0, 1, 1, 2)), x)
    padded = np.pad(x, ((0, 0), (0, 1), (1, 2), (0, 0)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, ::2]
    np.testing.assert_array_equal(got, windows.max((-1, -2)))


@needs_torch
def test_adaptive_pools():
    rng = np.random.default_rng(6)
    for shape, size in [((2, 3, 7), 3), ((1, 4, 8, 9), (4, 2)), ((1, 2, 5, 7), 1), ((1, 2, 3, 5, 4), (2, 3, 4)), ((1, 1, 3), 5)]:
        x = normal(rng, *shape)
        n, t = len(shape) - 2, torch.from_numpy(x)
        close(pooled("adaptive_avg_pool", x, size), getattr(torch.nn.functional, f"adaptive_avg_pool{n}d")(t, size))
        close(pooled("adaptive_max_pool", x, size), getattr(torch.nn.functional, f"adaptive_max_pool{n}d")(t, size))


@needs_torch
def test_halves_are_added_up_in_float32():
    x = normal(np.random.default_rng(7), 1, 2, 33, 33, dtype="float16") + 2
    theirs = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(x).float(), 1).half()
    got = run(lambda a: ops.adaptive_avg_pool(a, layout="NCHW"), x)
    np.testing.assert_allclose(got, theirs.numpy(), rtol=1e-3)


def test_refusals():
    x = te.placeholder((1, 8, 8, 3), name="x")
    with pytest.raises(tw.ExprError, match=r"max_pool1d: x must have 3 dimensions, not 4"):
        ops.max_pool1d(x, 3)
    with pytest.raises(tw.ExprError, match=r"max_pool2d: kernel must fit into axis 1 of x with its padding, 8 elements, not reach over 9"):
        ops.max_pool2d(x, 9)
    with pytest.raises(tw.ArgumentError, match=r"max_pool2d: padding must be less than what the kernel reaches over, 2, not 2"):
        ops.max_pool2d(x, 2, padding=2)
    with pytest.raises(tw.ArgumentError, match=r"avg_pool2d: stride must be at least 1, not 0"):
        ops.avg_pool2d(x, 2, stride=0)
    with pytest.raises(tw.ArgumentError, match=r"avg_pool2d: kernel must be one number or 2, one for each dimension, not 3"):
        ops.avg_pool2d(x, (2, 2, 2))
    with pytest.raises(tw.ArgumentError, match=r"max_pool2d: layout must be NHWC or NCHW of 2 spatial dimensions, not NWC"):
        ops.max_pool2d(x, 2, layout="NWC")
    with pytest.raises(tw.DTypeError, match=r"avg_pool2d: x must be of floats, not int8"):
        ops.avg_pool2d(te.placeholder((1, 8, 8, 3), "int8"), 2)
    with pytest.raises(tw.ExprError, match=r"adaptive_avg_pool: x must have 3, 4 or 5 dimensions, not 2"):
        ops.adaptive_avg_pool(te.placeholder((8, 3)))
