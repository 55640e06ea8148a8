"""Operators on quantized numbers: an integer q stands for ``(q - zero_point) * scale``.

A scale is a positive number, or a float32 tensor of one for each channel; a zero point is an integer of the quantized dtype, or an
int32 tensor of one for each channel.
"""

from .. import _core

__all__ = ["dequantize", "quantize", "quantized_conv2d", "quantized_dense"]


def quantize(x, scale=1.0, zero_point=0, *, axis=-1, dtype="int8", name="quantize"):
    """``round(x / scale) + zero_point`` of dtype: ties go to even, what lies outside becomes the nearest end, NaN becomes 0.

    Parameters: x, floats, calculated with in float32; axis, of the channels; dtype, "int8", "uint8", "int16", "uint16" or "int32".
    Returns: a tensor of the shape of x.
    Raises: ArgumentError for a scale that is not positive and a zero point that dtype does not hold; ExprError; DTypeError.

    >>> tw.ops.quantize(te.placeholder((4, 64), name="X"), 0.05, 128, dtype="uint8")
    Tensor(quantize: uint8[4, 64])
    """
    return _core.op_quantize(x, scale=scale, zero_point=zero_point, axis=axis, dtype=dtype, name=name)


def dequantize(x, scale=1.0, zero_point=0, *, axis=-1, dtype="float32", name="dequantize"):
    """``(x - zero_point) * scale``, in float32, as dtype.

    Parameters: x, integers of at most 32 bits; axis, of the channels; dtype, of floats.
    Returns: a tensor of the shape of x.
    Raises: as quantize.

    >>> tw.ops.dequantize(te.placeholder((4, 64), "uint8", "Q"), 0.05, 128)
    Tensor(dequantize: float32[4, 64])
    """
    return _core.op_dequantize(x, scale=scale, zero_point=zero_point, axis=axis, dtype=dtype, name=name)


def quantized_dense(
    x, w, *, transpose_w=False, x_scale=1.0, x_zero_point=0, w_scale=1.0, w_zero_point=0, bias=None, activation=None,
    out_scale=1.0, out_zero_point=0, out_dtype="float32", name="quantized_dense",
):
    """dense of quantized numbers: ``acc = sum of (x - x_zero_point) * (w - w_zero_point) + bias``, wrapping in int32.

    The result by out_dtype: for "int32" ``acc``; for floats ``real = activation(acc * (x_scale * w_scale))``; for "int8", "uint8", ...
    ``round(real / out_scale) + out_zero_point``, as of quantize.

    The product itself (``name_sum``) is of x as it is, and of w where its zero point is 0: what instructions for bytes take.

    Parameters: x ``[..., K]`` and w ``[K, N]`` (with transpose_w ``[N, K]``) of int8 or uint8; w_scale and w_zero_point, one for
    all or ``[N]``; bias ``[N]`` of int32, in units of ``x_scale * w_scale``.
    Returns: ``[..., N]`` of out_dtype.
    Raises: ExprError where shapes do not agree; DTypeError; ArgumentError for scales, zero points and activations.

    >>> X, W = te.placeholder((32, 64), "uint8", "X"), te.placeholder((64, 10), "int8", "W", param=True)
    >>> tw.ops.quantized_dense(X, W, x_scale=0.1, x_zero_point=128, w_scale=te.placeholder((10,), name="scales"), out_dtype="int8")
    Tensor(quantized_dense: int8[32, 10])
    """
    return _core.op_quantized_dense(x, w, transpose_w=transpose_w, x_scale=x_scale, x_zero_point=x_zero_point, w_scale=w_scale,
                                    w_zero_point=w_zero_point, bias=bias, activation=activation, out_scale=out_scale,
                                    out_zero_point=out_zero_point, out_dtype=out_dtype, name=name)


def quantized_conv2d(
    x, w, *, stride=1, padding=0, dilation=1, groups=1, layout="NHWC", x_scale=1.0, x_zero_point=0, w_scale=1.0, w_zero_point=0,
    bias=None, activation=None, out_scale=1.0, out_zero_point=0, out_dtype="float32", name="quantized_conv",
):
    """conv2d of quantized numbers; the sums and what becomes of them are as of quantized_dense. The padding holds x_zero_point, a 0.

    Parameters: x and w of int8 or uint8 in the layout "NHWC" or "NCHW"; w_scale, w_zero_point and bias, one for each channel of the
    result; the others as of conv2d and quantized_dense.
    Returns: the result in the layout of x, of out_dtype.
    Raises: as conv2d and quantized_dense.

    >>> X, W = te.placeholder((1, 56, 56, 64), "uint8", "X"), te.placeholder((3, 3, 64, 64), "int8", "W", param=True)
    >>> tw.ops.quantized_conv2d(X, W, padding=1, x_zero_point=7, activation="relu", out_scale=0.5, out_dtype="uint8")
    Tensor(quantized_conv: uint8[1, 56, 56, 64])
    """
    return _core.op_quantized_conv2d(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups, layout=layout,
                                     x_scale=x_scale, x_zero_point=x_zero_point, w_scale=w_scale, w_zero_point=w_zero_point,
                                     bias=bias, activation=activation, out_scale=out_scale, out_zero_point=out_zero_point,
                                     out_dtype=out_dtype, name=name)
