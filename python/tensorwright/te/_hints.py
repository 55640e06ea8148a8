"""What the classes of te answer for attributes of tvm's that they lack."""

from .._core import Buffer, IterVar, Operation, Tensor, TensorIntrin, TensorSlice, Var
from .._missing import say_missing

_NUMBER = "only a constant has one; this is known when the kernel is called"

say_missing(Buffer, {"scope": "te.decl_buffer's buffers stand for tensors; ib.allocate(..., scope=) makes those of a scope"})
_REDUCED = {name: f"tw.ops.{name}(X, axis) reduces a whole tensor, te.compute and te.{name}(.., axis=k) one element's terms" for name in ("sum", "max", "min", "prod")}
_WHOLE = {name: f"tw.ops.{name}(X, ..)" for name in ("mean", "std", "var", "argmax", "argmin", "cumsum", "softmax", "relu", "sigmoid", "tanh", "reshape", "transpose", "split", "clip", "matmul")}
say_missing(Tensor, _REDUCED | _WHOLE | {
    "asnumpy": "a tensor has no values before it is built and run",
    "numpy": "a tensor has no values before it is built and run",
    "T": "tw.ops.transpose(X)",
    "view": "tw.ops.reshape(X, shape)",
    "flatten": "tw.ops.reshape(X, (n,))",
    "permute": "tw.ops.transpose(X, axes)",
    "mm": "X @ Y, or tw.ops.matmul(X, Y)",
    "size": "the product of shape",
    "to": "X.astype(dtype); a target is chosen by tw.build(.., target=)",
    "float": "X.astype('float32')",
})
say_missing(Operation, {"reads": "input_tensors are the tensors that it reads"})
say_missing(TensorIntrin, {"scalar_params": "a tile has no arguments but its tensors"})
for _class in (TensorSlice, Var, IterVar):
    say_missing(_class, {"value": _NUMBER})
