"""What a user could type by mistake: each gets a typed error that names the rule and the user's own line; nothing is lost."""

import json
import linecache
import os
import subprocess
import sys

import numpy as np
import pytest
from programs import HAS_LLVM, needs_llvm

import tensorwright as tw
from tensorwright import te


def program(n=70, m=33):
    A, B = te.placeholder((n, m), name="A"), te.placeholder((m, n), name="B")
    k = te.reduce_axis((0, m), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((n, n), lambda i, j: te.max(C[i, j], 0.0), name="D")
    return {"A": A, "B": B, "k": k, "C": C, "D": D, "s": te.create_schedule(D), "te": te, "tw": tw, "np": np}


def message_of(code, kind, names):
    """The message of the error that a cell with this code raises; its first line must name the cell."""
    cell = "<ipython-input-7-0123456789ab>"
    linecache.cache[cell] = (len(code), None, [code + "\n"], cell)
    with pytest.raises(kind) as error:
        exec(compile(code, cell, "exec"), names)
    assert isinstance(error.value, tw.Error) and not isinstance(error.value, tw.InternalError)
    lines = str(error.value).split("\n")
    assert lines[0].startswith(f"{cell}:1: ") and lines[1].strip() == code
    return str(error.value)


EXPRESSIONS = [
    ("te.placeholder((-3,))", ValueError, ["the extent of dimension 0", "negative", "-3"]),
    ("te.placeholder((3.5,))", TypeError, ["integer", "3.5"]),
    ("te.placeholder('abc')", TypeError, ["extent", "str"]),
    ("te.placeholder((1,) * 17)", ValueError, ["16 dimensions", "17"]),
    ("te.placeholder((2**40, 2**40))", ValueError, ["2**56"]),
    ("te.placeholder((te.var('n') * 0.5,))", TypeError, ["must be an integer", "n"]),
    ("te.placeholder((3,), 'flaot32')", TypeError, ["did you mean float32"]),
    ("te.placeholder((3,), object)", TypeError, ["dtype", "object"]),
    ("te.placeholder((3, 4), strides=(1,))", ValueError, ["strides", "2 dimensions"]),
    ("te.placeholder((3, 4), strides=(-4, 1))", ValueError, ["strides", "-4"]),
    ("te.compute((3,), 3)", ValueError, ["function of the indices", "int"]),
    ("te.compute((3, 4), lambda i: i)", ValueError, ["2 indices", "1"]),
    ("te.compute((3,), lambda i: None)", TypeError, ["NoneType", "return"]),
    ("te.compute((3,), lambda i: np.ones(3))", TypeError, ["array", "te.placeholder"]),
    ("te.compute((70, 33), lambda i, j: A[i + 1, j])", ValueError, ["reads 70 of 0..70", "i = 69"]),
    ("te.compute((3,), lambda i: A[-1, i])", ValueError, ["negative", "-1", "70 - 1"]),
    ("te.compute((3,), lambda i: A[0:2, i])", ValueError, ["slice"]),
    ("te.compute((3,), lambda i: A[A, i])", TypeError, ["whole tensor A"]),
    ("te.compute((3,), lambda i: 1 if i < 3 else 2)", ValueError, ["te.if_then_else"]),
    ("te.compute((3,), lambda i: te.if_then_else(0 < i < 3, 1, 2))", ValueError, ["te.all"]),
    ("te.compute((3,), lambda i: max(i, 2))", ValueError, ["te.max"]),
    ("te.compute((3,), lambda i: 1 if i in [1, 2] else 0)", ValueError, ["truth value", "i == 1"]),
    ("te.compute((3,), lambda i: sorted([i, 2])[0])", ValueError, ["truth value"]),
    ("te.compute((3,), lambda i: A[i, 0] + 2**70)", TypeError, ["64 bits"]),
    ("te.compute((3,), lambda i: A[i, 0] % 2)", TypeError, ["integers", "float32"]),
    ("te.compute((3,), lambda i: A[i, 0] << 2)", TypeError, ["integers", "float32"]),
    ("te.compute((3,), lambda i: te.exp(A))", TypeError, ["whole tensor A"]),
    ("te.compute((3,), lambda i: te.sum(A[i, k], axis=k) + 1)", ValueError, ["whole value", "compute of its own"]),
    ("te.compute((3,), lambda i: A[i, k])", ValueError, ["undefined variable k"]),
    ("te.compute((3,), lambda i: te.sum(A[i, 0], axis=[]))", ValueError, ["at least one reduce axis"]),
    ("te.compute((3,), lambda i: te.if_then_else(A[i, 0], 1, 2))", TypeError, ["condition", "float32"]),
    ("te.compute((3,), lambda i: A[i, 0] * np.longdouble(2))", TypeError, ["64 bits", "longdouble"]),
    ("te.compute((3,), lambda i: np.longdouble(2) * A[i, 0])", TypeError, ["64 bits", "longdouble"]),
    ("te.const(np.longdouble(2), 'float32')", TypeError, ["64 bits", "longdouble"]),
    ("te.compute((3,), lambda i: A[i, 0] * 1j)", TypeError, ["complex"]),
    ("te.all()", ValueError, ["at least one condition"]),
    ("te.all(1, 2)", TypeError, ["bool", "int32"]),
    ("te.const(300, 'int8')", TypeError, ["int8", "300"]),
    ("te.const(float('nan'), 'int32')", TypeError, ["int32", "nan"]),
    ("te.const('a')", TypeError, ["number", "str"]),
    ("A[0, 0].astype(None)", TypeError, ["dtype", "None"]),
    ("te.max_value(None)", TypeError, ["dtype", "None"]),
    ("te.floormod(C.op.axis[0], 0)", ValueError, ["divisor", "0"]),
    ("te.reduce_axis((5, 0))", ValueError, ["end", "start", "5..0"]),
    ("te.reduce_axis(5)", ValueError, ["(start, end)", "5"]),
    ("te.thread_axis(None)", ValueError, ["tag", "threadIdx.x"]),
    ("te.thread_axis('threadIdx')", ValueError, ["threadIdx.x", "'threadIdx'"]),
    ("list(A)", TypeError, ["iterated"]),
]  # fmt: skip


@pytest.mark.parametrize("code, kind, words", EXPRESSIONS, ids=[c for c, _, _ in EXPRESSIONS])
def test_expressions(code, kind, words):
    message = message_of(code, kind, program())
    assert [w for w in words if w not in message] == []


STEPS = [
    ("s[C].split(C.op.axis[0], 0)", ["factor", "positive", "0", "stage C, axis i (0..70)"]),
    ("s[C].split(C.op.axis[0])", ["factor", "nparts", "neither"]),
    ("s[C].split(C.op.axis[0], 2, nparts=3)", ["factor", "nparts", "both"]),
    ("s[C].split(C.op.axis[0], 2.5)", ["factor", "2.5"]),
    ("s[C].split(C.op.axis[0], 2**62)", ["at most", "stage C"]),
    ("s[C].split(C.op.axis[0], 4, tail='bogus')", ["tail", "bogus", "peel"]),
    ("s[C].split(0, 4)", ["axis of stage C", "0"]),
    ("s[C].fuse(C.op.axis[0], k)", ["directly inside", "k"]),
    ("s[C].reorder(D.op.axis[0])", ["not i of stage D"]),
    ("s[C].reorder(C.op.axis[0], C.op.axis[0])", ["i twice"]),
    ("s[C].reorder([C.op.axis[1], C.op.axis[0]])", ["axis of stage C"]),
    ("s[C].tile(C.op.axis[0], C.op.axis[0], 4, 4)", ["two loops", "i twice"]),
    ("s[C].parallel(k)", ["data axis", "reduction axis k"]),
    ("s[C].compute_at(s[C], C.op.axis[0])", ["another stage"]),
    ("s[C].compute_at(s[D], C.op.axis[0])", ["loop of stage D"]),
    ("s[D].compute_at(s[C], C.op.axis[0])", ["output"]),
    ("s[A].compute_at(s[C], C.op.axis[0])", ["placeholder A", "cache_read"]),
    ("s[C].compute_inline()", ["reduction"]),
    ("s[D].compute_inline()", ["output"]),
    ("s[D].set_scope('local')", ["output", "global"]),
    ("s[C].pragma(C.op.axis[0], 'nonsense', 1)", ["auto_unroll_max_step", "nonsense"]),
    ("s[C].pragma(C.op.axis[0], 'auto_unroll_max_step', 10**9)", ["4096", "TW_MAX_UNROLL"]),
    ("s.cache_read(A, 'local', [])", ["readers", "A"]),
    ("s.cache_read(A, 'local', [D])", ["D doesn't", "read by C"]),
    ("s.cache_read(A, 'texture', [C])", ["local, warp, shared or global", "texture"]),
    ("s[C].bind(C.op.axis[0], 'threadIdx.w')", ["threadIdx.x", "threadIdx.w"]),
    ("s.cache_write(A, 'local')", ["placeholder A"]),
    ("s[te.placeholder((3,), name='Z')]", ["Z is not", "A, B, C, D"]),
    ("s[None]", ["None"]),
    ("te.create_schedule([])", ["at least one tensor"]),
]  # fmt: skip


@pytest.mark.parametrize("code, words", STEPS, ids=[c for c, _ in STEPS])
def test_steps(code, words):
    names = program()
    s = names["s"]
    before = str(s), s.steps
    message = message_of(code, tw.ScheduleError, names)
    assert [w for w in words if w not in message] == []
    assert (str(s), s.steps) == before


WHOLE = [
    (lambda s, C, D: (s[C].vectorize(C.op.axis[0]), s[C].vectorize(C.op.axis[1])), "the vectorized loop j"),
    (lambda s, C, D: (s[C].vectorize(C.op.axis[0]), s[C].parallel(C.op.axis[1])), "the parallel loop j"),
    (lambda s, C, D: s[C].split(C.op.reduce_axis[0], 4, tail="shift_inward"), "visits each value once"),
    (lambda s, C, D: s[D].parallel(s[D].split(D.op.axis[0], 16, tail="shift_inward")[0]), "shift_inward"),
    (lambda s, C, D: (s[C].unroll(C.op.axis[0]), s[C].unroll(C.op.axis[1])), "TW_MAX_UNROLL"),
]  # fmt: skip


@pytest.mark.parametrize("steps, message", WHOLE, ids=[m for _, m in WHOLE])
def test_nests(steps, message):
    names = program()
    with pytest.raises(tw.ScheduleError, match=message) as error:
        steps(names["s"], names["C"], names["D"])
        names["s"].check()
    assert error.value.file == __file__


@pytest.mark.parametrize("limit, code", [("TW_MAX_LANES", "vectorize"), ("TW_MAX_UNROLL", "unroll")])
def test_limits_name_the_way_to_lift_them(limit, code):
    Y = te.compute((1_000_000,), lambda i: i, name="Y")
    s = te.create_schedule(Y)
    with pytest.raises(tw.ScheduleError, match=limit):
        getattr(s[Y], code)(Y.op.axis[0])
        s.check()


@needs_llvm
@pytest.mark.parametrize("variable, value, parts", [
    ("TW_DUMP", "vectorise", ["TW_DUMP must be the name of a pass, or all, not 'vectorise'", "did you mean vectorize", "passes: accumulators, "]),
    ("TW_MAX_UNROLL", "abc", ["TW_MAX_UNROLL must be an integer from 1 to ", "not 'abc'", "unset, it is 4096"]),
    ("TW_MAX_UNROLL", "-3", ["TW_MAX_UNROLL must be an integer from 1 to ", "not '-3'"]),
    ("TW_MAX_LANES", "16x", ["TW_MAX_LANES must be an integer from 1 to 65535, not '16x'", "unset, it is 1024"]),
    ("TW_NUM_THREADS", "abc", ["TW_NUM_THREADS must be an integer from 1 to ", "not 'abc'", "is taken"]),
    ("TW_NUM_THREADS", "0", ["TW_NUM_THREADS must be an integer from 1 to ", "not '0'", "is taken"]),
])  # fmt: skip
def test_variables_of_the_environment(variable, value, parts):
    """An error, but for the number of threads: who only runs a kernel is told once."""
    script = """
import numpy as np, tensorwright as tw
from tensorwright import te
A = te.placeholder((64, 4), name="A")
B = te.compute((64, 4), lambda i, j: A[i, j] + 1, name="B")
s = te.create_schedule(B)
s[B].unroll(B.op.axis[0])
s[B].vectorize(B.op.axis[1])
f = tw.build(s, [A, B])
for _ in range(2):
    f(np.zeros((64, 4), "float32"), np.zeros((64, 4), "float32"))
    tw.num_threads()
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, variable: value})
    assert [part for part in parts if part not in run.stderr] == [], run.stderr
    assert run.stderr.count(variable) == 1 and "nternal" not in run.stderr
    assert run.returncode == (0 if variable == "TW_NUM_THREADS" else 1) and ("ArgumentError" in run.stderr) == (variable != "TW_NUM_THREADS")


def test_variables_that_are_empty_say_nothing():
    variables = {name: "" for name in ["TW_DUMP", "TW_MAX_UNROLL", "TW_MAX_LANES", "TW_NUM_THREADS"]}
    run = subprocess.run([sys.executable, "-c", "import tensorwright as tw; tw.num_threads()"], capture_output=True, text=True, env={**os.environ, **variables})
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    "steps",
    ["{", "3", "null", "[" * 100_000, [["nope", "C"]], [["split", "C"]], [["split", 3, 4, 5, 6, 7]], [["split", "C", "i", 4.5, None, "auto"]], {"a": 1},
     None, ...],
    ids=lambda s: str(s)[:40],
)  # fmt: skip
def test_text_that_is_no_steps(steps):
    with pytest.raises(tw.ParseError):
        tw.Schedule.from_steps(program()["D"], steps)


@pytest.mark.parametrize("steps, rule", [([["split", "Z", "i", 4, None, "auto"]], "A, B, C, D"), ([["split", "C", "i", -4, None, "auto"]], "positive")])
def test_steps_that_are_refused(steps, rule):
    with pytest.raises(tw.ScheduleError, match=rule):
        tw.Schedule.from_steps(program()["D"], json.dumps(steps))


CALLS = [
    ("f(a, b)", tw.ArgumentError, ["3 arguments (A, B, D)", "2"]),
    ("f(b, a, d)", tw.ArgumentError, ["argument 1 (A)", "(70, 33)", "order"]),
    ("f(a.astype('d'), b, d)", tw.DTypeError, ["argument 1 (A)", "float32", "float64"]),
    ("f(a[0], b, d)", tw.ArgumentError, ["rank", "(33,)"]),
    ("f(b.T, b, d)", tw.ArgumentError, ["compact", "strides"]),
    ("f(a, b, readonly)", tw.ArgumentError, ["argument 3 (D)", "read-only"]),
    ("f(big[:2310].reshape(70, 33), b, big[100:5000].reshape(70, 70))", tw.ArgumentError, ["share memory", "(A)"]),
    ("f(a.astype('>f4'), b, d)", tw.DTypeError, ["byte"]),
    ("f([1], b, d)", tw.ArgumentError, ["array", "list"]),
    ("f(None, b, d)", tw.ArgumentError, ["array", "NoneType"]),
    ("f(a, b, D=d)", tw.Error, ["positions"]),
    ("f.source('cuda')", tw.ArgumentError, ["llvm|for target c", "cuda"]),
    ("f.save('x.zip')", tw.ArgumentError, [".so", "x.zip"]),
    ("tw.load('/nonexistent.so')", tw.BuildError, ["/nonexistent.so"]),
    ("tw.build(s, [A, D])", tw.ArgumentError, ["B is missing"]),
    ("tw.build(s, [A, A, B, D])", tw.ArgumentError, ["A", "twice"]),
    ("tw.build([])", tw.ArgumentError, ["computed"]),
    ("tw.build('x')", tw.ArgumentError, ["schedule", "str"]),
    ("tw.build(s, [A, B, D], name='1 2')", tw.ArgumentError, ["identifier", "1 2"]),
    ("tw.build(s, [A, B, D], target='cuda')", tw.ScheduleError, ["bound to a device", "bind"]),
    ("tw.Target('lvm')", tw.TargetError, ["did you mean llvm"]),
    ("tw.Target(3)", tw.Error, ["int"]),
    ("f.time(a, b, d, number='x')", tw.ArgumentError, ["number"]),
    ("f.save(None)", tw.ArgumentError, ["path", "None"]),
    ("f.source(3)", tw.ArgumentError, ["kind", "3"]),
    ("tw.load(None)", tw.ArgumentError, ["path", "None"]),
    ("tw.set_num_threads('x')", tw.ArgumentError, ["integer", "'x'"]),
    ("tw.set_num_threads(0)", tw.Error, ["0"]),
    ("tw.set_num_threads(-1)", tw.Error, ["-1"]),
]  # fmt: skip


@pytest.mark.parametrize("code, kind, words", CALLS, ids=[c for c, _, _ in CALLS])
def test_calls(code, kind, words):
    names = program()
    A, B, D = names["A"], names["B"], names["D"]
    readonly = np.zeros((70, 70), "float32")
    readonly.flags.writeable = False
    names |= {
        "f": tw.build(names["s"], [A, B, D], name="dense"),
        "a": np.ones((70, 33), "float32"),
        "b": np.ones((33, 70), "float32"),
        "d": np.zeros((70, 70), "float32"),
        "big": np.zeros(70 * 103, "float32"),
        "readonly": readonly,
    }
    message = message_of(code, kind, names)
    assert [w for w in words if not any(part in message for part in w.split("|"))] == []


@needs_llvm
@pytest.mark.parametrize(
    "target, nearest",
    [("llvm -mcpu=zenver4", "znver4"), ("llvm -mattr=+avx513", "avx512f"), ("llvm -foo=3", "-mcpu="), ("llvm -mcpu=", "CPU|mcpu")],
)
def test_targets(target, nearest):
    with pytest.raises(tw.TargetError, match=nearest):
        tw.Target(target)


def test_a_program_on_the_command_line_names_its_line():
    code = "from tensorwright import te\n\nte.placeholder((-1,))\n"
    stderr = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert "ExprError: <string>:3: placeholder: the extent of dimension 0 must not be negative" in stderr


def test_an_error_of_the_users_own_comes_through():
    with pytest.raises(ZeroDivisionError):
        te.compute((3,), lambda i: 1 / 0)


# ------------------------------------------------------------------------------------------------ values, not declarations

TARGETS = ["interp"] + [pytest.param(t, marks=needs_llvm) for t in ("llvm", "llvm -mcpu=native")]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_division_by_zero_in_the_data_stops_nothing(dtype, target):
    A, B = te.placeholder((40,), dtype, name="A"), te.placeholder((40,), dtype, name="B")
    outs = [te.compute((40,), lambda i, f=f: f(A[i], B[i])) for f in (te.floordiv, te.floormod, te.truncdiv, te.truncmod)]
    a, b = np.full(40, np.iinfo(dtype).min, dtype), np.zeros(40, dtype)
    b[1::2] = np.iinfo(dtype).max if dtype[0] == "u" else -1
    for lanes in (False, True):
        s = te.create_schedule(outs)
        for t in outs if lanes else []:
            s[t].vectorize(s[t].split(t.op.axis[0], 8)[1])
        got = [np.full(40, 9, dtype) for _ in outs]
        tw.build(s, [A, B, *outs], target=target)(a, b, *got)
        assert [[g[0], g[1]] for g in got] == [[0, a[0] if dtype[0] != "u" else 0], [0, 0]] * 2


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("value", [9, -1, 10**9, -(10**9)])
@pytest.mark.parametrize("lanes", [False, True])
def test_subscripts_that_are_data_stay_inside(value, lanes, target):
    A, at = te.placeholder((9,), name="A"), te.placeholder((20,), "int32", name="at")
    C = te.compute((20,), lambda i: A[at[i]], name="C")
    s = te.create_schedule(C)
    if lanes:
        s[C].vectorize(s[C].split(C.op.axis[0], 8)[1])
    a, index, c = np.arange(9, dtype="float32"), np.full(20, value, "int32"), np.zeros(20, "float32")
    tw.build(s, [A, at, C], target=target)(a, index, c)
    assert (c == np.clip(value, 0, 8)).all()


def test_conversions_that_do_not_fit_are_the_same_everywhere():
    a = np.array([np.nan, np.inf, -np.inf, 1e30, -5, 300], "float32")
    A = te.placeholder(a.shape, name="A")
    outs = [te.compute(a.shape, lambda i, t=t: A[i].astype(t)) for t in ("int8", "uint8", "int32", "int64", "uint64")]
    results = []
    for target in ("interp", "llvm", "llvm -mcpu=native") if HAS_LLVM else ("interp",):
        got = [np.zeros(a.shape, t.dtype) for t in outs]
        tw.build([A, *outs], target=target)(a, *got)
        results.append([g.tolist() for g in got])
    assert all(r == results[0] for r in results)


def test_scratch_that_no_machine_has():
    T = te.compute((2**50,), lambda i: i * 1.0, name="T")
    C = te.compute((3,), lambda i: T[i] + T[2**50 - 1 - i], name="C")
    f = tw.build(te.create_schedule(C), [C], target=tw.Target.host())
    with pytest.raises(tw.Error, match="memory"):
        f(np.zeros(3, "float32"))


@pytest.mark.parametrize("name", ["", "a b", "é", "int", "1x", "a\nb", "*/", "args", '"', "%s"])
def test_any_name_of_a_tensor(name, tmp_path):
    A = te.placeholder((8,), name=name)
    B = te.compute((8,), lambda i: A[i] + 1, name=name)
    f = tw.build([A, B], name="k")
    b = np.zeros(8, "float32")
    f(np.ones(8, "float32"), b)
    assert (b == 2).all() and f.source("ir")
    if HAS_LLVM:
        f.save(str(tmp_path / "k.o"))
        (tmp_path / "m.c").write_text('#include "k.h"\nint main(void) { return 0; }\n')
        subprocess.run(["cc", "-Wall", "-Werror", tmp_path / "m.c", tmp_path / "k.o", "-o", tmp_path / "m"], check=True)


def test_a_target_whose_text_was_refused_can_be_shown():
    assert repr(tw.Target.__new__(tw.Target)) == "<Target that was not made>"


PATHS = {
    "tw.autotune.load_log(path)": tw.LogError,
    "tw.autotune.merge_logs(['x.jsonl'], path)": tw.LogError,
    "tw.autotune.report(path)": tw.LogError,
    "tw.autotune.tune([A, te.compute((3,), lambda i: A[i, 0])], log=path)": tw.LogError,
    "tw.autotune.pack([A, te.compute((3,), lambda i: A[i, 0])], path)": tw.ArgumentError,
    "tw.autotune.RPCRunner(boards=['127.0.0.1:1'], secret=path)": tw.ArgumentError,
    "tw.rpc.connect('127.0.0.1', 1, secret=path)": tw.ArgumentError,
    "tw.aot.freeze({'k': [A, B, D]}, targets='x86-64-v2', out=path)": tw.ArgumentError,
    "tw.aot.library(path, '.')": tw.ArgumentError,
}


@pytest.mark.parametrize("path, rule", [(3.5, "must be a path, not 3.5"), ("a\0b", "must be a path without a NUL character"), ("\udcff.x", r"must be a path of UTF-8, not '\udcff.x'")])
@pytest.mark.parametrize("code", PATHS)
def test_what_is_no_path(code, path, rule):
    assert rule in message_of(code, PATHS[code], {**program(), "path": path})


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(tw.BuildError, match="load: x.so is not a file"):
        tw.load("x.so")
    monkeypatch.undo()
