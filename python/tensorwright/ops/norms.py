"""Softmax and normalisations. Shape and dtype stay. Halves are calculated with in float32 and rounded once.

All raise DTypeError where a tensor is not of floats, ExprError for axes that do not exist and shapes that do not agree.
"""

from .. import _core

__all__ = ["batch_norm", "batch_norm_training", "group_norm", "instance_norm", "layer_norm", "log_softmax", "rms_norm", "softmax"]


def softmax(x, axis=-1, *, name="softmax"):
    """``exp(x) / sum(exp(x))`` along an axis, without overflow: the largest is taken off first.

    NaN or +inf anywhere, and -inf everywhere, along the axis make its values NaN, as in PyTorch.

    >>> tw.ops.softmax(A, axis=0)
    Tensor(softmax: float32[64, 64])
    """
    return _core.op_softmax(x, axis=axis, name=name)


def log_softmax(x, axis=-1, *, name="log_softmax"):
    """``x - log(sum(exp(x)))`` along an axis, without overflow.

    >>> tw.ops.log_softmax(A)
    Tensor(log_softmax: float32[64, 64])
    """
    return _core.op_log_softmax(x, axis=axis, name=name)


def layer_norm(x, gamma=None, beta=None, *, dimensions=1, epsilon=1e-5, name="layer_norm"):
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` over the last axes.

    Parameters: gamma, beta, of the shape of those axes, or None; dimensions, how many axes.
    The variance is the mean of squared distances from the mean, by a second pass.

    >>> tw.ops.layer_norm(A, gamma=te.placeholder((64,), name="gamma"))
    Tensor(layer_norm: float32[64, 64])
    """
    return _core.op_layer_norm(x, gamma=gamma, beta=beta, dimensions=dimensions, epsilon=epsilon, name=name)


def rms_norm(x, gamma=None, *, dimensions=1, epsilon=1e-5, name="rms_norm"):
    """``x / sqrt(mean(x**2) + epsilon) * gamma`` over the last axes.

    Parameters: gamma, of the shape of those axes, or None; dimensions, how many axes.

    >>> tw.ops.rms_norm(A, dimensions=2)
    Tensor(rms_norm: float32[64, 64])
    """
    return _core.op_rms_norm(x, gamma=gamma, dimensions=dimensions, epsilon=epsilon, name=name)


def batch_norm(x, mean, variance, gamma=None, beta=None, *, axis=1, epsilon=1e-5, name="batch_norm"):
    """``(x - mean[c]) / sqrt(variance[c] + epsilon) * gamma[c] + beta[c]``, c the channel: inference.

    Parameters: mean, variance, gamma, beta, vectors over the channels, the last two may be None; axis, the channels: -1 where they
    are last.

    >>> mean, variance = te.placeholder((64,), name="mean"), te.placeholder((64,), name="variance")
    >>> tw.ops.batch_norm(A, mean, variance)
    Tensor(batch_norm: float32[64, 64])
    """
    return _core.op_batch_norm(x, mean, variance, gamma=gamma, beta=beta, axis=axis, epsilon=epsilon, name=name)


def batch_norm_training(x, gamma=None, beta=None, *, axis=1, epsilon=1e-5, name="batch_norm"):
    """batch_norm with the mean and the variance of this batch, over all axes but the channels.

    Returns: the result, the means and the variances (not corrected by ``n / (n - 1)``), these two in float32 or wider.

    >>> tw.ops.batch_norm_training(A)[1]
    Tensor(batch_norm_mean: float32[64])
    """
    return tuple(_core.op_batch_norm_training(x, gamma=gamma, beta=beta, axis=axis, epsilon=epsilon, name=name))


def group_norm(x, groups, gamma=None, beta=None, *, axis=1, epsilon=1e-5, name="group_norm"):
    """Normalised by mean and variance of each sample and group of neighbouring channels.

    Parameters: groups, how many; they divide the channels, which are on ``axis``; gamma, beta, vectors over the channels or None.
    Raises: ArgumentError where groups do not divide the channels.

    >>> X = te.placeholder((2, 12, 5, 5), name="X")
    >>> tw.ops.group_norm(X, 4)
    Tensor(group_norm: float32[2, 12, 5, 5])
    """
    return _core.op_group_norm(x, groups=groups, gamma=gamma, beta=beta, axis=axis, epsilon=epsilon, name=name)


def instance_norm(x, gamma=None, beta=None, *, axis=1, epsilon=1e-5, name="instance_norm"):
    """Normalised by mean and variance of each sample and channel, over all other axes.

    >>> X = te.placeholder((2, 12, 5, 5), name="X")
    >>> tw.ops.instance_norm(X)
    Tensor(instance_norm: float32[2, 12, 5, 5])
    """
    return _core.op_instance_norm(x, gamma=gamma, beta=beta, axis=axis, epsilon=epsilon, name=name)
