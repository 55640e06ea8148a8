"""One case of ONNX: a model of one node, the arrays that go in, and those that must come out."""

import numpy as np
import onnx

import tensorwright as tw
from tensorwright import te

DTYPES = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "int4", "uint4", "float8_e4m3fn", "float8_e5m2",
}  # fmt: skip


class Unmapped(Exception):
    """Why a case has no program: its form is not one of te, or the mapping does not know it."""


class Case:
    """What a mapping sees. ``c[i]`` is input i as a tensor, ``c.value(i)`` the array where the program depends on its numbers."""

    def __init__(self, generated):
        graph = generated.model.graph
        (self.node,) = graph.node
        self.name, self.op = generated.name, self.node.op_type
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in self.node.attribute}
        given, expected = ([array_of(a) for a in arrays] for arrays in generated.data_sets[0])
        named = dict(zip((i.name for i in graph.input), given, strict=False))
        self.arrays = [named.get(name) for name in self.node.input]
        results = dict(zip((o.name for o in graph.output), expected, strict=False))
        self.expected = [results.get(name) if name else None for name in self.node.output]
        self._tensors, self._constants = {}, []

    def __len__(self):
        return len(self.arrays)

    def has(self, i):
        return i < len(self.arrays) and self.arrays[i] is not None

    def attribute(self, name, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def value(self, i, default=None):
        return self.arrays[i] if self.has(i) else default

    def __getitem__(self, i):
        """Input i as a placeholder, or None where the case leaves it out."""
        if not self.has(i):
            return None
        if i not in self._tensors:
            self._tensors[i] = placeholder(self.arrays[i], f"X{i}")
        return self._tensors[i]

    def constant(self, array):
        """A table that the mapping computed, which the program reads as one more input."""
        tensor = placeholder(np.asarray(array), f"T{len(self._constants)}")
        self._constants.append((tensor, np.asarray(array)))
        return tensor

    def wants(self, i):
        return i < len(self.expected) and self.expected[i] is not None

    def inputs(self):
        """The placeholders that the mapping asked for, each with its array."""
        return [(tensor, self.arrays[i]) for i, tensor in self._tensors.items()] + self._constants


def array_of(given):
    """A case's data: an array, a tensor of ONNX, a number; a list or nothing stays."""
    if isinstance(given, onnx.TensorProto):
        return onnx.numpy_helper.to_array(given)
    return np.asarray(given) if isinstance(given, np.generic) else given


def placeholder(array, name):
    if not isinstance(array, np.ndarray):
        raise Unmapped("te has no sequences and no optional values")
    if str(array.dtype) not in DTYPES:
        raise Unmapped(f"te has no {array.dtype}" if array.dtype != object else "te has no strings")
    return te.placeholder(array.shape, str(array.dtype), name)


def packed(array):
    """What a kernel takes for the array."""
    if str(array.dtype) in ("int4", "uint4"):
        return tw.pack_int4(array, str(array.dtype))
    return np.ascontiguousarray(array).reshape(array.shape)


def unpacked(given):
    return tw.unpack_int4(given) if isinstance(given, tw.Int4Array) else given
