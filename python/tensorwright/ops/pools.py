"""Pooling: each channel by itself, over windows of its spatial dimensions.

Layouts by the names of the dimensions, channels last or first: NWC, NCW; NHWC, NCHW; NDHWC, NCDHW; channels last without one. kernel,
stride and dilation are one number or one for each spatial dimension; padding also two for each: all before the data, then all behind.
Along a dimension there are ``(extent + padding - dilation * (kernel - 1) - 1) / stride + 1`` windows, rounded down, or up with
ceil_mode, less a last window that would begin behind the data.

All raise ExprError for ranks, and kernels that do not fit; ArgumentError for options, and padding in which a window would lie whole.
"""

from .. import _core

__all__ = [
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]


def max_pool1d(x, kernel, *, stride=None, padding=0, dilation=1, ceil_mode=False, layout=None, indices=False, name="max_pool"):
    """The largest number of each window; the padding does not count, NaN wins. As max_pool2d, of ``[N, W, C]``.

    >>> tw.ops.max_pool1d(te.placeholder((2, 9, 3), name="X"), 3, stride=2)
    Tensor(max_pool: float32[2, 4, 3])
    """
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode, "layout": layout}
    return (_core.op_max_pool1d_indices if indices else _core.op_max_pool1d)(x, **options, name=name)


def max_pool2d(x, kernel, *, stride=None, padding=0, dilation=1, ceil_mode=False, layout=None, indices=False, name="max_pool"):
    """``out[n, y, x, c] = max over ky, kx of x[n, y * stride + ky * dilation - padding, .., c]``.

    Parameters: x, of numbers, ``[N, H, W, C]``; kernel; stride, by default kernel; padding, which does not count; dilation;
    indices, whether the places are given as well.
    Returns: the tensor; with indices also one of int64, the number of each result in x among the elements of its batch and channel
    (``y * W + x``, in any layout): of equal values the first. NaN is the result where it is met.

    >>> tw.ops.max_pool2d(te.placeholder((1, 56, 56, 64), name="X"), 3, stride=2, padding=1)
    Tensor(max_pool: float32[1, 28, 28, 64])
    """
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode, "layout": layout}
    return (_core.op_max_pool2d_indices if indices else _core.op_max_pool2d)(x, **options, name=name)


def max_pool3d(x, kernel, *, stride=None, padding=0, dilation=1, ceil_mode=False, layout=None, indices=False, name="max_pool"):
    """The largest number of each window, of ``[N, D, H, W, C]``; as max_pool2d.

    >>> tw.ops.max_pool3d(te.placeholder((1, 3, 8, 8, 8), name="X"), (2, 3, 2), layout="NCDHW")
    Tensor(max_pool: float32[1, 3, 4, 2, 4])
    """
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode, "layout": layout}
    return (_core.op_max_pool3d_indices if indices else _core.op_max_pool3d)(x, **options, name=name)


def avg_pool1d(
    x, kernel, *, stride=None, padding=0, dilation=1, ceil_mode=False, count_include_pad=True, layout=None, name="avg_pool",
):
    """The mean of each window, of ``[N, W, C]``; as avg_pool2d.

    >>> tw.ops.avg_pool1d(te.placeholder((2, 9, 3), name="X"), 3)
    Tensor(avg_pool: float32[2, 3, 3])
    """
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode, "layout": layout}
    return _core.op_avg_pool1d(x, **options, count_include_pad=count_include_pad, name=name)


def avg_pool2d(
    x, kernel, *, stride=None, padding=0, dilation=1, ceil_mode=False, count_include_pad=True, layout=None, name="avg_pool",
):
    """The mean of each window.

    Parameters: x, of floats, ``[N, H, W, C]``; kernel; stride, by default kernel; dilation; count_include_pad, whether the padding
    counts as zeros. What ceil_mode adds beyond the padding never counts.
    Raises: DTypeError where x is not of floats.

    >>> tw.ops.avg_pool2d(te.placeholder((1, 64, 7, 7), name="X"), 2, layout="NCHW")
    Tensor(avg_pool: float32[1, 64, 3, 3])
    """
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode, "layout": layout}
    return _core.op_avg_pool2d(x, **options, count_include_pad=count_include_pad, name=name)


def avg_pool3d(
    x, kernel, *, stride=None, padding=0, dilation=1, ceil_mode=False, count_include_pad=True, layout=None, name="avg_pool",
):
    """The mean of each window, of ``[N, D, H, W, C]``; as avg_pool2d.

    >>> tw.ops.avg_pool3d(te.placeholder((1, 4, 4, 4, 8), name="X"), 2)
    Tensor(avg_pool: float32[1, 2, 2, 2, 8])
    """
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode, "layout": layout}
    return _core.op_avg_pool3d(x, **options, count_include_pad=count_include_pad, name=name)


def adaptive_max_pool(x, size=1, *, layout=None, name="adaptive_pool"):
    """The largest number of windows that cover all: window i is ``floor(i * n / size) .. ceil((i + 1) * n / size)``.

    Parameters: x, of 3, 4 or 5 dimensions; size, the number of windows along each spatial dimension; 1 is global pooling.

    >>> tw.ops.adaptive_max_pool(te.placeholder((1, 7, 9, 8), name="X"), (3, 2))
    Tensor(adaptive_pool: float32[1, 3, 2, 8])
    """
    return _core.op_adaptive_max_pool(x, size=size, layout=layout, name=name)


def adaptive_avg_pool(x, size=1, *, layout=None, name="adaptive_pool"):
    """The mean of windows that cover all, of floats; as adaptive_max_pool.

    >>> tw.ops.adaptive_avg_pool(te.placeholder((1, 512, 7, 7), name="X"), layout="NCHW")
    Tensor(adaptive_pool: float32[1, 512, 1, 1])
    """
    return _core.op_adaptive_avg_pool(x, size=size, layout=layout, name=name)
