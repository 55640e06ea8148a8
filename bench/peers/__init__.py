"""Libraries that benches compare with, as contestants. One that is missing here says why on stderr and is left out."""
import functools
import sys

from bench.harness import Contestant
from bench.peers import onednn, openblas, stream


@functools.cache
def load() -> dict:
    """The peers that are here, by module name."""
    peers = {}
    for name, module in (("onednn", onednn), ("openblas", openblas), ("stream", stream)):
        try:
            peers[name] = module.load()
        except onednn.Missing as why:
            print(f"peer missing: {why}", file=sys.stderr)
    return peers


def matmul(threads, a, b, out, bias=None, relu=False, packed=False) -> list[Contestant]:
    """out = a @ b by every peer; with bias and relu where the peer can. `packed`: also with b's layout chosen outside the clock."""
    contestants = []
    if lib := load().get("onednn"):
        lib.tw_peer_threads(threads)
        version = f"oneDNN {lib.tw_peer_version().decode()}"
        fused = (" + bias" if bias is not None else "") + (" + ReLU" if relu else "")
        contestants.append(Contestant(f"{version} plain{fused}", onednn.Matmul(lib, a, b, out, bias, relu)))
        if packed:
            contestants.append(Contestant(f"{version} packed{fused}", onednn.Matmul(lib, a, b, out, bias, relu, packed=True)))
    if lib := load().get("openblas"):
        openblas.set_threads(lib, threads)
        alone = " (the product alone)" if bias is not None or relu else ""
        contestants.append(Contestant(f"OpenBLAS {openblas.version(lib)}{alone}", openblas.matmul(lib, a, b, out)))
    return contestants


def narrow_matmul(threads, a, b, out) -> list[Contestant]:
    """out = a @ b of uint8 and int8, or of bfloat16, b's layout chosen outside the clock."""
    lib = load().get("onednn")
    if not lib:
        return []
    lib.tw_peer_threads(threads)
    return [Contestant(f"oneDNN {lib.tw_peer_version().decode()} packed", onednn.NarrowMatmul(lib, a, b, out))]


def rows(threads, name, *arguments) -> list[Contestant]:
    """Softmax(x, out) or LayerNorm(x, scale, shift, epsilon, out), over the rows of x."""
    lib = load().get("onednn")
    if not lib:
        return []
    lib.tw_peer_threads(threads)
    return [Contestant(f"oneDNN {lib.tw_peer_version().decode()}", getattr(onednn, name)(lib, *arguments))]


def read(threads, x) -> list[Contestant]:
    """Reads x once and does no more than add what it reads."""
    lib = load().get("stream")
    return [Contestant("a read of the same memory in C", stream.read(lib, x, threads))] if lib else []
