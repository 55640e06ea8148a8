"""What explain() says of a device, loop by loop: tests/python/test_warp_products.py and others have what stages and launches take."""

import pytest

import tensorwright as tw
from tensorwright import te

TARGET = "cuda -arch=sm_90a"


@pytest.fixture(scope="module")
def told():
    """A product of 128 x 128 x 64 in blocks of 32 x 32, of whose operands one lies transposed: its columns share a bank."""
    A, B, k = te.placeholder((64, 128), name="A"), te.placeholder((64, 128), name="B"), te.reduce_axis((0, 64), name="k")
    C = te.compute((128, 128), lambda i, j: te.sum(A[k, i] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    AS, BS, CL = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C]), s.cache_write(C, "local")
    io, jo, i, j = s[C].tile(*C.op.axis, 32, 32)
    for axis, index in ((io, "blockIdx.y"), (jo, "blockIdx.x"), (i, "threadIdx.y"), (j, "threadIdx.x")):
        s[C].bind(axis, te.thread_axis(index))
    s[CL].compute_at(s[C], j)
    ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=16)
    s[CL].reorder(ko, ki, *s[CL].op.axis)
    for operand in (AS, BS):
        s[operand].compute_at(s[CL], ko)
    return s.explain(TARGET)


def loops(told, stage):
    nest = next(nest for nest in told.nests if nest.headline.startswith(stage + ":"))
    return {loop.name: loop.inside for loop in nest.loops}


def test_a_loop_has_what_is_computed_inside_of_it(told):
    launch, product, result = told.launches[0], loops(told, "C.local"), loops(told, "C")
    copies = [loops(told, stage)["ax0"] for stage in ("A.shared", "B.shared")]
    for term, seconds in product["k.o"].seconds.items():
        assert seconds == pytest.approx(product["k.i"].seconds[term] + sum(copy.seconds[term] for copy in copies))
    assert product["k.o"].wavefronts == pytest.approx(product["k.i"].wavefronts + sum(copy.wavefronts for copy in copies))
    assert product["k.i"].seconds["L2"] == 0 < product["k.o"].seconds["L2"]
    for term, seconds in launch.seconds.items():
        assert result["i.o"].seconds[term] == pytest.approx(seconds)
    assert result["i.o"].bound == launch.bound
    assert all(loop.seconds[loop.bound] == max(loop.seconds.values()) for loop in (*product.values(), *result.values()))


def test_the_page_has_a_row_for_each(told):
    head = next(line.split("  ") for line in str(told).splitlines() if "wavefronts" in line and "bound" in line)
    titles = ["loop", "kind", "extent", "touches", "reuse", "issue", "shared memory", "wavefronts", "L2", "HBM", "bound"]
    assert [word.strip() for word in head if word.strip()] == titles
    row = next(line for line in str(told).splitlines() if line.split()[:1] == ["k.o"])
    assert "for reduction" in row and row.endswith(loops(told, "C.local")["k.o"].bound)


def test_a_cpu_has_none(told):
    A = te.placeholder((64,), name="A")
    nests = te.create_schedule(te.compute((64,), lambda i: A[i] + 1, name="B")).explain("llvm").nests
    assert [loop.inside for loop in nests[0].loops] == [None]


def test_a_launch_that_nothing_holds_has_no_times():
    """Of 1024 threads with 128 registers each a processor has half."""
    A = te.placeholder((1024, 512), name="A")
    B = te.compute((1024, 512), lambda i, j: A[i, j] + 1, name="B")
    s = te.create_schedule(B)
    BL = s.cache_write(B, "local")
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    s[BL].compute_at(s[B], B.op.axis[0])
    told = s.explain(TARGET)
    assert told.launches[0].resident == 0 and all(loop.inside is None for nest in told.nests for loop in nest.loops)
    assert "no processor holds one of its blocks" in str(told)
