"""Convolutions.

Layouts, by the name of the data's dimensions (D and H go for one or two spatial dimensions):

| layout | x | w | out |
|---|---|---|---|
| channels last | ``[N, D, H, W, C]`` | ``[KD, KH, KW, C / groups, O]`` | ``[N, D, H, W, O]`` |
| channels first | ``[N, C, D, H, W]`` | ``[O, C / groups, KD, KH, KW]`` | ``[N, O, D, H, W]`` |
| NCHWc | ``[N, C / c, H, W, c]`` | ``[O / o, C / groups / c, KH, KW, c, o]`` | ``[N, O / o, H, W, o]`` |

stride and dilation are one number, or one for each spatial dimension; padding also two for each: all numbers before the data,
then all behind. Dtypes as of matmul: halves are added up in float32, bytes in int32; ``tf32`` too.
"""

from .. import _core

__all__ = [
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_im2col",
    "conv2d_transpose",
    "conv2d_winograd",
    "conv3d",
    "conv3d_transpose",
    "depthwise_conv2d",
]


def conv1d(
    x, w, *, stride=1, padding=0, dilation=1, groups=1, layout="NWC", bias=None, activation=None, out_dtype=None, tf32=False,
    name="conv",
):
    """conv2d over one spatial dimension; layout is "NWC", "NCW" or "NCWc".

    >>> X, W = te.placeholder((1, 100, 3), name="X"), te.placeholder((5, 3, 8), name="W", param=True)
    >>> tw.ops.conv1d(X, W, stride=2, padding=(2, 1))
    Tensor(conv: float32[1, 50, 8])
    """
    return _core.op_conv1d(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups, layout=layout, bias=bias,
                           activation=activation, out_dtype=out_dtype, tf32=tf32, name=name)


def conv2d(
    x, w, *, stride=1, padding=0, dilation=1, groups=1, layout="NHWC", bias=None, activation=None, out_dtype=None, tf32=False,
    name="conv",
):
    """``out[n, y, x, o] = activation(bias[o] + sum over ky, kx, c of x[n, y * stride + ky * dilation - padding, ..., first(o) + c] *
    w[ky, kx, c, o])``.

    Reads in the padding are 0 (a stage of its own, ``name_pad``); ``first(o)`` is the first channel of the group of o. The height
    of the result is ``(H + padding before and behind - dilation * (KH - 1) - 1) // stride + 1``.

    Parameters: x, w in the layout "NHWC", "NCHW" or "NCHWc"; groups, which divides both channels; bias ``[O]``; activation, a name
    such as "relu" or "gelu".
    Returns: the result in the layout of x, of out_dtype.
    Raises: ExprError for ranks, channels or groups that do not agree and windows larger than the padded data; DTypeError;
    ArgumentError for options.

    >>> X, W = te.placeholder((1, 56, 56, 64), name="X"), te.placeholder((3, 3, 64, 64), name="W", param=True)
    >>> tw.ops.conv2d(X, W, padding=1, activation="relu")
    Tensor(conv: float32[1, 56, 56, 64])
    """
    return _core.op_conv2d(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups, layout=layout, bias=bias,
                           activation=activation, out_dtype=out_dtype, tf32=tf32, name=name)


def conv3d(
    x, w, *, stride=1, padding=0, dilation=1, groups=1, layout="NDHWC", bias=None, activation=None, out_dtype=None, tf32=False,
    name="conv",
):
    """conv2d over three spatial dimensions; layout is "NDHWC" or "NCDHW".

    >>> X, W = te.placeholder((1, 3, 8, 9, 10), name="X"), te.placeholder((4, 3, 3, 3, 3), name="W", param=True)
    >>> tw.ops.conv3d(X, W, layout="NCDHW")
    Tensor(conv: float32[1, 4, 6, 7, 8])
    """
    return _core.op_conv3d(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups, layout=layout, bias=bias,
                           activation=activation, out_dtype=out_dtype, tf32=tf32, name=name)


def depthwise_conv2d(
    x, w, *, stride=1, padding=0, dilation=1, layout="NHWC", bias=None, activation=None, out_dtype=None, tf32=False,
    name="conv",
):
    """Each channel by itself: ``out[n, y, x, c * M + m]`` sums ``x[n, y * stride + ky * dilation - padding, ..., c] * w[ky, kx, c, m]``
    over ky and kx.

    Parameters: as of conv2d; w ``[KH, KW, C, M]`` for "NHWC", ``[C * M, 1, KH, KW]`` for "NCHW".
    Returns: ``[N, H', W', C * M]`` or ``[N, C * M, H', W']``.
    Raises: as conv2d.

    >>> X, W = te.placeholder((1, 56, 56, 144), name="X"), te.placeholder((3, 3, 144, 1), name="W", param=True)
    >>> tw.ops.depthwise_conv2d(X, W, padding=1)
    Tensor(conv: float32[1, 56, 56, 144])
    """
    return _core.op_depthwise_conv2d(x, w, stride=stride, padding=padding, dilation=dilation, layout=layout, bias=bias,
                                     activation=activation, out_dtype=out_dtype, tf32=tf32, name=name)


def conv1d_transpose(
    x, w, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1, layout="NWC", bias=None, activation=None, out_dtype=None,
    tf32=False,
    name="conv_transpose",
):
    """conv2d_transpose over one spatial dimension; layout is "NWC" or "NCW".

    >>> X, W = te.placeholder((1, 50, 8), name="X"), te.placeholder((5, 8, 3), name="W", param=True)
    >>> tw.ops.conv1d_transpose(X, W, stride=2, padding=2, output_padding=1)
    Tensor(conv_transpose: float32[1, 100, 3])
    """
    return _core.op_conv1d_transpose(x, w, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation, groups=groups,
                                     layout=layout, bias=bias, activation=activation, out_dtype=out_dtype, tf32=tf32, name=name)


def conv2d_transpose(
    x, w, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1, layout="NHWC", bias=None, activation=None, out_dtype=None,
    tf32=False,
    name="conv_transpose",
):
    """The gradient of conv2d for its data: adds ``x[n, y, x, c] * w[ky, kx, c, o]`` to
    ``out[n, y * stride + ky * dilation - padding, ..., o]``.

    The height of the result is ``(H - 1) * stride - padding before and behind + dilation * (KH - 1) + output_padding + 1``. A stage
    ``name_phases`` has the sums of each place modulo the stride on its own, ``[N, SY, SX, H', W', O]``: a convolution of stride 1 with
    every SY-th row and SX-th column of the window. Where a window is dilated, too, a stage ``name_spread`` holds the data with zeros
    between its elements instead.

    Parameters: x ``[N, H, W, C]`` and w ``[KH, KW, C, O / groups]`` for "NHWC", x ``[N, C, H, W]`` and w ``[C, O / groups, KH, KW]``
    (as PyTorch keeps it) for "NCHW"; output_padding, less than stride or dilation; the others as of conv2d.
    Returns: the result in the layout of x, of out_dtype.
    Raises: as conv2d.

    >>> X, W = te.placeholder((1, 14, 14, 64), name="X"), te.placeholder((4, 4, 64, 32), name="W", param=True)
    >>> tw.ops.conv2d_transpose(X, W, stride=2, padding=1)
    Tensor(conv_transpose: float32[1, 28, 28, 32])
    """
    return _core.op_conv2d_transpose(x, w, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation, groups=groups,
                                     layout=layout, bias=bias, activation=activation, out_dtype=out_dtype, tf32=tf32, name=name)


def conv3d_transpose(
    x, w, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1, layout="NDHWC", bias=None, activation=None, out_dtype=None,
    tf32=False,
    name="conv_transpose",
):
    """conv2d_transpose over three spatial dimensions; layout is "NDHWC" or "NCDHW".

    >>> X, W = te.placeholder((1, 3, 4, 4, 8), name="X"), te.placeholder((2, 2, 2, 8, 4), name="W", param=True)
    >>> tw.ops.conv3d_transpose(X, W, stride=2)
    Tensor(conv_transpose: float32[1, 6, 8, 8, 4])
    """
    return _core.op_conv3d_transpose(x, w, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation, groups=groups,
                                     layout=layout, bias=bias, activation=activation, out_dtype=out_dtype, tf32=tf32, name=name)


def conv2d_im2col(x, w, *, stride=1, padding=0, dilation=1, bias=None, activation=None, out_dtype=None, tf32=False, name="conv"):
    """conv2d, channels last, as one product of matrices: ``[N * OH * OW, KH * KW * C]`` windows (``name_columns``) with
    ``[KH * KW * C, O]`` weights (``name_weights``).

    Parameters, Returns, Raises: as conv2d with the layout "NHWC" and groups=1.

    >>> X, W = te.placeholder((1, 56, 56, 64), name="X"), te.placeholder((3, 3, 64, 64), name="W", param=True)
    >>> tw.ops.conv2d_im2col(X, W, padding=1)
    Tensor(conv: float32[1, 56, 56, 64])
    """
    return _core.op_conv2d_im2col(x, w, stride=stride, padding=padding, dilation=dilation, bias=bias, activation=activation,
                                  out_dtype=out_dtype, tf32=tf32, name=name)


def conv2d_winograd(x, w, *, tile=2, padding=0, bias=None, activation=None, out_dtype=None, name="conv"):
    """conv2d of 3 x 3 windows, stride 1, channels last, of floats, by Winograd's minimal filtering: ``(tile + 2) ** 2`` products of
    matrices (``name_product``) instead of ``9 * tile ** 2`` multiplications for each tile of ``tile ** 2`` results.

    Rounding errors are about 2 x those of conv2d for tile=2, about 10 x for tile=4.

    Parameters: x ``[N, H, W, C]``; w ``[3, 3, C, O]``; tile, 2 or 4; padding, bias, activation as of conv2d.
    Returns: ``[N, OH, OW, O]`` of out_dtype.
    Raises: as conv2d, and ExprError for another window.

    >>> X, W = te.placeholder((1, 56, 56, 64), name="X"), te.placeholder((3, 3, 64, 64), name="W", param=True)
    >>> tw.ops.conv2d_winograd(X, W, tile=4, padding=1)
    Tensor(conv: float32[1, 56, 56, 64])
    """
    return _core.op_conv2d_winograd(x, w, tile=tile, padding=padding, bias=bias, activation=activation, out_dtype=out_dtype, name=name)
