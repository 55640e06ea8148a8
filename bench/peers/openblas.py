"""OpenBLAS as a peer: cblas_sgemm of the PyPI package scipy-openblas64."""
import ctypes

from bench.peers.onednn import Missing


def load() -> ctypes.CDLL:
    try:
        import scipy_openblas64
    except ImportError as error:
        raise Missing("OpenBLAS is not installed: ./dev setup --peers") from error
    lib = ctypes.CDLL(f"{scipy_openblas64.get_lib_dir()}/lib{scipy_openblas64.get_library()}.so")
    index, pointer, real = ctypes.c_int64, ctypes.c_void_p, ctypes.c_float
    lib.scipy_cblas_sgemm64_.argtypes = [ctypes.c_int] * 3 + [index] * 3 + [real, pointer, index, pointer, index, real, pointer, index]
    lib.scipy_openblas_get_config64_.restype = ctypes.c_char_p
    return lib


def version(lib) -> str:
    return lib.scipy_openblas_get_config64_().decode().split()[1]


def set_threads(lib, n: int) -> None:
    lib.scipy_openblas_set_num_threads64_(ctypes.c_int(n))


def matmul(lib, a, b, c):
    """A callable that computes c = a @ b."""
    m, k = a.shape
    n = b.shape[1]
    row_major, no_trans = 101, 111
    arguments = (row_major, no_trans, no_trans, m, n, k, 1.0, a.ctypes.data, k, b.ctypes.data, n, 0.0, c.ctypes.data, n)
    return lambda arrays=(a, b, c): lib.scipy_cblas_sgemm64_(*arguments)  # the arrays live as long as their addresses
