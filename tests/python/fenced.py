"""Arrays between pages that may not be touched: a kernel that reads or writes outside of one ends the process."""
import ctypes
import mmap

import numpy as np

PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def fenced(values, at_end=True):
    """A copy whose last (first) byte stands right before (behind) an untouchable page. Its memory is never given back."""
    values = np.ascontiguousarray(values)
    inside = -(-max(values.nbytes, 1) // PAGE) * PAGE
    start = _libc.mmap(None, inside + 2 * PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    assert start not in (None, ctypes.c_void_p(-1).value)
    if values.nbytes:
        assert _libc.mprotect(start + PAGE, inside, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    at = start + PAGE + (inside - values.nbytes if at_end and values.nbytes else 0)
    memory = (ctypes.c_char * values.nbytes).from_address(at)
    array = np.frombuffer(memory, dtype=values.dtype).reshape(values.shape)
    if values.nbytes:
        array[...] = values
    return array
