"""What programs written for tvm ask of te and of schedules besides computing: identity, numbers, whole tensors, labels, hints."""

import ctypes
import pickle

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te


def values(tensor, *inputs):
    out = np.empty([int(n) for n in tensor.shape], tensor.dtype)
    tw.build([*(t for t, _ in inputs), tensor], target="interp")(*(a for _, a in inputs), out)
    return out


def numbers(*shape, dtype="float32"):
    return np.random.default_rng(len(shape)).integers(1, 9, shape).astype(dtype)


@pytest.fixture
def product():
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((8, 10), name="B")
    k = te.reduce_axis((0, 8), name="k")
    return te.compute((6, 10), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")


# -------------------------------------------------------------------------------------------------------------- identity


def test_axes_of_the_definition_are_loops_until_they_are_split(product):
    s, (i, j), (k,) = te.create_schedule(product), product.op.axis, product.op.reduce_axis
    assert i in s[product].leaf_iter_vars and k in s[product].leaf_iter_vars
    assert s[product].leaf_iter_vars[1] == j and j == s[product].leaf_iter_vars[1] and i != s[product].leaf_iter_vars[1]
    io, ii = s[product].split(i, 4)
    leaves = s[product].leaf_iter_vars
    assert i not in leaves and io in leaves and leaves.index(ii) == 1 and i in s[product].all_iter_vars
    assert {io: "outer", j: "j"}[leaves[0]] == "outer" and {j: 1}[leaves[2]] == 1
    assert io != ii and io != i and not (io == "io") and io != 1


def test_loops_of_a_copy_are_the_same_loops(product):
    s = te.create_schedule(product)
    io, ii = s[product].split(product.op.axis[0], 4)
    assert io in s.copy()[product].leaf_iter_vars
    other = te.create_schedule(te.compute((6,), lambda i: i, name="C"))
    assert io not in other["C"].leaf_iter_vars and product.op.axis[0] not in other["C"].leaf_iter_vars


def test_var_of_a_loop(product):
    s = te.create_schedule(product)
    i = product.op.axis[0]
    assert s[product].leaf_iter_vars[0].var.same_as(i.var)
    io, ii = s[product].split(i, 4)
    assert io.var.name == "i.o" and io.var.same_as(s[product].leaf_iter_vars[0].var) and not io.var.same_as(ii.var)


def test_relations(product):
    s, (i, j) = te.create_schedule(product), product.op.axis
    assert s[product].relations == []
    io, ii = s[product].split(i, factor=4)
    jo, ji = s[product].split(j, nparts=2)
    s[product].reorder(io, jo, ii, ji)
    f = s[product].fuse(io, jo)
    first, second, third = s[product].relations
    assert (first.parent, first.outer, first.inner, first.factor, first.nparts) == (i, io, ii, 4, None)
    assert isinstance(second, tw.schedule.Split) and (second.factor, second.nparts) == (None, 2)
    assert isinstance(third, tw.schedule.Fuse) and (third.outer, third.inner, third.fused) == (io, jo, f)


def test_where_a_stage_stands():
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C)
    assert (s[B].attach_stage, s[B].attach_ivar, s[B].is_output, s[C].is_output) == (None, None, False, True)
    s[B].compute_at(s[C], C.op.axis[0])
    assert s[B].attach_stage == s[C] and s[B].attach_ivar == C.op.axis[0] and {s[C]: 1}[s[B].attach_stage] == 1


def test_equality_of_variables_outside_of_definitions():
    n, m = te.var("n"), te.var("m")
    assert n == n and n != m and not n == m and not n != n
    assert n in [m, n] and m not in [n, 16] and [16, n].index(n) == 1
    A = te.placeholder((n, 16, n * 2), name="A")
    assert A.shape[0] == n and A.shape[0].same_as(n) and {n: 1}[A.shape[0]] == 1 and n in A.shape
    assert A.shape[1] == 16 and A.shape[2] == n * 2 and A.shape[2] != n * 3
    C = te.compute((4, 4), lambda i, j: i + j)
    i, j = C.op.axis
    assert i.var == i.var and i.var != j.var and i == i.var and i.var in [j.var, i.var]


def test_equality_in_a_definition_is_a_comparison():
    n = te.var("n")
    T = te.compute((3, 3), lambda i, j: te.if_then_else(i == j, 1, 0))
    np.testing.assert_array_equal(values(T), np.eye(3))
    for mistake in (lambda i: 1 if i == n else 0, lambda i: 1 if i in [n, 2] else 0, lambda i: 1 if n == 16 else 0):
        with pytest.raises(tw.ExprError, match="no truth value"):
            te.compute((3,), mistake)
    with pytest.raises(tw.ExprError, match="no truth value"):
        bool(te.placeholder((), name="x")() == 1)
    assert str(n.equal(3)) == "n == 3" and str(T.op.axis[0].equal(0)) == "i == 0"


# --------------------------------------------------------------------------------------------------------------- numbers


def test_extents_have_a_value():
    A = te.placeholder((6, te.var("n")), name="A")
    assert (A.shape[0].value, A.shape[0].dtype, A.shape[0]) == (6, "int32", 6)
    assert (A.shape[0] * 2 - 1).value == 11 and (2 + A.shape[0] // 4).value == 3 and isinstance(A.shape[0], int)
    C = te.compute((6,), lambda i: i)
    assert (C.op.axis[0].dom.extent.value, C.op.axis[0].dom.min.value) == (6, 0)
    io, ii = te.create_schedule(C)[C].split(C.op.axis[0], 4)
    assert (io.extent.value, ii.extent.value) == (2, 4)
    assert type(pickle.loads(pickle.dumps(A.shape[0]))) is int and str(A.shape[:1]) == "(6,)"
    assert te.const(2.5).value == 2.5 and te.const(-3, "int8").value == -3 and te.const(True, "bool").value is True
    with pytest.raises(AttributeError, match="only a constant has one"):
        (te.var("n") + 1).value


def test_whole_floats_are_extents():
    N, bn = 1024, 32
    A = te.placeholder((N / bn, 2.0), name="A")
    k = te.reduce_axis((0, N / bn), name="k")
    assert A.shape == (32, 2) and k.dom.extent == 32
    assert te.compute((np.float32(4), N / bn), lambda i, j: A[j, 0] + i).shape == (4, 32)
    assert te.decl_buffer((8 / 2,)).shape == (4,) and te.placeholder((2.0**53,), name="A").shape == (2**53,)


@pytest.mark.parametrize("call, message", {
    lambda: te.placeholder((4, 32.5), name="A"): "placeholder A: the extent of dimension 1 must be an integer, not 32.5",
    lambda: te.compute((4, "8"), lambda i, j: i, name="C"): "compute C: the extent of dimension 1 must be an expression or a number, not str",
    lambda: te.placeholder((float("nan"),), name="A"): "the extent of dimension 0 must be an integer, not nan",
    lambda: te.compute((4,), lambda n: te.reduce_axis((0, te.const(0.5) * n), name="k")): "reduce_axis k: ends must be integers",
}.items())
def test_what_is_no_extent(call, message):
    with pytest.raises(tw.Error) as error:
        call()
    assert message in error.value.what and not any("n // 2" in note for note in error.value.notes)


def test_an_axis_is_no_extent():
    sizes = []
    te.compute((4,), lambda n: sizes.append(n) or n)
    with pytest.raises(tw.ExprError) as error:
        te.placeholder((sizes[0],), name="A")
    assert any(note.startswith("n is an axis: the index of a compute's function") for note in error.value.notes)


# --------------------------------------------------------------------------------------------------------- whole tensors


def test_operators_on_whole_tensors():
    a, b, c = numbers(4, 5), numbers(5), numbers(4, 1)
    A, B, C = (te.placeholder(x.shape, name=n) for n, x in zip("ABC", (a, b, c)))
    n = te.var("n", "float32")
    expected = {
        A + B: a + b, B - A: b - a, A * 2: a * 2, 2 * A: 2 * a, A / C: a / c, 1 / A: 1 / a, -A: -a, A**2: a**2, C * B: c * b,
        A < B: a < b, A >= 4: a >= 4, abs(B - 5): abs(b - 5), np.float32(3) * A: 3 * a, A + A: a + a, (A + B) * C: (a + b) * c,
    }
    for tensor, value in expected.items():
        used = [(t, x) for t, x in ((A, a), (B, b), (C, c)) if reads(tensor, t)]
        got = values(tensor, *used)
        assert got.dtype == value.dtype and got.shape == value.shape
        np.testing.assert_allclose(got, value, rtol=2e-7)
    assert (A + B).name == "T_add" and (A * n).shape == (4, 5) and (A == B) is False and (A != B) is True and A == A
    assert (A.astype("int8")).dtype == "int8" and (+A) is A


def reads(tensor, wanted):
    return tensor == wanted or any(reads(t, wanted) for t in tensor.op.input_tensors)


def test_integers_and_conditions_of_whole_tensors():
    a, b = numbers(6, dtype="int32"), numbers(6, dtype="int32")[::-1].copy()
    A, B = te.placeholder((6,), "int32", name="A"), te.placeholder((6,), "int32", name="B")
    for tensor, value in ((A // B, a // b), (A % B, a % b), (A & B, a & b), (A << 1, a << 1), (~A, ~a), ((A < B) & (B < 7), (a < b) & (b < 7))):
        np.testing.assert_array_equal(values(tensor, *[(t, x) for t, x in ((A, a), (B, b)) if reads(tensor, t)]), value)


def test_tensors_of_rank_0_are_tensors_outside_and_values_inside():
    x = te.placeholder((), name="x")
    assert isinstance(x + 1, te.Tensor) and (x + 1).shape == () and isinstance(x[()] + 1, te.Expr)
    T = te.compute((3,), lambda i: x + i)
    assert str(T.op.body[0]) == "x[] + float32(i)" or "x[]" in str(T.op.body[0])


def test_symbolic_extents_of_whole_tensors():
    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n, m), name="A"), te.placeholder((m,), name="B")
    f = tw.build([A, B, A + B], target="interp")
    a, b, out = numbers(3, 4), numbers(4), np.zeros((3, 4), "float32")
    f(a, b, out)
    np.testing.assert_array_equal(out, a + b)
    with pytest.raises(tw.ExprError, match="shapes must agree, or be 1 to be repeated, not m and n"):
        A + te.placeholder((n,), name="C")


def test_whole_tensors_that_do_not_fit():
    A, B = te.placeholder((4, 5), name="A"), te.placeholder((4,), name="B")
    with pytest.raises(tw.ExprError) as error:
        A + B
    assert error.value.file == __file__ and "add: shapes must agree" in error.value.what
    with pytest.raises(tw.DTypeError, match="must be a value, not the whole tensor A"):
        te.compute((4,), lambda i: A + i)
    with pytest.raises(tw.DTypeError, match="array"):
        A + np.ones((4, 5), "float32")


# ---------------------------------------------------------------------------------------------------------------- labels


def test_tags():
    A = te.placeholder((4,), name="A")
    with te.tag_scope(tag="outer"):
        B = te.compute((4,), lambda i: A[i] + 1, name="B")

    @te.tag_scope("conv")
    def twice(x):
        return te.compute((4,), lambda i: x[i] * 2, name="C", attrs={"stride": 2, "layout": "NC"})

    C = twice(B)
    D = te.compute((4,), lambda i: C[i], tag="copy")
    assert [t.op.tag for t in (A, B, C, D)] == ["", "outer", "conv", "copy"]
    assert C.op.attrs == {"stride": 2, "layout": "NC"} and D.op.attrs == {} and twice(B).op.tag == "conv"
    with te.tag_scope("a"), pytest.raises(ValueError, match="inside another"):
        te.tag_scope("b").__enter__()
    with te.tag_scope("a"), pytest.raises(ValueError, match="tag must be left out inside of tag_scope"):
        te.compute((4,), lambda i: A[i], tag="b")
    assert te.compute((4,), lambda i: A[i]).op.tag == ""
    with pytest.raises(tw.ArgumentError, match="attrs must be a dict of numbers"):
        te.compute((4,), lambda i: A[i], attrs={"a": object()})


def test_tensors_among_attrs_stand_by_their_names():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i], attrs={"packed": [A], "by": A})
    assert B.op.attrs == {"packed": ["A"], "by": "A"}
    assert te.load_json(te.save_json(B)).op.name == B.op.name


def test_tags_of_operators_on_whole_tensors():
    A, b, n = te.placeholder((3, 4), name="A"), te.placeholder((4,), name="b"), te.var("n", "float32")
    assert [t.op.tag for t in (A * 2, 1 + A, A - n, -A, A.astype("int32"))] == ["elemwise"] * 5
    assert [t.op.tag for t in (A + b, A / A)] == ["broadcast"] * 2


# ----------------------------------------------------------------------------------------------------------------- hints


def test_missing_attributes_say_what_is_there(product):
    s = te.create_schedule(product)
    ib = te.ir_builder.create()
    hints = {
        lambda: s[product].vectorise: "did you mean 'vectorize'?",
        lambda: s[product].leaf_iter_vars[0].thread_tag: "iter_var_attrs",
        lambda: te.hybrid: "te.ir_builder",
        lambda: te.HybridOp: "te.ExternOp",
        lambda: te.reduce_axes: "did you mean 'reduce_axis'?",
        lambda: te.cast: "x.astype(dtype)",
        lambda: te.clip: "te.max(te.min(x, high), low)",
        lambda: te.where: "te.if_then_else(c, a, b)",
        lambda: tw.ops.topk: "nothing sorts",
        lambda: tw.ops.linear: "dense(x, w, transpose_w=True, bias=b)",
        lambda: tw.ops.layernorm: "did you mean 'layer_norm'?",
        lambda: product.sum(): "tw.ops.sum(X, axis)",
        lambda: product.T: "tw.ops.transpose(X)",
        lambda: product.asnumpy(): "no values before it is built",
        lambda: te.var("n").value: "known when the kernel is called",
        lambda: product.op.axis[0].value: "known when the kernel is called",
    }
    for call, hint in hints.items():
        with pytest.raises(AttributeError) as error:
            call()
        assert hint in str(error.value)
    assert not hasattr(te, "hybrid") and ib is not None


# What the hints say is what is meant.
def test_expressions_of_hints():
    x, y = te.placeholder((9,), "int32", name="x"), te.placeholder((9,), "int32", name="y")
    ctz = te.compute((9,), lambda i: te.popcount(~x[i] & (x[i] - 1)), name="ctz")
    mulhi = te.compute((9,), lambda i: (x[i].astype("int64") * y[i].astype("int64") >> 32).astype("int32"), name="mulhi")
    sign = te.compute((9,), lambda i: te.select(x[i] > 0, 1, te.select(x[i] < 0, -1, 0)), name="sign")
    a = np.array([0, 1, 2, -8, 12, 96, -1, 2**31 - 1, -(2**31)], "int32")
    b = a[::-1].copy()
    made = [np.zeros(9, str(t.dtype)) for t in (ctz, mulhi, sign)]
    tw.build([x, y, ctz, mulhi, sign])(a, b, *made)
    assert made[0].tolist() == [32, 0, 1, 3, 2, 5, 0, 0, 31]
    assert made[1].tolist() == ((a.astype("int64") * b) >> 32).tolist()
    assert made[2].tolist() == np.sign(a).tolist()


def test_products_of_whole_tensors():
    x, y = te.placeholder((2, 3, 5), name="x"), te.placeholder((5, 4), name="y")
    assert (x @ y).shape == (2, 3, 4) and (x @ y).op.name == "matmul"
    with pytest.raises(tw.ExprError, match="matmul"):
        y @ y
    with pytest.raises(TypeError):
        y @ 3


def test_loops_in_expressions(product):
    s = te.create_schedule(product)
    io, ii = s[product].split(product.op.axis[0], 4)
    for use in (lambda: te.var("n") + io, lambda: te.if_then_else(product.op.axis[0] < ii, 1, 0)):
        with pytest.raises(tw.DTypeError, match=r"must be an expression or a number, not the loop Axis\(C: i\.[oi]") as error:
            use()
        assert any("C.op.axis" in note for note in error.value.notes)


def test_parameters_of_buffers():
    b = te.decl_buffer((4,), name="b", scope="global", elem_offset=te.var("o"), data_alignment=64, offset_factor=16)
    assert b.shape == (4,)
    for wrong in ({"scope": "shared"}, {"data": te.var("p")}, {"elem_offset": 4}):
        with pytest.raises(tw.ArgumentError, match="must be"):
            te.decl_buffer((4,), name="b", **wrong)


def test_a_number_beside_a_vector_stands_in_each_lane():
    b = te.decl_buffer((8,), "int16", name="b")
    four = b.vload(0, "int16x4")
    assert (four * te.const(2, "int16")).dtype == "int16x4" and (four + 1).dtype == "int32x4" and (1.5 * four).dtype == "float32x4"
    with pytest.raises(tw.DTypeError, match="as many lanes"):
        four + b.vload(0, "int16x8")


def declared(name):
    a = te.placeholder((16,), name="a")
    c = te.compute((16,), lambda i: a[i] + 1, name="c")

    def body(ins, outs):
        ib = te.ir_builder.create()
        x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 16 / 1, name="i") as i:
            y[i] = x[i] + 1.0
        return ib.get()

    return te.decl_tensor_intrin(c.op, body, name=name, default_buffer_params={"offset_factor": 1})


def test_intrinsics_are_named_by_their_names_in_text():
    A = te.placeholder((64,), name="A")
    C = te.compute((64,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C)
    inner = s[C].split(C.op.axis[0], 16)[1]
    intrin = declared("inc16")
    s[C].tensorize(inner, intrin)
    assert "@" not in s.to_python() + str(s.steps[-1]) + repr(intrin) and "inc16" in s.to_python() + repr(intrin)
    assert s.steps[-1][-1] == intrin.key and "@" in intrin.key
    again = {"te": te, "C": C}
    exec(s.to_python(), again)
    assert again["s"].steps == s.steps
    with pytest.raises(tw.ArgumentError, match="default_buffer_params must be offset_factor, data_alignment and scope, not dtype"):
        te.decl_tensor_intrin(C.op, None, default_buffer_params={"dtype": "int8"})


def test_functions_that_nobody_knows_name_the_way():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: te.call_extern("float32", "tw_nobody_has_this", A[i]), name="B")
    with pytest.raises(tw.Error, match=r"ctypes\.CDLL\(path, mode=ctypes\.RTLD_GLOBAL\)"):
        tw.build([A, B], target="interp")(np.zeros(4, "float32"), np.zeros(4, "float32"))
    assert ctypes.RTLD_GLOBAL


def test_the_state_of_a_scan_has_no_stage():
    X, st = te.placeholder((8, 4), name="X"), te.placeholder((8, 4), name="st")
    init = te.compute((1, 4), lambda _, i: X[0, i], name="init")
    update = te.compute((8, 4), lambda t, i: st[t - 1, i] + X[t, i], name="update")
    s = te.create_schedule(te.scan(init, update, st, name="sums"))
    with pytest.raises(tw.ScheduleError) as error:
        s[st]
    assert any("st is the state of the scan sums" in note for note in error.value.notes)


def kinds_of(op):
    return {name for name in te.operations.__all__ if isinstance(op, getattr(te, name))}


def test_operations_by_kind(product):
    X, st = te.placeholder((8, 4), name="X"), te.placeholder((8, 4), name="st")
    init = te.compute((1, 4), lambda _, i: X[0, i], name="init")
    update = te.compute((8, 4), lambda t, i: st[t - 1, i] + X[t, i], name="update")
    scan = te.scan(init, update, st, name="sums")
    double = te.extern((8, 4), [X], lambda ins, outs: outs[0].vstore((0, 0), ins[0].vload((0, 0)) * 2.0), name="E", tag="user")
    add = te.decl_tensor_intrin(te.compute((4,), lambda i: X[0, i] + 1.0, name="z").op, lambda ins, outs: outs[0].vstore(0, ins[0].vload((0, 0), "float32x4") + 1.0))
    tiles = te.compute((8, 4), lambda i: add(X), name="T")
    assert kinds_of(X.op) == {"PlaceholderOp"} and kinds_of(scan.op) == {"ScanOp"} and kinds_of(double.op) == {"ExternOp"}
    assert kinds_of(product.op) == {"ComputeOp", "BaseComputeOp"} and kinds_of(tiles.op) == {"TensorComputeOp", "BaseComputeOp"}
    assert not kinds_of(X) and not kinds_of(None) and issubclass(te.ComputeOp, te.Operation)
    assert [op.kind for op in (X.op, product.op, tiles.op, scan.op, double.op)] == ["placeholder", "compute", "compute", "scan", "extern"]
    assert double.op.tag == "user" and double.op.input_tensors == [X] and scan.op.axis[0] == scan.op.scan_axis
    with pytest.raises(TypeError, match="te.compute makes one"):
        te.ComputeOp()


def test_names_of_the_axes_that_a_star_takes():
    C = te.compute((2, 3, 4), lambda n, *hw: n + hw[1], varargs_names=["h", "w"])
    assert [axis.name for axis in C.op.axis] == ["n", "h", "w"]
    with pytest.raises(tw.ExprError, match="varargs_names must be 2 names"):
        te.compute((2, 3, 4), lambda n, *hw: n, varargs_names=["h"])


@pytest.mark.parametrize("apply", [lambda x: x + 1, lambda x: x * 16, lambda x: x // 2, lambda x: x < 3, lambda x: -x, lambda x: 1 - x])
def test_loops_are_no_operands(product, apply):
    s = te.create_schedule(product)
    io, ii = s[product].split(product.op.axis[0], 2)
    with pytest.raises(tw.ExprError, match="an operand must be an expression or a number, not"):
        apply(io)


def test_a_fuse_of_nothing_is_a_relation(product):
    A = te.placeholder((), name="A")
    B = te.compute((), lambda: A() + 1, name="B")
    s = te.create_schedule(B)
    once = s[B].fuse()
    assert s[B].relations == [tw.schedule.Singleton(once)]
    s = te.create_schedule(product)
    kept = s.cache_write(product, "local")
    ko, ki = s[kept].split(product.op.reduce_axis[0], 2)
    s[kept].fuse(ko, ki)
    assert [type(r).__name__ for r in s[kept].relations] == ["Split", "Fuse"] and s[product].relations == []
    s.rfactor(kept, s[kept].leaf_iter_vars[-1])
    assert not any(isinstance(r, tw.schedule.Singleton) for stage in s.stages for r in stage.relations)


def test_parts_of_a_reduction(product):
    k = product.op.reduce_axis[0]
    (total,) = product.op.body
    assert total.axis == [k] and total.axis[0].extent == k.extent and total.init == [] and total.condition is None
    assert [str(s) for s in total.source] == [str(total).split(": ")[1].rstrip(")")]
    x = te.placeholder((8,), name="x")
    r = te.reduce_axis((0, 8), name="r")
    some = te.compute((4,), lambda i: te.sum(x[r], axis=r, where=r > i, init=2.0)).op.body[0]
    assert str(some.condition) == "r > i" and [str(v) for v in some.init] == ["2.0"]
    with pytest.raises(AttributeError, match="axis: only a reduction has one, not"):
        (x[r] + 1).axis


def test_a_schedule_that_was_refused_can_be_shown():
    with pytest.raises(tw.ScheduleError, match="outputs must name at least one tensor") as refused:
        te.create_schedule([])
    made = [frame.frame.f_locals["self"] for frame in refused.traceback if "self" in frame.frame.f_locals]
    assert [repr(s) for s in made if isinstance(s, tw.Schedule)] == ["Schedule, not made"]


def test_kinds_of_axes(product):
    s, k = te.create_schedule(product), product.op.reduce_axis[0]
    io, ii = s[product].split(product.op.axis[0], 2)
    s[product].vectorize(product.op.axis[1])
    s[product].unroll(ii)
    s[product].parallel(io)
    s[product].pragma(k, "auto_unroll_max_step", 4)
    attrs = s[product].iter_var_attrs
    assert [attrs[a].iter_type for a in (io, ii, product.op.axis[1], k)] == ["parallel", "unrolled", "vectorized", "serial"]
    assert attrs[k].tensor_intrin is None
    assert (attrs[k].pragma_keys, attrs[k].pragma_values, attrs[io].pragma_keys) == (["auto_unroll_max_step"], [4], [])


def test_text_of_axes():
    n = te.var("n")
    assert repr(te.compute((n,), lambda j: j).op.axis[0]) == "axis(j: 0..n)"
    assert repr(te.reduce_axis((2, n), name="k")) == "reduce_axis(k: 2..n)"


def test_loops_of_rfactor_have_the_names_of_its_axes(product):
    s = te.create_schedule(product)
    ko, ki = s[product].split(product.op.reduce_axis[0], 4)
    F = s.rfactor(product, ki)
    assert [a.name for a in F.op.axis] == ["k_i", "i", "j"] and [a.name for a in s[F].leaf_iter_vars] == ["k_i", "i", "j", "k_o"]
    assert F.op.axis[0] in s[F].leaf_iter_vars and s[product].op.reduce_axis[0] in s[product].leaf_iter_vars


def test_every_error_is_a_runtime_error():
    kinds = [getattr(tw, name) for name in tw.errors.__all__]
    assert all(issubclass(kind, RuntimeError) for kind in kinds)
    with pytest.raises(RuntimeError):
        te.placeholder((-1,))
