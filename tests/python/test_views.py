"""Other views of a schedule: s.explain(), s.to_python(), and the pages that are written from docstrings."""

import json
import pathlib
import re
import runpy
import subprocess

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUZZ = pathlib.Path(tw.__path__[0]).resolve().parents[1] / "tests/tw-fuzz"


def matmul(m=256, n=256, k=256):
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    kk = te.reduce_axis((0, k), name="k")
    return A, B, te.compute((m, n), lambda i, j: te.sum(A[i, kk] * B[kk, j], axis=kk), name="C")


def tiled(C):
    s = te.create_schedule(C)
    (k,) = C.op.reduce_axis
    io, jo, ii, ji = s[C].tile(*C.op.axis, 4, 64)
    s[C].reorder(io, jo, k, ii, ji)
    s[C].unroll(ii)
    s[C].vectorize(ji)
    return s


# ---------------------------------------------------------------------------------------------------------------- explain


def test_explain_has_a_row_for_each_loop_and_prints():
    A, B, C = matmul()
    all = tiled(C).explain("llvm -mcpu=x86-64-v3" if tw.Target.host().kind == "llvm" else "interp")
    (nest,) = all.nests
    assert [loop.name for loop in nest.loops] == ["i.o", "j.o", "k", "i.i", "j.i"]
    assert [loop.kind for loop in nest.loops] == ["for", "for", "for reduction", "unrolled", "vectorized"]
    assert nest.loops[0].bytes == 3 * 256 * 256 * 4
    assert nest.operations == 2 * 256**3
    assert set(nest.seconds) == {"compute", "L1", "L2", "L3", "DRAM"} and set(nest.moved) == set(nest.seconds) - {"compute"}
    assert nest.seconds[nest.bound] == max(nest.seconds.values())
    assert "bound" in str(all) and repr(all) == str(all)


def test_explain_tells_tiles_from_plain_loops():
    A, B, C = matmul(1024, 1024, 1024)
    target = "llvm -mcpu=x86-64-v4" if tw.Target.host().kind == "llvm" else "interp"
    plain, good = (s.explain(target).nests[0] for s in (te.create_schedule(C), tiled(C)))
    assert good.seconds["compute"] == plain.seconds["compute"] and good.chains == plain.chains == 16  # lowering gave the plain ones lanes
    assert good.moved["L2"] < plain.moved["L2"] / 8
    assert max(good.seconds.values()) < max(plain.seconds.values()) / 8


def test_explain_counts_work_that_is_done_again_and_in_parallel():
    A = te.placeholder((64, 64), name="A")
    P = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="P")
    C = te.compute((62, 64), lambda i, j: P[i, j] + P[i + 2, j], name="C")
    s = te.create_schedule(C)
    s[P].compute_at(s[C], s[C].op.axis[0])
    once = te.create_schedule(C).explain().nests[0]
    again = s.explain().nests[0]
    assert (once.runs, again.runs) == (1, 62)
    assert again.operations == 62 * 3 * 64 and once.operations == 64 * 64
    assert "at C's loop i" in again.headline
    s[C].parallel(s[C].op.axis[0])
    before = tw.num_threads()
    tw.set_num_threads(2)
    try:
        assert s.explain().nests[1].cores == 2
    finally:
        tw.set_num_threads(before)


def test_explain_reads_inlined_definitions_as_the_readers():
    A = te.placeholder((4096,), name="A")
    P = te.compute((4096,), lambda i: A[i] * 2.0, name="P")
    C = te.compute((4096,), lambda i: P[i] + 1.0, name="C")
    s = te.create_schedule(C)
    s[P].compute_inline()
    (nest,) = s.explain().nests
    assert nest.operations == 2 * 4096 and nest.loops[0].bytes == 2 * 4096 * 4


def test_explain_takes_symbolic_extents_as_1024():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[i] * 2.0, name="C")
    s = te.create_schedule(C)
    s[C].split(C.op.axis[0], factor=16)
    assert [loop.extent for loop in s.explain().nests[0].loops] == [64, 16]
    assert "symbolic extents are taken as 1024" in str(s.explain())
    assert run(s.to_python(), C=C).steps == s.steps


def test_explain_refuses_an_unknown_target():
    A, B, C = matmul(4, 4, 4)
    with pytest.raises(tw.TargetError):
        te.create_schedule(C).explain("nonsense")


# -------------------------------------------------------------------------------------------------------------- to_python


def run(text, **names):
    scope = {"te": te, "tw": tw, "np": np, **names}
    exec(text, scope)
    return scope["s"]


def test_to_python_writes_conditions_over_the_definition():
    A = te.placeholder((8, 6), name="A")
    B = te.compute((8, 6), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((8, 4), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C)
    s[B].transform_layout(lambda i, j: [j // 2, j % 2, i])  # returns loops, of which one is called i
    s[B].set_store_predicate(s[B].op.axis[1] < 5)
    s[B].set_scope("local")
    assert run(s.to_python(), C=C, B=B).steps == s.steps


def test_to_python_names_variables_after_axes():
    A, B, C = matmul()
    s = te.create_schedule(C)
    BB = s.cache_read(B, "global", [C])
    i, j = s[C].op.axis
    (k,) = s[C].op.reduce_axis
    io, ii = s[C].split(i, factor=16, tail="mask")
    f = s[C].fuse(io, ii)
    ko, ki = s[C].split(k, nparts=4)
    s[C].reorder(ko, f, ki, j)
    s[BB].compute_at(s[C], ko)
    s[C].pragma(j, "auto_unroll_max_step", 16)
    assert s.to_python() == """\
s = te.create_schedule(C)
B_global = s.cache_read(B, "global", [C])
i, j = s[C].op.axis
io, ii = s[C].split(i, factor=16, tail="mask")
ioii = s[C].fuse(io, ii)
(k,) = s[C].op.reduce_axis
ko, ki = s[C].split(k, nparts=4)
s[C].reorder(ko, ioii, ki, j)
s[B_global].compute_at(s[C], ko)
s[C].pragma(j, "auto_unroll_max_step", 16)
"""
    assert run(s.to_python(), B=B, C=C).steps == s.steps


def test_to_python_gives_no_axis_a_name_that_is_taken():
    A = te.placeholder((8, 8), name="A")
    i = te.compute((8, 8), lambda i, f: A[i, f] + 1.0, name="i")
    s = te.create_schedule(i)
    outer, f = s[i].op.axis
    s[i].unroll(s[i].fuse(outer, f))
    assert s.to_python() == """\
s = te.create_schedule(i)
i_i, f = s[i].op.axis
i_if = s[i].fuse(i_i, f)
s[i].unroll(i_if)
"""
    assert run(s.to_python(), i=i).steps == s.steps


def test_to_python_with_several_outputs_and_stages_of_one_name():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule([B, C])
    s[B].split(s[B].op.axis[0], 4)
    s[C].split(s[C].op.axis[0], 2)
    assert run(s.to_python(), B=B, C=C).steps == s.steps


@pytest.mark.skipif(not FUZZ.exists(), reason="built without tests: no tw-fuzz")
def test_random_schedules_come_back_from_their_python():
    printed = subprocess.run([FUZZ, "--schedules", "--pairs", "400", "--seed", "11"], capture_output=True, text=True, check=True)
    samples = [json.loads(line) for line in printed.stdout.splitlines()]
    assert len(samples) == 400
    for sample in samples:
        s = run("outputs = None\n" + sample["te"] + "\n" + sample["schedule"])
        steps = re.sub("@[0-9a-f]{12}", "", json.dumps(s.steps))  # Steps name an intrinsic by its key
        assert json.loads(steps) == sample["steps"], sample["te"] + sample["schedule"]


# ------------------------------------------------------------------------------------------------------------------- docs


def test_the_page_of_schedules_is_fresh():
    page = runpy.run_path(str(ROOT / "docs/generate.py"))["page"]()
    assert (ROOT / "docs/schedule.md").read_text() == page, "docs/schedule.md is stale: ./dev docs"


def test_the_page_shows_loops_before_and_after_and_refusals():
    generate = runpy.run_path(str(ROOT / "docs/generate.py"))
    for call, method in generate["primitives"]():
        if method.__name__ in ("create_group", "normalize"):  # no Steps of their own
            continue
        text = " ".join(method.__doc__.split())
        assert "Before ``" in text and "; after" in text and "Raises: " in text and ">>> " in text, call
