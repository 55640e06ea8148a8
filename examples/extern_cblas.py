"""A product by BLAS as a stage between two stages of ours: D = relu(((A + 1) @ B) + bias)."""

import ctypes
import sys

import numpy as np

import tensorwright as tw
from tensorwright import te

ROW_MAJOR, NO_TRANS = 101, 111


def load_blas():
    """The symbol of a cblas_sgemm whose library is loaded for all, and the dtype of its sizes; None where there is none."""
    for name in ("libopenblas.so.0", "libcblas.so.3", "libblas.so.3"):
        try:
            if hasattr(ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL), "cblas_sgemm"):
                return "cblas_sgemm", "int32"
        except OSError:
            pass
    try:
        import scipy_openblas64 as blas
    except ImportError:
        return None
    ctypes.CDLL(f"{blas.get_lib_dir()}/lib{blas.get_library()}.so", mode=ctypes.RTLD_GLOBAL)
    return "scipy_cblas_sgemm64_", "int64"


def dense(m, n, k, symbol, size):
    """(schedule, arguments)"""
    a = te.placeholder((m, k), name="A")
    b = te.placeholder((k, n), name="B")
    bias = te.placeholder((n,), name="bias")
    shifted = te.compute((m, k), lambda i, j: a[i, j] + 1, name="shifted")

    def gemm(ins, outs):
        m_, n_, k_ = (te.const(extent, size) for extent in (m, n, k))
        one, zero = te.const(1, "float32"), te.const(0, "float32")
        left, right, out = ins[0].access_ptr("r"), ins[1].access_ptr("r"), outs[0].access_ptr("w")
        return te.call_extern("int32", symbol, ROW_MAJOR, NO_TRANS, NO_TRANS, m_, n_, k_, one, left, k_, right, n_, zero, out, n_)

    c = te.extern((m, n), [shifted, b], gemm, name="C", dtype="float32")
    d = te.compute((m, n), lambda i, j: te.max(c[i, j] + bias[j], te.const(0, "float32")), name="D")
    s = te.create_schedule(d)
    i, j = s[d].op.axis
    s[d].parallel(i)
    s[d].vectorize(s[d].split(j, 16)[1])
    return s, [a, b, bias, d]


def main():
    blas = load_blas()
    if blas is None:
        print("skipped: no BLAS here (Debian: libopenblas0; PyPI: scipy-openblas64)")
        return
    m, n, k = 65, 33, 48
    f = tw.build(*dense(m, n, k, *blas), name="dense")
    rng = np.random.default_rng(0)
    a, b, bias = (rng.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n), (n,)))
    d = np.empty((m, n), np.float32)
    f(a, b, bias, d)
    np.testing.assert_allclose(d, np.maximum((a + 1) @ b + bias, 0), rtol=1e-4, atol=1e-4)
    print(f"{blas[0]} as a stage agrees with NumPy")


if __name__ == "__main__":
    sys.exit(main())
