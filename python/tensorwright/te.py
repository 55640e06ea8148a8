"""Tensor expressions: what to compute. Names and meaning follow ``tvm.te`` 0.19.

>>> from tensorwright import te
>>> A = te.placeholder((4, 8), name="A")
>>> k = te.reduce_axis((0, 8), name="k")
>>> B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
>>> B.op.body[0]
sum(k in 0..8: A[i, k])

Which dtype an expression has is in docs/dtypes.md.
"""

from __future__ import annotations

import inspect
import operator

from . import _core
from ._core import AxisEquality, Expr, IterVar, Operation, Tensor, TensorSlice, Var
from .errors import DTypeError, ExprError, TargetError
from .schedule import Schedule, Stage, create_schedule

__all__ = [
    "Expr",
    "IterVar",
    "Operation",
    "Schedule",
    "Stage",
    "Tensor",
    "TensorSlice",
    "Var",
    "abs",
    "add",
    "all",
    "any",
    "ceil",
    "compute",
    "const",
    "create_schedule",
    "div",
    "divide",
    "erf",
    "exp",
    "floor",
    "floordiv",
    "floormod",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "log",
    "max",
    "max_value",
    "min",
    "min_value",
    "multiply",
    "placeholder",
    "power",
    "prod",
    "reduce_axis",
    "round",
    "rsqrt",
    "select",
    "sigmoid",
    "size_var",
    "sqrt",
    "subtract",
    "sum",
    "tanh",
    "thread_axis",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]


def _dtype(dtype):
    """The name of a dtype given as a string, a NumPy dtype or a NumPy scalar type."""
    if isinstance(dtype, str):
        return dtype
    if dtype is None:  # NumPy's default would be float64
        raise DTypeError("dtype must be a name such as 'float32', not None")
    import numpy as np  # only for NumPy's own names

    try:
        return np.dtype(dtype).name
    except TypeError:
        raise DTypeError(f"dtype must be a name such as 'float32', not {dtype!r}") from None


_NUMPY_OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


def _array_ufunc(self, ufunc, method, *inputs, **kwargs):
    """``np.float32(2) * e`` arrives here as np.multiply; NumPy's functions are refused with te's name for them."""
    apply = _NUMPY_OPERATORS.get(ufunc.__name__)
    if apply is None or method != "__call__" or kwargs:
        way = f"te.{ufunc.__name__}(e)" if ufunc.__name__ in __all__ else "the functions of te make expressions"
        raise DTypeError(f"np.{ufunc.__name__}: expected numbers or arrays, not an expression", way)
    return apply(*(_python_number(x) if getattr(x, "ndim", None) == 0 and hasattr(x, "item") else _core.expr(x) for x in inputs))


def _python_number(scalar):
    value = scalar.item()
    if not isinstance(value, (bool, int, float)):  # np.longdouble's item is an np.longdouble
        raise DTypeError(f"a number must be at most 64 bits wide, not {type(scalar).__name__}", "float(x) converts")
    return value


for _class in (AxisEquality, Expr, IterVar, Tensor, TensorSlice, Var):
    _class.__array_ufunc__ = _array_ufunc


def _named(what, name):
    if not isinstance(name, str):
        raise DTypeError(f"{what}: name must be a string, not {type(name).__name__}")
    return name


def placeholder(shape, dtype=None, name="placeholder", *, strides=None):
    """An input of a kernel.

    Parameters: shape, up to 6 extents (one int counts as a shape of rank 1); dtype, default "float32"; name, for messages and
    printed code; strides, in elements, for arrays that are not compact.
    Raises: ExprError for extents that are negative, unknown or too many, DTypeError for an unknown dtype.

    >>> A = te.placeholder((128, 64), name="A")
    >>> A.shape, A.dtype
    ((128, 64), 'float32')
    """
    return _core.placeholder(shape, _dtype("float32" if dtype is None else dtype), _named("placeholder", name), strides)


def compute(shape, fcompute, name="compute", tag="", attrs=None):
    """A tensor by its definition.

    Parameters: shape, up to 6 extents; fcompute, a function of one index per dimension (or of ``*i``) that returns the value of
    an element; name. tag and attrs are taken for the sake of tvm programs and mean nothing here.
    Returns: the tensor. Its axes are ``C.op.axis``, named after fcompute's parameters.
    Raises: ExprError if fcompute takes another number of indices, if the definition uses a variable that is no axis of it,
    reads outside a tensor, or holds a reduction inside a larger expression.

    >>> A = te.placeholder((4, 8), name="A")
    >>> B = te.compute((8, 4), lambda i, j: A[j, i] + 1, name="B")
    >>> B.op.body[0]
    A[j, i] + 1.0
    >>> te.compute(A.shape, lambda *i: te.exp(A(*i))).op.body[0]
    exp(A[i0, i1])
    """
    _named("compute", name)
    rank = len(shape) if isinstance(shape, (tuple, list)) else 1
    return _core.compute(shape, _axis_names(fcompute, rank, name), fcompute, name)


def _axis_names(fcompute, rank, name):
    if not callable(fcompute):
        raise ExprError(f"compute {name}: fcompute must be a function of the indices, not {type(fcompute).__name__}")
    try:
        parameters = inspect.signature(fcompute).parameters.values()
    except (TypeError, ValueError):  # a callable written in C
        return []
    if unfit := [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]:
        raise ExprError(f"compute {name}: fcompute must take indices by position, not by the keyword {unfit[0]}")
    required = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    rest = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    if rest and len(required) <= rank:
        return required + [f"{rest[0]}{i}" for i in range(rank - len(required))]
    if len(required) != rank:
        raise ExprError(
            f"compute {name}: fcompute must take {rank} {'index' if rank == 1 else 'indices'}, one per dimension, not {len(required)}",
            f"its parameters: {', '.join(required) or 'none'}",
            "lambda *i: ... takes any number",
        )
    return required


def reduce_axis(dom, name="rv", thread_tag="", span=None):
    """An axis to reduce over.

    Parameters: dom, ``(start, end)``; name. Several computes may share one.

    >>> te.reduce_axis((0, 16), name="k")
    reduce_axis(k: 0..16)
    """
    _named("reduce_axis", name)
    if hasattr(dom, "min") and hasattr(dom, "extent"):
        dom = (dom.min, dom.min + dom.extent)
    if not isinstance(dom, (tuple, list)) or len(dom) != 2:
        raise ExprError(f"reduce_axis {name}: dom must be (start, end), not {dom!r}", "te.reduce_axis((0, n))")
    if thread_tag:
        _no_gpu("reduce_axis with a thread_tag")
    return _core.reduce_axis(dom[0], dom[1], name)


def thread_axis(dom=None, tag="", name="", span=None):
    """A GPU thread or block: an error until there is a GPU target.

    >>> te.thread_axis("threadIdx.x")
    Traceback (most recent call last):
    tensorwright.errors.TargetError: ...
    """
    _no_gpu("thread_axis")


def _no_gpu(what):
    raise TargetError(f"{what}: expected a GPU target, and there is none yet", "on a CPU, s[C].parallel(axis) spreads a loop over threads")


def var(name="tindex", dtype="int32", span=None):
    """A variable by itself. An expression that uses it is refused until something defines it: extents are known integers so far.

    >>> n = te.var("n")
    >>> n + 1
    n + 1
    """
    return _core.var(_named("var", name), _dtype(dtype))


size_var = var


def const(value, dtype=None, span=None):
    """A constant of a dtype; by default int32 or int64 for an int, float32 for a float, the scalar's own for a NumPy scalar.

    >>> te.const(1, "int8")
    1i8
    """
    if dtype is None:
        dtype = _dtype_of(value)
    return _core.const(value, _dtype(dtype))


def _dtype_of(value):
    if hasattr(value, "dtype"):
        return str(value.dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32" if -(2**31) <= value < 2**31 else "int64"
    return "float32"


def min_value(dtype, span=None):
    """The smallest finite value of a dtype.

    >>> te.min_value("int8")
    -128i8
    """
    return _core.min_value(_dtype(dtype))


def max_value(dtype, span=None):
    """The largest finite value of a dtype.

    >>> te.max_value("uint8")
    255u8
    """
    return _core.max_value(_dtype(dtype))


_ABSENT = object()


def _reduce(op, combine, expr, axis, where, init, args):
    if isinstance(axis, IterVar):
        axis = [axis]
    if isinstance(axis, str):
        raise ExprError(f"{op}: axis must be a reduce axis, not {axis!r}", "k = te.reduce_axis((0, n)) makes one")
    if isinstance(axis, (list, tuple)):
        if init is not None:
            raise ExprError(f"{op}: init is not supported", f"combine it in a compute of its own: C(*i) {op} init")
        for a in axis:
            if not isinstance(a, IterVar):
                raise ExprError(f"{op}: axis must be a reduce axis, not {a!r}", "k = te.reduce_axis((0, n)) makes one")
        return _core.reduce(op, expr, list(axis), where)
    operands = [x for x in (axis, where, init) if x is not None and x is not _ABSENT] + list(args)
    if axis is _ABSENT or not operands:
        raise ExprError(f"{op}: axis must name a reduce axis", f"k = te.reduce_axis((0, n)); te.{op}(..., axis=k)")
    for operand in operands:
        expr = combine(expr, operand)
    return expr


def sum(expr, axis=_ABSENT, where=None, init=None, *args):
    """The sum over reduce axes: ``te.sum(A[i, k], axis=k)``. Of several values, ``te.sum(a, b)``, their sum.

    Parameters: expr; axis, one reduce axis or a list; where, a condition: values where it is false do not count.
    The result has expr's dtype. A reduction is the whole value of a compute.

    >>> k = te.reduce_axis((0, 8), name="k")
    >>> te.compute((4,), lambda i: te.sum(A[i, k], axis=k)).op.body[0]
    sum(k in 0..8: A[i, k])
    """
    return _reduce("sum", _core.add, expr, axis, where, init, args)


def prod(expr, axis=_ABSENT, where=None, init=None, *args):
    """The product over reduce axes, or of several values.

    >>> k = te.reduce_axis((0, 8), name="k")
    >>> te.compute((4,), lambda i: te.prod(A[i, k], axis=k)).op.body[0]
    prod(k in 0..8: A[i, k])
    """
    return _reduce("prod", _core.multiply, expr, axis, where, init, args)


def max(expr, axis=_ABSENT, where=None, init=None, *args):
    """The largest value over reduce axes; of several values, ``te.max(a, b)``, the largest of them.

    Over nothing it is -inf for floats and the dtype's smallest value for integers. ``max(a, b)`` is ``a > b ? a : b``.

    >>> k = te.reduce_axis((0, 8), name="k")
    >>> te.compute((4,), lambda i: te.max(A[i, k], axis=k)).op.body[0]
    max(k in 0..8: A[i, k])
    >>> te.compute((4,), lambda i: te.max(A[i, 0], 0)).op.body[0]
    max(A[i, 0], 0.0)
    """
    return _reduce("max", _core.max2, expr, axis, where, init, args)


def min(expr, axis=_ABSENT, where=None, init=None, *args):
    """The smallest value over reduce axes; of several values, ``te.min(a, b)``, the smallest of them.

    >>> k = te.reduce_axis((0, 8), name="k")
    >>> te.compute((4,), lambda i: te.min(A[i, k], axis=k)).op.body[0]
    min(k in 0..8: A[i, k])
    """
    return _reduce("min", _core.min2, expr, axis, where, init, args)


def if_then_else(cond, t, f, span=None):
    """``t`` where cond holds, else ``f``. Nothing is read for the value that is not taken, so cond may guard a read.

    >>> te.compute((6,), lambda i: te.if_then_else(i < 4, A[i, 0], 0)).op.body[0]
    select(i < 4, A[i, 0], 0.0)
    """
    return _core.if_then_else(cond, t, f)


def select(cond, true_value, false_value, span=None):
    """The same as if_then_else.

    >>> te.compute((4,), lambda i: te.select(A[i, 0] > 0, A[i, 0], 0)).op.body[0]
    select(A[i, 0] > 0.0, A[i, 0], 0.0)
    """
    return _core.select(cond, true_value, false_value)


def all(*args, span=None):
    """Whether all conditions hold.

    >>> te.compute((6,), lambda i: te.if_then_else(te.all(0 < i, i < 4), A[i, 0], 0)).op.body[0]
    select(i > 0 and i < 4, A[i, 0], 0.0)
    """
    return _core.all(*args)


def any(*args, span=None):
    """Whether at least one condition holds.

    >>> te.compute((4,), lambda i: te.if_then_else(te.any(i < 1, i > 2), A[i, 0], 0)).op.body[0]
    select(i < 1 or i > 2, A[i, 0], 0.0)
    """
    return _core.any(*args)


def floordiv(a, b, span=None):
    """Integer division towards minus infinity: ``a // b``.

    >>> te.compute((4,), lambda i: te.floordiv(i, 2)).dtype
    'int32'
    """
    return _core.floordiv(a, b)


def floormod(a, b, span=None):
    """The remainder of floordiv, with the sign of b: ``a % b``.

    >>> te.compute((4,), lambda i: te.floormod(i, 2)).dtype
    'int32'
    """
    return _core.floormod(a, b)


def truncdiv(a, b, span=None):
    """Integer division towards zero, as in C.

    >>> te.truncdiv(te.const(-7), 2)
    -3i32
    """
    return _core.truncdiv(a, b)


def truncmod(a, b, span=None):
    """The remainder of truncdiv, with the sign of a.

    >>> te.truncmod(te.const(-7), 2)
    -1i32
    """
    return _core.truncmod(a, b)


def indexdiv(a, b, span=None):
    """Division of indices: the same as floordiv.

    >>> te.compute((4, 2), lambda i, j: A[te.indexdiv(i, 2), j]).op.body[0]
    A[i // 2, j]
    """
    return _core.floordiv(a, b)


def indexmod(a, b, span=None):
    """The remainder of indexdiv: the same as floormod.

    >>> te.compute((8, 2), lambda i, j: A[te.indexmod(i, 4), j]).op.body[0]
    A[i % 4, j]
    """
    return _core.floormod(a, b)


def div(a, b, span=None):
    """``a / b`` of floats; integers divide towards zero.

    >>> te.div(te.const(7), 2)
    3i32
    """
    return _core.divide(a, b)


divide = div


def add(a, b, span=None):
    """``a + b``."""
    return _core.add(a, b)


def subtract(a, b, span=None):
    """``a - b``."""
    return _core.subtract(a, b)


def multiply(a, b, span=None):
    """``a * b``."""
    return _core.multiply(a, b)


def exp(x):
    """e to the power of x, of floats; <= 4 ulp in float32, as log, tanh, sigmoid, erf and power."""
    return _core.exp(x)


def log(x):
    """The natural logarithm of a float."""
    return _core.log(x)


def tanh(x):
    """The hyperbolic tangent of a float."""
    return _core.tanh(x)


def sigmoid(x):
    """1 / (1 + exp(-x)) of a float."""
    return _core.sigmoid(x)


def erf(x):
    """The error function of a float."""
    return _core.erf(x)


def sqrt(x):
    """The square root of a float, correctly rounded."""
    return _core.sqrt(x)


def rsqrt(x):
    """1 / sqrt(x) of a float."""
    return _core.rsqrt(x)


def abs(x, span=None):
    """The absolute value."""
    return _core.abs(x)


def floor(x, span=None):
    """Rounded towards minus infinity; integers stay as they are."""
    return _core.floor(x)


def ceil(x, span=None):
    """Rounded towards plus infinity; integers stay as they are."""
    return _core.ceil(x)


def round(x, span=None):
    """The nearest whole number, halves away from zero (NumPy's round goes to even); integers stay as they are."""
    return _core.round(x)


def trunc(x, span=None):
    """Rounded towards zero; integers stay as they are."""
    return _core.trunc(x)


def power(x, y, span=None):
    """x to the power of y, of floats: ``x ** y``."""
    return _core.power(x, y)
