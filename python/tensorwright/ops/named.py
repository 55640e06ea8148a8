"""Stock operators by name, with the sizes of their tensors as parameters: what ``tw tune NAME --shape M=257,...`` makes."""

from .. import _core

__all__ = ["kernel", "kernels"]


def kernels():
    """What there is: ``{name: {parameter: default}}``; None where a value must be given.

    >>> tw.ops.kernels()["matmul"]["dtype"]
    'float32'
    """
    return {name: {p: default or None for p, _, default in parameters} for name, _, parameters in _core.kernels()}


def text_of(value):
    """A value of Python as the command line writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "x".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def kernel(name, **parameters):
    """The arguments of a stock operator over placeholders: inputs, then outputs.

    Parameters: name, one of ``kernels()``; numbers, names of dtypes, bools, or tuples of numbers.
    Raises: ArgumentError for a name or a parameter that does not exist; it lists those that do.

    >>> tw.ops.kernel("matmul", M=257, N=513, K=1025)
    [Tensor(A: float32[257, 1025]), Tensor(B: float32[1025, 513]), Tensor(matmul: float32[257, 513])]
    """
    return _core.make_kernel(name, {p: text_of(value) for p, value in parameters.items()})[0]
