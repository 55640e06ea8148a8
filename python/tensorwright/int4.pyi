from typing import Any

import numpy as np

class Int4Array:
    bytes: np.ndarray
    shape: tuple[int, ...]
    dtype: str
    def __init__(self, bytes: np.ndarray, shape: tuple[int, ...], dtype: str = "int4") -> None: ...
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray: ...

def pack_int4(values: Any, dtype: str = "int4") -> Int4Array: ...
def unpack_int4(packed: Int4Array) -> np.ndarray: ...

__all__: list[str]
