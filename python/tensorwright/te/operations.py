"""What kind of operation a tensor comes from: ``isinstance(C.op, te.ComputeOp)``."""

from .. import _core
from .._core import Operation

__all__ = ["BaseComputeOp", "ComputeOp", "ExternOp", "PlaceholderOp", "ScanOp", "TensorComputeOp"]


class _Kind(type(Operation)):
    """Classes that tell operations apart: all are of the one class Operation, which knows its kind."""

    def __instancecheck__(cls, op):
        return isinstance(op, Operation) and _kind(op) in cls._kinds

    def __call__(cls, *args, **kwargs):
        raise TypeError(f"te.{cls.__name__} is for isinstance: {cls._maker} makes one")


def _kind(op):
    return "tensor_compute" if _core._tile_of(op) else op.kind


class PlaceholderOp(Operation, metaclass=_Kind):
    """Of ``te.placeholder``, which has no definition: ``axis``, ``body`` and ``input_tensors`` are empty.

    >>> isinstance(te.placeholder((4,), name="x").op, te.PlaceholderOp)
    True
    """

    _kinds, _maker = ("placeholder",), "te.placeholder"


class BaseComputeOp(Operation, metaclass=_Kind):
    """Of ``te.compute``: ComputeOp or TensorComputeOp, which have ``axis``, ``reduce_axis``, ``body`` and ``input_tensors``.

    >>> isinstance(te.compute((4,), lambda i: i * 2, name="y").op, te.BaseComputeOp)
    True
    """

    _kinds, _maker = ("compute", "tensor_compute"), "te.compute"


class ComputeOp(BaseComputeOp):
    """Of ``te.compute`` by the value of an element.

    >>> C = te.compute((4,), lambda i: A[i, 0] + 1, name="C", tag="shift")
    >>> isinstance(C.op, te.ComputeOp), isinstance(A.op, te.ComputeOp)
    (True, False)
    >>> C.op.name, C.op.tag, C.op.axis, C.op.reduce_axis, C.op.input_tensors, C.op.body
    ('C', 'shift', [axis(i: 0..4)], [], [Tensor(A: float32[4, 8])], [A[i, 0] + 1.0])
    """

    _kinds = ("compute",)


class TensorComputeOp(BaseComputeOp):
    """Of ``te.compute`` by whole tiles of a tensor intrinsic.

    >>> isinstance(A.op, te.TensorComputeOp)
    False
    """

    _kinds = ("tensor_compute",)


class ScanOp(Operation, metaclass=_Kind):
    """Of ``te.scan``: ``axis`` is time, ``scan_axis``, and then the others.

    >>> isinstance(A.op, te.ScanOp)
    False
    """

    _kinds, _maker = ("scan",), "te.scan"


class ExternOp(Operation, metaclass=_Kind):
    """Of ``te.extern``: a statement, no expression, so that ``axis`` and ``body`` are empty.

    >>> isinstance(A.op, te.ExternOp)
    False
    """

    _kinds, _maker = ("extern",), "te.extern"
