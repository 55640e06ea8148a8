"""The bandwidth of memory and the peak of arithmetic, as peers: bench/peers/*.c, compiled once by the system's compiler."""
import ctypes
import pathlib
import subprocess
import time

from bench.peers.onednn import Missing

HERE = pathlib.Path(__file__).resolve().parent


def compiled(name: str) -> ctypes.CDLL:
    """bench/peers/NAME.c for this machine."""
    source, library = HERE / f"{name}.c", HERE.parents[1] / f"build/peers/libtw_{name}.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        library.parent.mkdir(parents=True, exist_ok=True)
        command = ["cc", "-O2", "-march=native", "-fopenmp", "-shared", "-fPIC", str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"{name}.c does not compile: {done.stderr.strip().splitlines()[0]}")
    return ctypes.CDLL(str(library))


def load() -> ctypes.CDLL:
    lib = compiled("stream")
    lib.tw_peer_read.restype = ctypes.c_float
    lib.tw_peer_read.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int, ctypes.c_long]
    lib.tw_peer_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_int, ctypes.c_long]
    return lib


def read(lib, x, threads, times=1):
    """A callable that reads x so many times."""
    return lambda: lib.tw_peer_read(x.ctypes.data, x.size, threads, times)


def copy(lib, x, out, threads, times=1):
    """A callable that reads x and writes as much of out, so many times."""
    size = min(x.size, out.size)
    return lambda: lib.tw_peer_copy(x.ctypes.data, out.ctypes.data, size, threads, times)


def peaks(threads, rounds=200_000) -> dict:
    """{type: arithmetic a second in 1e9} of the types for which this machine has instructions."""
    lib, found = compiled("peak"), {}
    for dtype in ("f32", "u8s8", "bf16"):
        work = getattr(lib, f"tw_peer_peak_{dtype}", None)
        if work is None:
            continue
        work.restype, work.argtypes = ctypes.c_double, [ctypes.c_long, ctypes.c_int]
        found[dtype] = max(_rate(work, rounds, threads) for _ in range(10))
    return found


def _rate(work, rounds, threads) -> float:
    begin = time.perf_counter()
    return work(rounds, threads) / (time.perf_counter() - begin) / 1e9
