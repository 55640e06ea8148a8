"""The bandwidth of memory, as a peer: bench/peers/stream.c, compiled once by the system's compiler."""
import ctypes
import pathlib
import subprocess

from bench.peers.onednn import Missing

SOURCE = pathlib.Path(__file__).with_name("stream.c")


def load() -> ctypes.CDLL:
    library = pathlib.Path(__file__).resolve().parents[2] / "build/peers/libtw_stream.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        library.parent.mkdir(parents=True, exist_ok=True)
        command = ["cc", "-O2", "-march=native", "-fopenmp", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"the reader of memory does not compile: {done.stderr.strip().splitlines()[0]}")
    lib = ctypes.CDLL(str(library))
    lib.tw_peer_read.restype = ctypes.c_float
    lib.tw_peer_read.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]
    lib.tw_peer_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_int]
    return lib


def read(lib, x, threads):
    """A callable that reads x once."""
    return lambda: lib.tw_peer_read(x.ctypes.data, x.size, threads)


def copy(lib, x, out, threads):
    """A callable that reads x and writes as much of out."""
    size = min(x.size, out.size)
    return lambda: lib.tw_peer_copy(x.ctypes.data, out.ctypes.data, size, threads)
