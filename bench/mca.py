"""Inner loops for AArch64 against the bound of the core's pipes and loops of known libraries' shapes, by llvm-mca; nothing is timed.

Products and a convolution as they come without a schedule. A row is the loop with the most fused multiply-adds: how many start in a cycle,
what part that is of what the pipes take, instructions around them, accesses to the stack. The libraries' loops are written from their
documented register tiles: packed panels of 8 rows and 12 columns (ACL), 6 rows of four terms and 8 columns (XNNPACK), packed panels of 16
rows and 4 columns (OpenBLAS). llvm-mca knows no caches.

The last table counts what 257x513x512 executes as a whole, under qemu-aarch64.
"""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tensorwright as tw
from bench.tune_rows import conv2d, matmul
from tensorwright import te

HERE = pathlib.Path(__file__).resolve().parent
ITERATIONS = 200


@dataclasses.dataclass(frozen=True)
class Core:
    name: str
    pipes: int  # fused multiply-adds of whole registers that start in a cycle
    options: str = ""

    @property
    def target(self) -> str:
        return f"llvm -mtriple=aarch64-linux-gnu -mcpu={self.name} {self.options}".strip()

    @property
    def sve_bits(self) -> int:
        return tw.Target(self.target).sve_bits

    def __str__(self) -> str:
        return f"{self.name} {self.options}".strip()


CORES = [Core("cortex-a72", 1), Core("neoverse-n1", 2), Core("neoverse-v1", 4, "-mattr=-sve"), Core("neoverse-v1", 2)]
SHAPES = {"matmul 257x513x512": lambda: matmul(257, 513, 512), "matmul 1024^3": lambda: matmul(1024, 1024, 1024),
          "conv 3x3 64 56^2": lambda: conv2d(64, 64, 56, 3, 1, 1)}


def matmuls(count, m, n, k, types):
    """Of several left matrices and one right one: rows are not packed, so that none are in a matrix of an instruction."""
    a, b = te.placeholder((count, m, k), types[0], name="A"), te.placeholder((k, n), types[1], name="B")
    r = te.reduce_axis((0, k), name="r")
    return [a, b, te.compute((count, m, n), lambda l, i, j: te.sum(a[l, i, r].astype(types[2]) * b[r, j].astype(types[2]), axis=r), name="C")]


BYTES, BFLOATS = ("int8", "int8", "int32"), ("bfloat16", "bfloat16", "float32")
DOTS = {"matmul s8s8s32 512^3": (Core("neoverse-n1", 2), lambda: matmul(512, 512, 512, BYTES)),
        "matmul u8u8s32 512^3": (Core("neoverse-n1", 2), lambda: matmul(512, 512, 512, ("uint8", "uint8", "int32"))),
        "matmul u8s8s32 512^3": (Core("neoverse-v1", 4), lambda: matmul(512, 512, 512, ("uint8", "int8", "int32"))),
        "matmul s8s8s32 512^3, by matrices": (Core("neoverse-v1", 4), lambda: matmul(512, 512, 512, BYTES)),
        "5 matmuls bf16 51x512x512": (Core("neoverse-v1", 4), lambda: matmuls(5, 51, 512, 512, BFLOATS)),
        "matmul bf16 512x480x512, by matrices": (Core("neoverse-v1", 4), lambda: matmul(512, 480, 512, BFLOATS))}
TOOLS = {"llvm-mca-19": "llvm-19", "qemu-aarch64": "qemu-user", "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu"}


@dataclasses.dataclass(frozen=True)
class Loop:
    instructions: list

    def count(self, pattern: str) -> int:
        return sum(re.search(pattern, line) is not None for line in self.instructions)

    @property
    def fused(self) -> int:
        return self.count(r"^fml[as]\s+[vz]|^fmad\s+z|^(s|u|us|su|bf)dot\s+v|^(s|bf)mmla\s+v")

    @property
    def stack(self) -> int:
        return self.count(r"\bsp\b")

    def cycles(self, cpu: str) -> float:
        """Of one iteration, in a long run of them."""
        command = ["llvm-mca-19", "-mtriple=aarch64", f"-mcpu={cpu}", f"-iterations={ITERATIONS}", "-all-views=false", "-summary-view"]
        text = subprocess.run(command, input="\n".join(self.instructions), capture_output=True, text=True, check=True).stdout
        return int(re.search(r"Total Cycles:\s+(\d+)", text)[1]) / ITERATIONS

    def rate(self, cpu: str) -> float:
        return self.fused / self.cycles(cpu)


def loops(assembly: str) -> list[Loop]:
    """Those that are one block: from a label to a branch back to it."""
    found, label, body = [], None, []
    for line in assembly.splitlines():
        text = line.split("//")[0].strip()
        if named := re.match(r"(\.?\w+):", text):
            label, body = named[1], []
        elif text and not text.startswith("."):
            body.append(text)
            if re.match(r"(b|cb|tb)\S*\s", text) and label and re.search(rf"(\s|,){re.escape(label)}$", text):
                found.append(Loop(list(body)))
    return found


def inner_loop(assembly: str) -> Loop:
    return max(loops(assembly), key=lambda loop: loop.fused)


def dot_loop(name: str) -> Loop:
    core, tensors = DOTS[name]
    return inner_loop(default_kernel(tensors(), core).source("asm"))


def default_kernel(tensors, core: Core):
    return tw.build(tw.default_schedule(tensors[-1], core.target), tensors, core.target, name="kernel")


# Tiles of rows and columns in registers of four; `terms` side by side in a register of A, whose lanes are rows where it is 1.
TILES = {"ACL 8x12": (8, 12, 1), "XNNPACK 6x8": (6, 8, 4), "OpenBLAS 16x4": (4, 16, 1)}


def library_loop(rows: int, columns: int, terms: int) -> Loop:
    """Sums from v31 down; each term's vectors of B, and rows of A, are loaded right before they multiply."""
    vectors = columns // 4
    factors = rows if terms > 1 else rows // 4
    sums = [31 - n for n in range(rows * vectors)]
    a, b = range(factors), range(factors, factors + vectors)
    text = [f"ldr q{a[n]}, [x{n}], #16" for n in range(factors)] if terms > 1 else []
    for term in range(terms):
        if terms == 1:
            text += [f"ldr q{a[n]}, [x0, #{16 * n}]" for n in range(factors)]
        text += [f"ldr q{b[n]}, [x10, #{16 * (term * vectors + n)}]" for n in range(vectors)]
        for row in range(rows):
            factor, lane = (a[row], term) if terms > 1 else (a[row // 4], row % 4)
            text += [f"fmla v{sums[row * vectors + n]}.4s, v{b[n]}.4s, v{factor}.s[{lane}]" for n in range(vectors)]
    text += [] if terms > 1 else [f"add x0, x0, #{16 * factors}"]
    return Loop([*text, f"add x10, x10, #{16 * terms * vectors}", "subs x11, x11, #1", "b.ne 0"])


MAIN = """
#include <stdlib.h>
#include "kernel.h"
static float a[%(m)d * %(k)d], b[%(k)d * %(n)d], c[%(m)d * %(n)d];
int main(int argc, char** argv) {
  for (int i = 0; i < atoi(argv[argc - 1]); ++i)
    if (kernel_run(a, b, c) != 0) return 1;
  return 0;
}
"""


def executed(m: int, n: int, k: int, core: Core) -> tuple[int, int]:
    """(instructions, fused multiply-adds of vectors) of one call of the default kernel: of two calls less those of one."""
    with tempfile.TemporaryDirectory() as folder:
        default_kernel(matmul(m, n, k), core).save(f"{folder}/kernel.o")
        pathlib.Path(f"{folder}/main.c").write_text(MAIN % {"m": m, "n": n, "k": k})
        run = lambda *command: subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stderr
        run("aarch64-linux-gnu-gcc", "-O1", "-static", "main.c", "kernel.o", "-o", "main")
        run("gcc", "-O2", "-shared", "-fPIC", HERE / "count_instructions.c", "-o", "count.so")
        counts = []
        emulated = f"max,sve-max-vq={max(1, core.sve_bits // 128)}"
        for calls in "12":
            text = run("qemu-aarch64", "-cpu", emulated, "-plugin", "./count.so", "-d", "plugin", "./main", calls)
            counts.append([int(number) for number in re.search(r"(\d+) instructions, (\d+) fused", text).groups()])
    return counts[1][0] - counts[0][0], counts[1][1] - counts[0][1]


def missing(*tools: str) -> str:
    """Why not, where one of them is not installed."""
    return ", ".join(f"{tool} is not installed (Debian: {TOOLS[tool]})" for tool in tools if not shutil.which(tool))


def told(what: str, loop: Loop, core: Core) -> str:
    rate = loop.rate(core.name)
    return (f"{what} {rate:6.2f} a cycle, {rate / core.pipes:4.0%} of the pipes, {loop.fused} of {len(loop.instructions)} "
            f"instructions, {loop.stack} on the stack")


def main() -> int:
    if reason := missing("llvm-mca-19"):
        print(f"bench mca: skipped: {reason}")
        return 0
    for core in CORES:
        print(f"{core}, {core.pipes} fused multiply-adds a cycle at most")
        for name, tile in ({} if core.sve_bits else TILES).items():
            print(f"  {name:<20} {library_loop(*tile).rate(core.name):6.2f} a cycle")
        for name, tensors in SHAPES.items():
            loop = inner_loop(default_kernel(tensors(), core).source("asm"))
            print("  " + told(f"{name:<20}", loop, core), flush=True)
    for name, (core, _) in DOTS.items():
        print(told(f"{name}, {core.name}", dot_loop(name), core))
    if reason := missing("qemu-aarch64", "aarch64-linux-gnu-gcc"):
        print(f"instructions executed: skipped: {reason}")
        return 0
    for core in CORES:
        every, fused = executed(257, 513, 512, core)
        print(f"matmul 257x513x512 for {core}: {every / fused:.2f} instructions a fused multiply-add of vectors ({every} for {fused})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
