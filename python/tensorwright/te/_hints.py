"""What the classes of te answer for attributes of tvm's that they lack."""

from .._core import Buffer, IterVar, Operation, Tensor, TensorIntrin, TensorSlice, Var
from .._missing import say_missing

_ELEMENT = "ib.buffer_ptr(buffer)[i, j] reads and writes an element; a loop of kind=\"vectorize\" makes vectors of them"
_ADDRESS = "buffer.access_ptr(\"r\") is its address, for a C function"
_LAYOUT = "a buffer is compact, by rows; an intrinsic's subscripts reach elements wherever the schedule lays them"
_NUMBER = "only a constant has one; this is known when the kernel is called"

say_missing(Buffer, {"vload": _ELEMENT, "vstore": _ELEMENT, "data": _ADDRESS, "strides": _LAYOUT, "elem_offset": _LAYOUT,
                     "scope": "te.decl_buffer's buffers stand for tensors; ib.allocate(..., scope=) makes those of a scope"})
say_missing(Tensor, {"asnumpy": "a tensor has no values before it is built and run", "numpy": "a tensor has no values before it is built and run"})
say_missing(Operation, {"reads": "input_tensors are the tensors that it reads"})
say_missing(TensorIntrin, {"body": "it is kept inside; str(tw.lower(s, args)) shows the statement where it stands"})
for _class in (TensorSlice, Var, IterVar):
    say_missing(_class, {"value": _NUMBER})
