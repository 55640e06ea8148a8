"""Schedules as Python programs use them: names, values, errors with the user's line, JSON, results."""

import copy
import inspect
import json
import pickle

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te


def matmul(m=12, n=32, k=8):
    A = te.placeholder((m, k), name="A")
    B = te.placeholder((k, n), name="B")
    axis = te.reduce_axis((0, k), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, axis] * B[axis, j], axis=axis), name="C")
    return A, B, C, axis


def check_matmul(s, A, B, C):
    f = tw.build(s, [A, B, C])
    a = np.random.default_rng(0).integers(-3, 4, A.shape).astype("float32")
    b = np.random.default_rng(1).integers(-3, 4, B.shape).astype("float32")
    c = np.zeros(C.shape, "float32")
    f(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_a_tile_by_hand_gives_the_product():
    A, B, C, k = matmul(13, 35, 9)
    s = te.create_schedule(C)
    CL = s.cache_write(C, "local")
    io, jo, ii, ji = s[C].tile(*C.op.axis, 6, 16)
    s[C].parallel(io)
    s[C].vectorize(ji)
    s[CL].compute_at(s[C], jo)
    ci, cj = s[CL].op.axis
    (ck,) = s[CL].op.reduce_axis
    s[CL].reorder(ck, ci, cj)
    s[CL].unroll(ci)
    s[CL].vectorize(cj)
    BL = s.cache_read(B, "local", [CL])
    s[BL].compute_at(s[C], jo)
    check_matmul(s, A, B, C)
    assert [axis.name for axis in s[C].leaf_iter_vars] == ["i.o", "j.o", "i.i", "j.i"]
    assert (io.extent, ji.extent, io.reduction, ji.stage) == (3, 16, False, "C")


def test_a_schedule_is_built_scheduled_further_and_built_again():
    A, B, C, k = matmul()
    s = te.create_schedule(C)
    check_matmul(s, A, B, C)
    s[C].split(k, 3)
    check_matmul(s, A, B, C)
    s[C].vectorize(C.op.axis[1])
    with pytest.raises(tw.ScheduleError):
        s[C].vectorize(k)
    check_matmul(s, A, B, C)


def test_axes_and_ops_stay_valid_after_cache_write():
    A, B, C, k = matmul()
    s = te.create_schedule([C.op])
    CL = s.cache_write(C, "local")
    i, j = C.op.axis
    s[C.op].split(i, 4)
    s[CL].split(k, 4)
    s[CL.op].split(i, 5)
    assert [axis.name for axis in s[CL].leaf_iter_vars] == ["i.o", "i.i", "j", "k.o", "k.i"]
    with pytest.raises(tw.ScheduleError, match="not k of stage C.local"):
        s[C].split(k, 4)
    check_matmul(s, A, B, C)


def test_placement_is_judged_on_the_whole_nest():
    A = te.placeholder((64,), name="A")
    P = te.compute((64,), lambda i: A[i] * 2, name="P")
    Q = te.compute((64,), lambda i: P[i] + 3, name="Q")
    C = te.compute((64,), lambda i: Q[i] * 2, name="C")
    s = te.create_schedule(C)
    s[P].compute_at(s[C], C.op.axis[0])
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(tw.ScheduleError) as info:
        s.check()
    assert info.value.line == line and info.value.file == __file__
    assert "s[P].compute_at(s[C], C.op.axis[0])" in str(info.value)
    with pytest.raises(tw.ScheduleError):
        tw.build(s, [A, C])
    s[Q].compute_at(s[C], C.op.axis[0])
    s.check()


def test_intermediates_are_written_out():
    A = te.placeholder((10,), name="A")
    P = te.compute((10,), lambda i: A[i] * 2, name="P")
    C = te.compute((10,), lambda i: P[i] + 1, name="C")
    s = te.create_schedule(C)
    for inside in (False, True):
        if inside:
            outer, inner = s[C].split(C.op.axis[0], 4)
            s[P].compute_at(s[C], outer)
        f = tw.build(s, [A, P, C])
        a, p, c = np.arange(10, dtype="float32"), np.zeros(10, "float32"), np.zeros(10, "float32")
        f(a, p, c)
        np.testing.assert_array_equal(p, a * 2)
        np.testing.assert_array_equal(c, a * 2 + 1)


def test_steps_round_trip_through_json():
    A, B, C, k = matmul()
    s = te.create_schedule(C)
    s.cache_write(C, "local")
    s[C].tile(*C.op.axis, 5, 16, tail="peel")
    text = json.dumps(s.steps)
    for again in (tw.Schedule.from_steps(C, text), tw.Schedule.from_steps([C], json.loads(text)), s.copy(), copy.deepcopy(s)):
        assert again.steps == s.steps and str(again) == str(s)
    assert [str(step) for step in s.steps] == ["C.cache_write(local)", "C.tile(i, j, 5, 16, tail=peel)"]
    with pytest.raises(tw.ParseError):
        tw.Schedule.from_steps(C, "not json")
    with pytest.raises(tw.ScheduleError, match="not D"):
        tw.Schedule.from_steps(C, [["unroll", "D", "i"]])


def test_copies_are_independent():
    A, B, C, k = matmul()
    s = te.create_schedule(C)
    other = s.copy()
    other[C].fuse(*C.op.axis)
    assert s.steps == [] and len(other.steps) == 1


def test_factors_may_refer_to_knobs():
    A, B, C, k = matmul()
    s = te.create_schedule(C)
    s[C].split(C.op.axis[0], tw._core.Factor("tile_i", 1, 4))
    assert s.steps == [["split", "C", "i", {"knob": "tile_i", "part": 1, "value": 4}, None, "auto"]]
    assert s[C].leaf_iter_vars[1].extent == 4


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0]])
def test_loops_are_fused_as_they_stand(order):
    A = te.placeholder((4, 5, 6), name="A")
    C = te.compute((4, 5, 6), lambda i, j, k: A[i, j, k] + 1, name="C")
    s = te.create_schedule(C)
    assert s[C].fuse(*[C.op.axis[n] for n in order]).name == "i*j*k"
    with pytest.raises(tw.ScheduleError, match="directly inside each other; k is not"):
        te.create_schedule(C)[C].fuse(C.op.axis[0], C.op.axis[2], C.op.axis[1])


def _refused():
    A, B, C, k = matmul()
    s = te.create_schedule(C)
    i, j = C.op.axis
    other = te.create_schedule(matmul()[2])
    return {
        "factor must be a positive integer, not 0": lambda: s[C].split(i, 0),
        "factor must be a positive integer, not -4": lambda: s[C].split(i, -4),
        "factor must be a positive integer, not 2.5": lambda: s[C].split(i, 2.5),
        "factor must be a positive integer, not True": lambda: s[C].split(i, True),
        "factor must be a positive integer, not '4'": lambda: s[C].split(i, "4"),
        "not neither": lambda: s[C].split(i),
        "not both": lambda: s[C].split(i, 4, nparts=3),
        "tail must be auto, guard, mask, peel, pad or shift_inward, not maks": lambda: s[C].split(i, 5, tail="maks"),
        "tail must be a string, not None": lambda: s[C].split(i, 5, tail=None),
        "y_factor must be a positive integer, not None": lambda: s[C].tile(i, j, 4, None),
        "x and y must be two loops": lambda: s[C].tile(i, i, 4, 4),
        "axis must be a loop of stage C, not x": lambda: s[C].split("x", 4),
        "axis must be an axis of stage C, not 7": lambda: s[C].fuse(i, 7),
        "axes must be different loops, not i twice": lambda: s[C].reorder(i, j, i),
        "must be all data axes or all reduction axes": lambda: s[C].fuse(j, k),
        "not directly|directly inside each other": lambda: s[C].fuse(i, k),
        "not i of another schedule": lambda: s[C].split(matmul()[2].op.axis[0], 4),
        "a data axis, not the reduction axis k": lambda: s[C].parallel(k),
        "not the placeholder A": lambda: s[A].split("i", 4),
        "tensor must be part of the schedule; A is not": lambda: s[te.placeholder((3,), name="A")],
        "a stage is named by a tensor or an operation, not 3": lambda: s[3],
        "stage must be one of A, B, C, not D": lambda: s["D"],
        "scope must be local, warp, shared or global, not texture": lambda: s.cache_read(A, "texture", [C]),
        "keeps its fragments in registers by itself": lambda: s[C].set_scope("wmma.matrix_a"),
        "scope must be a string, not 3": lambda: s[C].set_scope(3),
        "readers must be stages that read A; B doesn't": lambda: s.cache_read(A, "local", [B]),
        "key must be auto_unroll_max_step or unroll_explicit, not unroll": lambda: s[C].pragma(i, "unroll"),
        "parent must be another stage": lambda: s[C].compute_at(s[C], i),
        "stage must be one of this schedule, not C of another one": lambda: s[B].compute_at(s.copy()[C], i),
        "stage must not be an output": lambda: s[C].compute_inline(),
        "outputs must be tensors or operations, not 3": lambda: te.create_schedule(3),
        "outputs must name at least one tensor": lambda: te.create_schedule([]),
        "not i.o of stage D": lambda: s[C].vectorize(tw.schedule.Axis(_with_split(), "D", "i.o")),
    }


def _with_split():
    A = te.placeholder((8,), name="A")
    s = te.create_schedule(te.compute((8,), lambda i: A[i] + 1, name="D"))
    s["D"].split("i", 2)
    return s


@pytest.mark.parametrize("rule", list(_refused()))
def test_refusals_name_the_rule_and_the_line(rule):
    with pytest.raises(tw.ScheduleError, match=rule) as info:
        _refused()[rule]()
    assert isinstance(info.value, ValueError)
    assert info.value.file == __file__ and info.value.line > 0


def test_a_refused_step_leaves_the_schedule_as_it_was():
    A, B, C, k = matmul()
    s = te.create_schedule(C)
    s[C].split(C.op.axis[0], 5)
    before = str(s), s.steps
    for bad in (lambda: s[C].tile("j", "k", 4, 0), lambda: s[C].fuse("i.o", "i.i", "k"), lambda: s.cache_read(A, "local", [C, B])):
        with pytest.raises(tw.ScheduleError):
            bad()
        assert (str(s), s.steps) == before
    for bad in (lambda: s[C].parallel(k, chunk=4), lambda: s[C].env_threads(3), lambda: s[C].env_threads(["threadIdx.x", "nowhere"])):
        with pytest.raises(tw.ScheduleError):
            bad()
        assert (str(s), s.steps) == before


@pytest.mark.parametrize("names", [("s", "C"), ("A", "te"), ("lambda", "import"), ("tw", "np")])
def test_code_for_tensors_that_are_called_as_words(names):
    A = te.placeholder((12, 8), name=names[0])
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((12,), lambda i: te.sum(A[i, k], axis=k), name=names[1])
    s = te.create_schedule(C)
    s[C].split(C.op.axis[0], factor=4)
    s.cache_read(A, "local", [C])
    made = {"te": te, "tw": tw, names[0]: A, names[1]: C, f"{names[0]}_": A, f"{names[1]}_": C}
    made.update(te=te, tw=tw)
    exec(s.to_python(), made)
    assert made["s"].steps == s.steps


def test_a_wrong_call_names_the_class_that_users_know():
    _, _, C, _ = matmul()
    s = te.create_schedule(C)
    with pytest.raises(TypeError, match=r"^Stage\.tile\(\) missing 1 required positional argument"):
        s[C].tile(*C.op.axis, 4)
    assert pickle.loads(pickle.dumps(tw.schedule.Stage.tile)) is type(s[C]).tile


def test_disable_predication_computes_whole_parts():
    A = te.placeholder((30, 10), name="A")
    B = te.compute((30, 10), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((30, 10), lambda i, j: B[29 - i, j] * 2, name="C")
    a = np.arange(300, dtype="float32").reshape(30, 10)
    for first in (True, False):
        s = te.create_schedule(C)
        if first:
            s[B].disable_predication()
        io, ii = s[B].split(B.op.axis[0], 16)
        jo, ji = s[B].split(B.op.axis[1], 5)
        if not first:
            s[B].disable_predication()
        assert [step[5] for step in s.steps] == ["pad", "auto"]
        assert "if " not in str(tw.lower(s, [A, C]))
        c = np.zeros_like(a)
        tw.build(s.copy(), [A, C], target="interp")(a, c)
        np.testing.assert_array_equal(c, (a[::-1] + 1) * 2)
    with pytest.raises(tw.ScheduleError, match="pad"):
        s.copy()[B].tile(ii, ji, 3, 5)
    assert len(s.steps) == 2


def test_split_takes_the_word_for_whole_parts():
    A = te.placeholder((30,), name="A")
    B = te.compute((30,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(te.compute((30,), lambda i: B[i] * 2, name="C"))
    s[B].split(B.op.axis[0], 16, disable_predication=True)
    assert str(s.steps[0]) == "B.split(i, factor=16, tail=pad)"
    with pytest.raises(tw.ScheduleError, match="tail must be left out beside disable_predication, not 'mask'"):
        s[B].split(s[B].leaf_iter_vars[1], 4, disable_predication=True, tail="mask")
    s[B].split(s[B].leaf_iter_vars[1], 4, disable_predication=False)


def test_disable_predication_is_refused_where_memory_is_the_callers():
    A = te.placeholder((30,), name="A")
    C = te.compute((30,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C)
    s[C].split(C.op.axis[0], 16)
    with pytest.raises(tw.ScheduleError, match="disable_predication: stage must not be an output, as C is") as error:
        s[C].disable_predication()
    assert error.value.file == __file__ and s.steps[0][5] == "auto"
