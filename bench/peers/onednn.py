"""oneDNN as a peer: compiles bench/peers/onednn.cc once, loads it with ctypes."""
import ctypes
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).with_name("onednn.cc")


class Missing(Exception):
    """Why this peer cannot be measured here."""


def load() -> ctypes.CDLL:
    prefix = pathlib.Path(sys.prefix)
    if not (prefix / "include/oneapi/dnnl/dnnl.hpp").exists():
        raise Missing("oneDNN is not installed: ./dev setup --peers")
    library = pathlib.Path(__file__).resolve().parents[2] / "build/peers/libtw_onednn.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        library.parent.mkdir(parents=True, exist_ok=True)
        command = ["g++", "-O2", "-std=c++17", "-fopenmp", "-shared", "-fPIC", str(SOURCE), f"-I{prefix}/include",
                   f"-L{prefix}/lib", "-ldnnl", f"-Wl,-rpath,{prefix}/lib", "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"oneDNN's shim does not compile: {done.stderr.strip().splitlines()[0]}")
    try:
        lib = ctypes.CDLL(str(library))
    except OSError as error:
        raise Missing(f"oneDNN does not load: {error}") from error
    lib.tw_peer_version.restype = lib.tw_peer_why_not.restype = ctypes.c_char_p
    lib.tw_peer_matmul.restype = ctypes.c_void_p
    lib.tw_peer_matmul.argtypes = [ctypes.c_long] * 3 + [ctypes.c_void_p] * 4 + [ctypes.c_int] * 2
    lib.tw_peer_narrow_matmul.restype = ctypes.c_void_p
    lib.tw_peer_narrow_matmul.argtypes = [ctypes.c_long] * 3 + [ctypes.c_void_p] * 3 + [ctypes.c_int]
    lib.tw_peer_batch_matmul.restype = lib.tw_peer_conv2d.restype = ctypes.c_void_p
    lib.tw_peer_batch_matmul.argtypes = [ctypes.c_long] * 4 + [ctypes.c_void_p] * 3
    lib.tw_peer_conv2d.argtypes = [ctypes.c_long] * 7 + [ctypes.c_void_p] * 3 + [ctypes.c_int]
    lib.tw_peer_softmax.restype = lib.tw_peer_layernorm.restype = ctypes.c_void_p
    lib.tw_peer_softmax.argtypes = [ctypes.c_long] * 2 + [ctypes.c_void_p] * 2
    lib.tw_peer_layernorm.argtypes = [ctypes.c_long] * 2 + [ctypes.c_float] + [ctypes.c_void_p] * 4
    lib.tw_peer_run.argtypes = [ctypes.c_void_p]
    lib.tw_peer_free.argtypes = [ctypes.c_void_p]
    return lib


class Bound:
    """A call of oneDNN with its arrays, which live as long as it does."""

    def __init__(self, lib, handle, *arrays):
        self.lib, self.handle, self.arrays = lib, handle, arrays
        if not handle:
            operands = " x ".join(a.dtype.name for a in arrays[:2])
            raise Missing(f"oneDNN has no {type(self).__name__} of {operands} on this CPU: {lib.tw_peer_why_not().decode()}")

    def __call__(self):
        self.lib.tw_peer_run(self.handle)

    def __del__(self):
        self.lib.tw_peer_free(self.handle)


ACTIVATIONS = (None, "relu", "gelu")
OPERANDS = ("float32", "bfloat16", "uint8", "int8")  # of the left side; what stands on the right follows


class Matmul(Bound):
    """C = A @ B (+ bias, activation) by oneDNN; `packed` lets it choose B's layout outside the clock."""

    def __init__(self, lib, a, b, c, bias=None, activation=None, packed=False):
        m, k = a.shape
        n = b.shape[1]
        pointer = lambda x: None if x is None else x.ctypes.data
        handle = lib.tw_peer_matmul(m, n, k, pointer(a), pointer(b), pointer(c), pointer(bias), ACTIVATIONS.index(activation),
                                    int(packed))
        super().__init__(lib, handle, a, b, c, bias)


class NarrowMatmul(Bound):
    """C = A @ B of uint8 or int8 with int8 into int32, or of bfloat16 (ml_dtypes) into float32; B in oneDNN's layout outside the clock."""

    def __init__(self, lib, a, b, c):
        (m, k), n = a.shape, b.shape[1]
        handle = lib.tw_peer_narrow_matmul(m, n, k, a.ctypes.data, b.ctypes.data, c.ctypes.data, OPERANDS.index(a.dtype.name))
        super().__init__(lib, handle, a, b, c)


class BatchMatmul(Bound):
    """C[i] = A[i] @ B[i] by oneDNN."""

    def __init__(self, lib, a, b, c):
        batch, m, k = a.shape
        super().__init__(lib, lib.tw_peer_batch_matmul(batch, m, b.shape[2], k, *(array.ctypes.data for array in (a, b, c))), a, b, c)


class Conv2d(Bound):
    """y = convolution of one image x (1, h, w, c) with weights (kernel, kernel, in, out), or (kernel, kernel, c) depthwise.

    float32, or uint8 with int8 into int32; the weights in oneDNN's layout outside the clock.
    """

    def __init__(self, lib, x, weights, y, stride, padding):
        channels, kernel = x.shape[3], weights.shape[0]
        groups = channels if weights.ndim == 3 else 1
        handle = lib.tw_peer_conv2d(channels, y.shape[3], x.shape[1], kernel, stride, padding, groups,
                                    *(array.ctypes.data for array in (x, weights, y)), OPERANDS.index(x.dtype.name))
        super().__init__(lib, handle, x, weights, y)


class Softmax(Bound):
    """out = softmax of each row of x, float32, by oneDNN."""

    def __init__(self, lib, x, out):
        super().__init__(lib, lib.tw_peer_softmax(*x.shape, x.ctypes.data, out.ctypes.data), x, out)


class LayerNorm(Bound):
    """out = (x - mean) / sqrt(variance + epsilon) * scale + shift for each row of x, float32, by oneDNN."""

    def __init__(self, lib, x, scale, shift, epsilon, out):
        handle = lib.tw_peer_layernorm(*x.shape, epsilon, *(array.ctypes.data for array in (x, scale, shift, out)))
        super().__init__(lib, handle, x, scale, shift, out)
