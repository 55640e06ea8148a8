"""What this machine gives: arithmetic from registers, and reads and copies from each level of its memory. Ratios are against these."""
import numpy as np

from bench import peers
from bench.harness import Contestant, interleave
from bench.peers import stream

SIZES = [("L1", 16 << 10), ("L2", 512 << 10), ("L3", 4 << 20), ("memory", 256 << 20)]  # bytes a thread


def main() -> None:
    for threads in (1, 2):
        for dtype, rate in stream.peaks(threads).items():
            print(f"{threads} thread(s)  {dtype:<6} {rate:8.1f} G{'FLOP' if dtype != 'u8s8' else 'OP'}/s")
    lib = peers.load().get("stream")
    for threads in (1, 2) if lib else ():
        for level, size in SIZES:
            x, out = (np.ones(size * threads // 8, np.float32) for _ in range(2))  # both together fill what is asked for
            whole = np.ones(size * threads // 4, np.float32)
            times = max(1, (16 << 20) // size)
            read = Contestant("read", stream.read(lib, whole, threads, times))
            copy = Contestant("copy", stream.copy(lib, x, out, threads, times))
            interleave([read, copy], rounds=7)
            print(f"{threads} thread(s)  {level:<6} {size >> 10:7d} KiB a thread: read {times * whole.nbytes / read.median / 1e9:7.1f} GB/s, "
                  f"copy {times * 2 * x.nbytes / copy.median / 1e9:7.1f} GB/s")


if __name__ == "__main__":
    main()
