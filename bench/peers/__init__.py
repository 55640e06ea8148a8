"""Libraries that benches compare with, as contestants. One that is missing here says why on stderr and is left out."""
import functools
import sys

import numpy as np

from bench.harness import Contestant
from bench.peers import onednn, openblas, pytorch, stream


@functools.cache
def load() -> dict:
    """The peers that are here, by module name."""
    peers = {}
    for name, module in (("onednn", onednn), ("openblas", openblas), ("pytorch", pytorch), ("stream", stream)):
        try:
            peers[name] = module.load()
        except onednn.Missing as why:
            print(f"peer missing: {why}", file=sys.stderr)
    return peers


def matmul(threads, a, b, out, bias=None, relu=False, packed=False) -> list[Contestant]:
    """out = a @ b by every peer; with bias and ReLU where the peer can. `packed`: also with b's layout chosen outside the clock."""
    contestants = []
    if lib := load().get("onednn"):
        lib.tw_peer_threads(threads)
        version = f"oneDNN {lib.tw_peer_version().decode()}"
        activation = "relu" if relu else None
        fused = (" + bias" if bias is not None else "") + (" + ReLU" if relu else "")
        contestants.append(Contestant(f"{version} plain{fused}", onednn.Matmul(lib, a, b, out, bias, activation)))
        if packed:
            contestants.append(Contestant(f"{version} packed{fused}", onednn.Matmul(lib, a, b, out, bias, activation, packed=True)))
    return contestants + blas(threads, a, b, out, " (the product alone)" if bias is not None or relu else "")


def vendor(threads, name, *arguments, **options) -> list[Contestant]:
    """What bench.peers.onednn calls `name` (Matmul, Conv2d, Softmax, ...), of these arguments."""
    lib = load().get("onednn")
    if not lib:
        return []
    lib.tw_peer_threads(threads)
    try:
        call = getattr(onednn, name)(lib, *arguments, **options)
    except onednn.Missing as why:
        print(f"peer missing: {why}", file=sys.stderr)
        return []
    return [Contestant(f"oneDNN {lib.tw_peer_version().decode()}", call)]


def blas(threads, a, b, out, alone="") -> list[Contestant]:
    """out = a @ b by OpenBLAS, which has float32 alone."""
    lib = load().get("openblas")
    if not lib or a.dtype != np.float32:
        return []
    openblas.set_threads(lib, threads)
    return [Contestant(f"OpenBLAS {openblas.version(lib)}{alone}", openblas.matmul(lib, a, b, out))]


def eager(threads, name, *arguments) -> list[Contestant]:
    """What bench.peers.pytorch calls `name` (matmul, conv2d, softmax, ...), of these arguments."""
    torch = load().get("pytorch")
    if not torch:
        return []
    torch.set_num_threads(threads)
    call = getattr(pytorch, name)(torch, *arguments)

    def run():
        with torch.inference_mode():
            call()

    return [Contestant(f"PyTorch {torch.__version__}", run, writes=False)]


def read(threads, x) -> list[Contestant]:
    """Reads x once and does no more than add what it reads."""
    lib = load().get("stream")
    return [Contestant("a read of as much memory in C", stream.read(lib, x.reshape(-1).view(np.float32), threads), writes=False)] if lib else []


def copy(threads, x, out) -> list[Contestant]:
    """Reads x and writes as many bytes of out, of one size."""
    lib = load().get("stream")
    return [Contestant("a copy of the same memory in C", stream.copy(lib, x, out, threads))] if lib else []
