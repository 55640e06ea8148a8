"""What NumPy brings along: names of dtypes, and operators whose left operand is a NumPy scalar."""

import operator

from .. import _core
from .._core import AxisEquality, Expr, IterVar, Tensor, TensorSlice, Var
from ..errors import DTypeError


def dtype_name(dtype):
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
    from . import __all__ as names  # not there yet while this module is imported

    apply = _NUMPY_OPERATORS.get(ufunc.__name__)
    if apply is None or method != "__call__" or kwargs:
        way = f"te.{ufunc.__name__}(e)" if ufunc.__name__ in names else "the functions of te make expressions"
        raise DTypeError(f"np.{ufunc.__name__}: expected numbers or arrays, not an expression", way)
    return apply(*map(_operand, inputs))


def _operand(x):
    if getattr(x, "ndim", None) == 0 and hasattr(x, "item"):
        return _python_number(x)
    return x if isinstance(x, Tensor) else _core.expr(x)


def _python_number(scalar):
    value = scalar.item()
    if not isinstance(value, (bool, int, float)):  # np.longdouble's item is an np.longdouble
        raise DTypeError(f"a number must be at most 64 bits wide, not {type(scalar).__name__}", "float(x) converts")
    return value


for _class in (AxisEquality, Expr, IterVar, Tensor, TensorSlice, Var):
    _class.__array_ufunc__ = _array_ufunc
