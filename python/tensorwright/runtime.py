"""Running kernels: the functions that ``tw.build`` and ``tw.load`` return, their timing, and the threads they use.

>>> import numpy as np
>>> import tensorwright as tw
>>> from tensorwright import te
>>> A = te.placeholder((4,), name="A")
>>> f = tw.build([A, te.compute((4,), lambda i: A[i] * 2.0, name="B")], name="twice")
>>> x, y = np.arange(4, dtype="float32"), np.zeros(4, dtype="float32")
>>> f(x, y)
>>> y.tolist()
[0.0, 2.0, 4.0, 6.0]
>>> [(arg.name, arg.dtype, arg.shape, arg.is_output) for arg in f.args]
[('A', 'float32', (4,), False), ('B', 'float32', (4,), True)]
>>> result = f.time(x, y, number=10, repeat=3)
>>> len(result.runs), result.median > 0
(3, True)
>>> f(x, x)
Traceback (most recent call last):
tensorwright.errors.ArgumentError: ...twice: argument 2 (B): an output must not share memory with another argument...
"""
from ._core import (
    ArgSpec,
    DeviceArray,
    Function,
    PackedArray,
    TimingResult,
    device_array,
    device_info,
    load,
    num_threads,
    park_threads,
    set_num_threads,
)

__all__ = [
    "ArgSpec",
    "DeviceArray",
    "Function",
    "PackedArray",
    "TimingResult",
    "device_array",
    "device_info",
    "load",
    "num_threads",
    "park_threads",
    "set_num_threads",
]
