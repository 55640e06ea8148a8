"""Tensor expressions: what to compute. Names and meaning follow ``tvm.te`` 0.19.

>>> from tensorwright import te
>>> A = te.placeholder((4, 8), name="A")
>>> k = te.reduce_axis((0, 8), name="k")
>>> B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
>>> B.op.body[0]
sum(k in 0..8: A[i, k])

Which dtype an expression has is in docs/dtypes.md. Operators on whole tensors make tensors, of shapes that fit as in NumPy;
in a definition, operands are elements. There ``i == j`` compares values; elsewhere it says whether both are one axis or variable:

>>> (A * 2).shape, (A + te.placeholder((8,), name="b")).name
((4, 8), 'T_add')
>>> (A * 2).op.tag, (A * A).op.tag
('elemwise', 'broadcast')
>>> s = te.create_schedule(B)
>>> B.op.axis[0] in s[B].leaf_iter_vars
True
"""

from .._core import Expr, IterVar, Operation, Tensor, TensorSlice, Var
from ..schedule import Schedule, Stage, create_schedule
from .._missing import of_module
from . import _hints, arithmetic, conditions, constants, externs, functions, operations, reductions, saving, scans, tags, tensors
from .arithmetic import *  # noqa: F403
from .conditions import *  # noqa: F403
from .constants import *  # noqa: F403
from .externs import *  # noqa: F403
from .functions import *  # noqa: F403
from .operations import *  # noqa: F403
from .reductions import *  # noqa: F403
from .saving import *  # noqa: F403
from .scans import *  # noqa: F403
from .tags import *  # noqa: F403
from .tensors import *  # noqa: F403

__all__ = ["Expr", "IterVar", "Operation", "Schedule", "Stage", "Tensor", "TensorSlice", "Var", "create_schedule"]
for _part in (arithmetic, conditions, constants, externs, functions, operations, reductions, saving, scans, tags, tensors):
    __all__ += _part.__all__

_ABSENT = {
    "hybrid": "te.ir_builder and te.extern make stages of statements",
    "HybridOp": "te.ir_builder and te.extern make stages of statements, te.ExternOp",
    "gradient": "there are no gradients",
    "create_prim_func": "tw.lower(te.create_schedule(C), [A, C]) gives the program",
    "SpecializedCondition": "split has tail=, and a symbolic extent is one kernel for every value",
    "cast": "x.astype(dtype)",
    "saturating_cast": "te.max(te.min(x, te.max_value(dtype)), te.min_value(dtype)).astype(dtype)",
    "clip": "te.max(te.min(x, high), low) of an element, tw.ops.clip of a whole tensor",
    "clamp": "te.max(te.min(x, high), low) of an element, tw.ops.clip of a whole tensor",
    "where": "te.if_then_else(c, a, b) of an element, tw.ops.where of whole tensors",
    "mean": "te.sum(x, axis=k) / n of an element's terms, tw.ops.mean of a whole tensor",
    "matmul": "tw.ops.matmul, or te.compute with te.sum(A[i, k] * B[k, j], axis=k)",
    "einsum": "te.compute with te.sum(A[i, k] * B[k, j], axis=k)",
    "lerp": "a + (b - a) * t",
    "sign": "te.select(x > 0, 1, te.select(x < 0, -1, 0))",
    "absd": "te.abs(a - b), of a type that holds it",
    "mulhi": "(a.astype('int64') * b.astype('int64') >> 32).astype('int32')",
    "ctz": "te.popcount(~x & (x - 1))",
    "relu": "te.max(x, 0) of an element, tw.ops.relu of a whole tensor",
    "call_pure_extern": "te.call_extern; in a compute what it calls must be pure",
    "call_intrin": "functions have names of their own: te.exp(x)",
    "call_packed": "te.call_extern calls C functions, and te.register_extern gives them a ctypes function",
    "extern_primfunc": "te.extern takes a function that makes a statement",
}
__getattr__ = of_module("te", _ABSENT, __all__)
