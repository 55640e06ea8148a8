"""What the classes of te answer for attributes of tvm's that they lack."""

from .._core import Buffer, IterVar, Operation, Tensor, TensorIntrin, TensorSlice, Var
from .._missing import say_missing

_NUMBER = "only a constant has one; this is known when the kernel is called"

say_missing(Buffer, {"scope": "te.decl_buffer's buffers stand for tensors; ib.allocate(..., scope=) makes those of a scope"})
say_missing(Tensor, {"asnumpy": "a tensor has no values before it is built and run", "numpy": "a tensor has no values before it is built and run"})
say_missing(Operation, {"reads": "input_tensors are the tensors that it reads"})
say_missing(TensorIntrin, {"scalar_params": "a tile has no arguments but its tensors"})
for _class in (TensorSlice, Var, IterVar):
    say_missing(_class, {"value": _NUMBER})
