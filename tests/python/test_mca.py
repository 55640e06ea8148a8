"""Inner loops for AArch64 at the bound of the core's pipes, by llvm-mca: nothing is timed."""
import pathlib
import sys

import pytest
from programs import needs_llvm

import tensorwright as tw

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from bench import mca  # noqa: E402

CORES = {str(core): core for core in mca.CORES}


def test_loops_are_found():
    text = ("f:\n\tadd x0, x0, #1\n.L1:\n\tfmla v0.4s, v1.4s, v2.s[0]\n\tsubs x1, x1, #1\n\tb.ne .L1\n\tmov x4, x5\n"
            ".L2:\n\tldr q0, [sp] // 16-byte\n\tcbnz x3, .L2\n\tret\n")
    first, second = mca.loops(text)
    assert (first.fused, first.stack, len(first.instructions)) == (1, 0, 3)
    assert (second.fused, second.stack, len(second.instructions)) == (0, 1, 2)
    assert mca.inner_loop(text) == first


@needs_llvm
@pytest.mark.parametrize("shape", mca.SHAPES)
@pytest.mark.parametrize("core", CORES)
def test_the_pipes_are_busy(shape, core):
    if reason := mca.missing("llvm-mca-19"):
        pytest.skip(f"skipped: {reason}")
    core = CORES[core]
    loop = mca.inner_loop(mca.default_kernel(mca.SHAPES[shape](), core).source("asm"))
    rate = loop.rate(core.name)
    assert rate >= 0.95 * core.pipes
    assert loop.stack == 0
    if core.sve_bits == 0:  # as the libraries' loops are
        assert rate >= 0.97 * max(mca.library_loop(*tile).rate(core.name) for tile in mca.TILES.values())


@needs_llvm
@pytest.mark.parametrize("shape", [(511, 511, 511), (512, 511, 512), (64, 2047, 64), (100, 100, 100), (7, 513, 512), (257, 513, 512),
                                   (255, 257, 300), (33, 1001, 77)])
@pytest.mark.parametrize("core", CORES)
def test_odd_shapes_keep_the_pipes_busy(shape, core):
    """Each sum is a register, those of the last columns and rows too."""
    if reason := mca.missing("llvm-mca-19"):
        pytest.skip(f"skipped: {reason}")
    core = CORES[core]
    loops = [loop for loop in mca.loops(mca.default_kernel(mca.matmul(*shape), core).source("asm")) if loop.fused > 0]
    assert [loop.instructions for loop in loops if loop.stack > 0] == []
    most = max(loop.fused for loop in loops)
    assert min(loop.rate(core.name) for loop in loops if loop.fused == most) >= 0.95 * core.pipes


@needs_llvm
@pytest.mark.parametrize("cpu", ["thunderx2t99", "thunderx3t110", "kryo", "carmel", "ampere1b", "apple-m1", "neoverse-v2"])
def test_sums_stay_in_registers_whatever_llvm_knows_of_the_core(cpu):
    """By its models of some it would load all vectors of a tile first."""
    bytes_by_bytes = ("uint8", "int8", "int32")
    for tensors in (mca.matmul(257, 513, 512), mca.matmul(256, 256, 256, ("float64",) * 3), mca.matmul(512, 512, 512, bytes_by_bytes)):
        loops = mca.loops(tw.build(tensors, target=f"llvm -mtriple=aarch64-linux-gnu -mcpu={cpu}").source("asm"))
        assert loops and [loop.instructions for loop in loops if loop.stack > 0] == []


@needs_llvm
@pytest.mark.parametrize("core", CORES)
def test_three_channels_keep_the_pipes_busy(core):
    """No quad of neighbours is a register of factors."""
    if reason := mca.missing("llvm-mca-19"):
        pytest.skip(f"skipped: {reason}")
    core = CORES[core]
    loop = mca.inner_loop(mca.default_kernel(mca.conv2d(3, 64, 112, 7, 2, 3), core).source("asm"))
    assert loop.fused >= 48 and loop.stack == 0
    assert loop.rate(core.name) >= 0.95 * core.pipes


@needs_llvm
@pytest.mark.parametrize("cpu", ["cortex-a78", "neoverse-n2", "neoverse-v1", "neoverse-v2", "apple-m1"])
def test_halves_are_converted_by_four(cpu):
    """The terms of a row are neighbours: a load and a conversion for four of them, whose lanes are factors."""
    loop = mca.inner_loop(mca.default_kernel(mca.matmul(128, 128, 128, ("float16", "float16", "float32")), mca.Core(cpu, 1)).source("asm"))
    assert loop.fused >= 64 and loop.stack == 0
    assert loop.count(r"^fcvt\s+[sd]|^ld1rh") == 0
    assert len(loop.instructions) <= 1.75 * loop.fused


@needs_llvm
@pytest.mark.parametrize("name", mca.DOTS)
def test_the_pipes_are_busy_with_dot_products(name):
    if reason := mca.missing("llvm-mca-19"):
        pytest.skip(f"skipped: {reason}")
    loop, (core, _) = mca.dot_loop(name), mca.DOTS[name]
    assert loop.count(r"^\w*(dot|mmla)\s") == loop.fused >= 48
    assert loop.stack == 0
    assert loop.rate(core.name) >= 0.95 * core.pipes


@needs_llvm
@pytest.mark.parametrize("core", CORES)
def test_few_instructions_surround_the_products(core):
    if reason := mca.missing("qemu-aarch64", "aarch64-linux-gnu-gcc"):
        pytest.skip(f"skipped: {reason}")
    lanes = tw.Target(CORES[core].target).vector_bits // 32
    every, fused = mca.executed(257, 513, 512, CORES[core])
    assert 257 * 512 * 512 / lanes <= fused <= 257 * 513 * 512 / lanes * 1.05
    assert every <= (1.45 if CORES[core].sve_bits else 1.35) * fused  # SVE has no load of two registers
