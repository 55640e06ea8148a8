"""Tensor expressions: what to compute. Names and meaning follow ``tvm.te`` 0.19.

>>> from tensorwright import te
>>> A = te.placeholder((4, 8), name="A")
>>> k = te.reduce_axis((0, 8), name="k")
>>> B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
>>> B.op.body[0]
sum(k in 0..8: A[i, k])

Which dtype an expression has is in docs/dtypes.md.
"""

from .._core import Expr, IterVar, Operation, Tensor, TensorSlice, Var
from ..schedule import Schedule, Stage, create_schedule
from . import arithmetic, conditions, constants, externs, functions, reductions, scans, tensors
from .arithmetic import *  # noqa: F403
from .conditions import *  # noqa: F403
from .constants import *  # noqa: F403
from .externs import *  # noqa: F403
from .functions import *  # noqa: F403
from .reductions import *  # noqa: F403
from .scans import *  # noqa: F403
from .tensors import *  # noqa: F403

__all__ = ["Expr", "IterVar", "Operation", "Schedule", "Stage", "Tensor", "TensorSlice", "Var", "create_schedule"]
for _part in (arithmetic, conditions, constants, externs, functions, reductions, scans, tensors):
    __all__ += _part.__all__
