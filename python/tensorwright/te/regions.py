"""Tensor intrinsics as operations: ``te.compute`` of whole tiles."""

from .. import _core
from .._core import IterVar, Tensor, TensorIntrin, TensorRegion
from ..errors import ArgumentError, ExprError

__all__ = []


class IntrinCall:
    """What an intrinsic gives when it is called with regions: the value of a tile, for ``te.compute``."""

    __slots__ = ("axes", "intrin", "regions")

    def __init__(self, intrin, regions, axes):
        self.intrin, self.regions, self.axes = intrin, regions, axes


def _call(intrin, *regions, reduce_axis=None, scalar_inputs=None):
    """The tile that this intrinsic computes of these regions, inside of ``te.compute``.

    Parameters: regions, one for each input of the intrinsic's op: ``A[i, 0:16]``, of which the slices have the input's extents, or
    a whole tensor; reduce_axis, axes over which tiles are summed, for an intrinsic with an update. scalar_inputs, None.

    >>> x, y = te.placeholder((4,), name="x"), te.placeholder((4,), name="y")
    >>> z = te.compute((4,), lambda i: x[i] + y[i], name="z")
    >>> add = te.decl_tensor_intrin(z.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x4") + ins[1].vload(0, "float32x4")))
    >>> A, B = te.placeholder((6, 4), name="A"), te.placeholder((6, 4), name="B")
    >>> C = te.compute((6, 4), lambda i: add(A[i, 0:4], B[i, 0:4]), name="C")
    >>> C.op.body[0]
    A[i, j] + B[i, j]
    """
    if scalar_inputs:
        raise ArgumentError("tensor_intrin: scalar_inputs must be left out", "write the number into the statement, or as a tensor of one "
                            "element into the expression")
    inputs = intrin.op.input_tensors
    if len(regions) != len(inputs):
        raise ExprError(f"tensor_intrin: expected {len(inputs)} regions, one for each of {', '.join(t.name for t in inputs)}, not {len(regions)}")
    for region in regions:
        if not isinstance(region, (Tensor, TensorRegion)):
            raise ExprError(f"tensor_intrin: a region of a tensor expected, as A[i, 0:16], not {region!r}")
    axes = [] if reduce_axis is None else list(reduce_axis) if isinstance(reduce_axis, (list, tuple)) else [reduce_axis]
    for axis in axes:
        if not isinstance(axis, IterVar):
            raise ExprError(f"tensor_intrin: reduce_axis must be axes of te.reduce_axis, not {axis!r}")
    return IntrinCall(intrin, list(regions), axes)


TensorIntrin.__call__ = _call


def tiles(shape, names, fcompute, name, refuse):
    """The compute of which ``fcompute``, a function of the first axes only, gives whole tiles. ``refuse`` says what is wrong if not."""
    calls, outer = [], len(names)

    def element(*axes):
        call = fcompute(*axes[:outer])
        if not isinstance(call, IntrinCall):
            refuse()
        calls.append(call)
        return _core._tile_element(call.intrin, call.regions, list(axes[outer:]), call.axes)

    made = _core.compute(shape, names, element, name)
    extents = [axis.extent for axis in made.op.axis[outer:]]
    if extents != [axis.extent for axis in calls[0].intrin.op.axis]:
        raise ExprError(f"compute {name}: the last dimensions must be those of the intrinsic's tile, not {tuple(extents)}",
                        f"the tile: {tuple(calls[0].intrin.op.output(0).shape)}")
    _core._note_tile(made.op, calls[0].intrin, outer, len(calls[0].axes))
    return made
