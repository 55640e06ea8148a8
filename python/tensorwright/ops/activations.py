"""Activations: functions of single values, elementwise; shape and dtype stay.

NaN stays NaN. Halves are calculated with in float32 and rounded once. All raise DTypeError where x is not of floats; relu and clip
take integers too.
"""

from .. import _core

__all__ = [
    "clip",
    "elu",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "leaky_relu",
    "mish",
    "prelu",
    "relu",
    "sigmoid",
    "silu",
    "softplus",
    "tanh",
]


def relu(x, *, name="relu"):
    """``max(x, 0)``.

    >>> tw.ops.relu(A).op.body[0]
    max(0.0, A[i, j])
    """
    return _core.op_relu(x, name=name)


def sigmoid(x, *, name="sigmoid"):
    """``1 / (1 + exp(-x))``.

    >>> tw.ops.sigmoid(A).op.body[0]
    sigmoid(A[i, j])
    """
    return _core.op_sigmoid(x, name=name)


def tanh(x, *, name="tanh"):
    """The hyperbolic tangent.

    >>> tw.ops.tanh(A).op.body[0]
    tanh(A[i, j])
    """
    return _core.op_tanh(x, name=name)


def silu(x, *, name="silu"):
    """``x * sigmoid(x)``, also called swish.

    >>> tw.ops.silu(A).op.body[0]
    A[i, j] * sigmoid(A[i, j])
    """
    return _core.op_silu(x, name=name)


def mish(x, *, name="mish"):
    """``x * tanh(log(1 + exp(x)))``.

    >>> tw.ops.mish(A).shape
    (64, 64)
    """
    return _core.op_mish(x, name=name)


def hardsigmoid(x, *, name="hardsigmoid"):
    """``min(max(x + 3, 0), 6) / 6``.

    >>> tw.ops.hardsigmoid(A).shape
    (64, 64)
    """
    return _core.op_hardsigmoid(x, name=name)


def hardswish(x, *, name="hardswish"):
    """``x * hardsigmoid(x)``.

    >>> tw.ops.hardswish(A).shape
    (64, 64)
    """
    return _core.op_hardswish(x, name=name)


def gelu(x, *, approximate="none", name="gelu"):
    """``x * (1 + erf(x / sqrt(2))) / 2``.

    Parameters: approximate, "tanh" for ``x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2``.
    Raises: ArgumentError for another approximate.

    >>> tw.ops.gelu(A, approximate="tanh")
    Tensor(gelu: float32[64, 64])
    """
    return _core.op_gelu(x, approximate=approximate, name=name)


def leaky_relu(x, *, slope=0.01, name="leaky_relu"):
    """``x`` where ``x > 0``, else ``slope * x``.

    >>> tw.ops.leaky_relu(A, slope=0.5).op.body[0]
    select(A[i, j] > 0.0, A[i, j], A[i, j] * 0.5)
    """
    return _core.op_leaky_relu(x, slope=slope, name=name)


def elu(x, *, alpha=1.0, name="elu"):
    """``x`` where ``x > 0``, else ``alpha * (exp(x) - 1)``.

    >>> tw.ops.elu(A, alpha=2.0).shape
    (64, 64)
    """
    return _core.op_elu(x, alpha=alpha, name=name)


def softplus(x, *, beta=1.0, threshold=20.0, name="softplus"):
    """``log(1 + exp(beta * x)) / beta``; where ``beta * x > threshold``, x.

    Raises: ArgumentError where beta is 0.

    >>> tw.ops.softplus(A, beta=2.0).shape
    (64, 64)
    """
    return _core.op_softplus(x, beta=beta, threshold=threshold, name=name)


def prelu(x, slope, *, axis=1, name="prelu"):
    """``x`` where ``x > 0``, else ``slope[c] * x``, c the index on an axis of x.

    Parameters: slope, a vector of as many numbers as the axis has, or of one, of x's dtype.
    Raises: ExprError where it has another shape.

    >>> tw.ops.prelu(A, te.placeholder((64,), name="slope")).shape
    (64, 64)
    """
    return _core.op_prelu(x, slope, axis=axis, name=name)


def clip(x, lowest=None, highest=None, *, name="clip"):
    """``min(max(x, lowest), highest)``, of any numbers; a bound that is left out bounds nothing.

    Raises: ArgumentError where lowest > highest, or for bounds that are not whole where x is of integers.

    >>> tw.ops.clip(A, 0, 6).op.body[0]
    min(6.0, max(0.0, A[i, j]))
    """
    return _core.op_clip(x, lowest=lowest, highest=highest, name=name)
