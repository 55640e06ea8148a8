"""Tensor expressions in Python: what they mean to tvm people, and what each mistake is told."""

import copy
import math
import pathlib
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

N, M = 6, 8


@pytest.fixture
def A():
    return te.placeholder((N, M), name="A")


def run(tensor, *inputs):
    """The values of a tensor for the given (placeholder, array) pairs, computed by a built kernel."""
    out = np.empty(tensor.shape, tensor.dtype)
    tw.build([*(t for t, _ in inputs), tensor], target="interp")(*(a for _, a in inputs), out)
    return out


def test_public_functions_have_docstrings():
    assert [name for name in te.__all__ if not getattr(te, name).__doc__] == []


def test_names_of_tvm_are_there():
    names = """placeholder compute reduce_axis var const sum max min prod if_then_else select all any min_value max_value floordiv
    floormod truncdiv truncmod indexdiv indexmod exp log tanh sigmoid erf sqrt rsqrt abs floor ceil round trunc power thread_axis
    create_schedule"""
    assert [name for name in names.split() if name not in te.__all__] == []


# ------------------------------------------------------------------------------------------------------------ what works


def test_ways_to_read(A):
    reads = []
    te.compute((N, M), lambda i, j: reads.extend([A[i, j], A[i][j], A(i, j), A((i, j)), A[(i, j)]]) or A[i, j])
    assert {str(r) for r in reads} == {"A[i, j]"}


def test_attributes(A):
    assert (A.shape, A.dtype, A.ndim, A.name, A.op.name) == ((N, M), "float32", 2, "A", "A")
    k = te.reduce_axis((0, M), name="k")
    C = te.compute((N,), lambda i: te.sum(A[i, k], axis=k), name="C")
    (axis,), (reduced,) = C.op.axis, C.op.reduce_axis
    assert (axis.name, axis.extent, axis.dom.min, axis.dom.extent, axis.dtype) == ("i", N, 0, N, "int32")
    assert reduced == k and reduced.same_as(k) and reduced.reduction and not axis.reduction
    assert C.op.input_tensors == [A] and C.op == C.op.output(0).op
    assert "C" in repr(C) and "k: 0..8" in repr(k)


def test_axis_names_are_those_of_the_lambda(A):
    names = lambda f, rank: [a.name for a in te.compute((2,) * rank, f).op.axis]
    assert names(lambda yy, xx: yy + xx, 2) == ["yy", "xx"]
    assert names(lambda *i: i[0], 3) == ["i0", "i1", "i2"]
    assert names(lambda n, *hw: n + hw[0], 3) == ["n", "hw0", "hw1"]
    assert names(lambda i, scale=2: i * scale, 1) == ["i"]


def test_callables_of_all_kinds(A):
    class Definition:
        def __call__(self, i, j):
            return A[i, j]

        def method(self, i, j):
            return A[i, j]

    for f in (Definition(), Definition().method, A):
        assert te.compute((N, M), f).shape == (N, M)


def test_tensor_identity(A):
    B = te.placeholder((N, M), name="A")
    assert A == A.op.output(0) and A != B and len({A, B, A.op.output(0)}) == 2
    assert str(te.compute((N, M), lambda i, j: A[i, j] + B[i, j]).op.body[0]) == "A[i, j] + A_1[i, j]"


def test_axis_identity():
    C = te.compute((2, 3), lambda i, j: i + j)
    i, j = C.op.axis
    assert i in C.op.axis and tuple(C.op.axis).index(j) == 1 and {i: 1}[C.op.axis[0]] == 1
    k, r = te.reduce_axis((0, 3), "k"), te.reduce_axis((0, 3), "r")
    assert str(te.if_then_else(k == r, 1, 0)) == "select(k == r, 1, 0)"


def test_operators(A):
    i = te.var("i")
    expected = {
        "i + 1": i + 1, "1 + i": 1 + i, "i - 1": i - 1, "5 - i": 5 - i, "i * 3": i * 3, "i // 2": i // 2, "i % 2": i % 2,
        "7 // i": 7 // i, "i < 3": i < 3, "i >= 3": i >= 3, "i == 3": i == 3, "i != 3": i != 3, "i > 2": 2 < i, "i * -1": -i,
    }
    assert {k: str(v) for k, v in expected.items()} == {k: k for k in expected}
    x = te.placeholder((), name="x")()
    assert str(abs(x)) == "abs(x[])" and str(x**2) == "x[] * x[]" and str(x**3) == "pow(x[], 3.0)" and str(1 / x) == "1.0 / x[]" and str(+x) == "x[]"
    assert str(x.astype("int8")) == "int8(x[])" and x.astype(np.float64).dtype == "float64"
    assert str(te.const(3) + te.const(4)) == "7i32" and str(te.const(-7) // 2) == "-4i32"


def test_reducers_combine_values(A):
    x, y, z = (te.placeholder((), name=n)() for n in "xyz")
    assert str(te.max(x, y, z)) == "max(max(x[], y[]), z[])"
    assert str(te.min(x, 0)) == "min(x[], 0.0)"
    assert str(te.sum(x, y)) == "x[] + y[]"


def test_reduction_with_a_condition(A):
    k = te.reduce_axis((0, M), "k")
    C = te.compute((N,), lambda i: te.max(A[i, k], axis=k, where=k < i), name="C")
    a = np.random.rand(N, M).astype("float32")
    np.testing.assert_array_equal(run(C, (A, a)), [a[i, :i].max(initial=-np.inf) for i in range(N)])


def test_reduction_over_nothing():
    for dtype, ends in (("float32", (-np.inf, np.inf)), ("int8", (-128, 127)), ("uint16", (0, 65535))):
        A = te.placeholder((0,), dtype, name="A")
        k = te.reduce_axis((0, 0))
        empty = np.empty(0, dtype)
        values = [run(te.compute((1,), lambda i: f(A[k], axis=k)), (A, empty))[0] for f in (te.sum, te.prod, te.max, te.min)]
        assert values == [0, 1, *ends]


def test_shared_reduce_axis(A):
    k = te.reduce_axis((2, M), "k")
    B = te.compute((N,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((N,), lambda i: te.max(A[i, k] - B[i], axis=k), name="C")
    a = np.random.rand(N, M).astype("float32")
    np.testing.assert_allclose(run(C, (A, a)), (a[:, 2:] - a[:, 2:].sum(1, keepdims=True)).max(1), rtol=1e-5)


@pytest.mark.parametrize("rank", range(7))
def test_ranks(rank):
    shape = (2, 3, 1, 2, 1, 2)[:rank]
    A = te.placeholder(shape, name="A")
    a = np.asarray(np.random.rand(*shape), "float32")
    np.testing.assert_array_equal(run(te.compute(shape, lambda *i: A(*i) + 1), (A, a)), a + np.float32(1))


def test_a_tensor_of_rank_0_is_a_value(A):
    s = te.placeholder((), name="s")
    assert str(te.compute((N, M), lambda i, j: A[i, j] * s).op.body[0]) == "A[i, j] * s[]"


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0), (1, 1, 1)])
def test_extents_of_0_and_1(shape):
    A = te.placeholder(shape, name="A")
    assert run(te.compute(shape, lambda *i: A(*i) + A(*i)), (A, np.ones(shape, "float32"))).tolist() == np.full(shape, 2.0).tolist()


def test_round_takes_halves_away_from_zero():
    values = np.array([-2.5, -1.5, -0.5, -0.4, 0.0, 0.49999997, 0.5, 1.5, 2.5, 8388607.5, 1e30, np.inf, np.nan], "float32")
    A = te.placeholder(values.shape, name="A")
    got = run(te.compute(values.shape, lambda i: te.round(A[i])), (A, values))
    np.testing.assert_array_equal(got, np.array([-3, -2, -1, 0, 0, 0, 1, 2, 3, 8388608, 1e30, np.inf, np.nan], "float32"))
    assert np.signbit(got[3])


def test_a_product_is_rounded_before_round_sees_it():
    """Some are halves in float32 only: the product that a target fuses into a sum is a little less."""
    x = np.float32((np.arange(1 << 12) + 0.5) / 127)
    A = te.placeholder(x.shape, name="A")
    product = x * np.float32(127)
    got = run(te.compute(x.shape, lambda i: te.round(A[i] * 127.0)), (A, x))
    np.testing.assert_array_equal(got, np.trunc(product + np.float32(0.5)))


def test_integer_arithmetic():
    a = np.array([-7, -1, 0, 5, 127, -128], "int8")
    A = te.placeholder(a.shape, "int8", name="A")
    two = te.const(2, "int8")
    for f, expected in (
        (lambda x: x // -two, a // np.int8(-2)),
        (lambda x: x % -two, a % np.int8(-2)),
        (lambda x: te.truncdiv(x, two), np.trunc(a / 2).astype("int8")),
        (lambda x: te.truncmod(x, two), np.fmod(a, 2)),
        (lambda x: x * two, a * np.int8(2)),
        (lambda x: -x, -a),
        (lambda x: ~x, ~a),
        (lambda x: x >> te.const(1, "int8"), a >> 1),
    ):
        np.testing.assert_array_equal(run(te.compute(a.shape, lambda i: f(A[i])), (A, a)), expected)


def test_indices_as_values():
    np.testing.assert_array_equal(run(te.compute((3, 4), lambda i, j: i * 10 - j)), np.arange(3)[:, None] * 10 - np.arange(4))


def test_guarded_reads(A):
    a = np.random.rand(N, M).astype("float32")
    padded = te.compute((N + 2, M), lambda i, j: te.if_then_else(te.all(i >= 1, i < N + 1), A[i - 1, j], 0), name="P")
    np.testing.assert_array_equal(run(padded, (A, a)), np.pad(a, ((1, 1), (0, 0))))
    other = te.compute((N + 2, M), lambda i, j: te.select(te.any(i < 1, ~(i <= N)), 0, A[i - 1, j]), name="P")
    np.testing.assert_array_equal(run(other, (A, a)), np.pad(a, ((1, 1), (0, 0))))
    assert te.compute((N,), lambda i: te.if_then_else(te.all(i > 2, A[i - 3, 0] > 0), 1, 0)).dtype == "int32"
    assert te.compute((100,), lambda i: A[i // 20, i % M]).shape == (100,)
    assert te.compute((100,), lambda i: A[te.min(i, N - 1), te.max(i - 99, 0)]).shape == (100,)


def test_gather():
    at = te.placeholder((5,), "int32", name="at")
    A = te.placeholder((9,), name="A")
    a = np.random.rand(9).astype("float32")
    index = np.array([8, 0, 3, 3, 7], "int32")
    np.testing.assert_array_equal(run(te.compute((5,), lambda i: A[at[i]]), (A, a), (at, index)), a[index])


def test_shapes_with_python_arithmetic():
    n, bn = 64, 16
    packed = te.compute((n // bn, n, np.int64(bn)), lambda x, y, z: x + y + z)
    assert packed.shape == (4, 64, 16)
    assert te.placeholder(5).shape == (5,) and te.placeholder([2, 3]).shape == (2, 3)


def test_large_programs():
    A = te.placeholder((4,), name="A")
    value = te.compute((4,), lambda i: sum((A[i] for _ in range(4999)), A[i]))
    assert str(value.op.body[0]).count("A[i]") == 5000
    stage = A
    for _ in range(20_000):
        stage = te.compute((4,), lambda i: stage[i] + 1)
    del stage
    shared = te.compute((4,), lambda i: doubled(A[i], 60))
    assert shared.dtype == "float32"
    other = threading.Thread(target=lambda: te.compute((4,), lambda i: doubled(A[i], 2000)))
    other.start()
    other.join()


def doubled(e, times):
    for _ in range(times):
        e = e + e
    return e


def test_te_var_is_a_variable():
    n = te.var("n")
    assert (n.name, n.dtype, str(n + 1)) == ("n", "int32", "n + 1")
    assert te.var("x", "float32").dtype == "float32"


def test_numpy_scalars_on_the_left(A):
    body = te.compute((N,), lambda i: np.float32(2) * A[i, 0] + np.int64(1)).op.body[0]
    assert str(body) == "2.0 * A[i, 0] + 1.0"
    i = te.var("i")
    assert [str(e) for e in (np.int64(7) - i, np.int32(7) // i, np.int64(3) < i, np.array(2) * i)] == ["7 - i", "7 // i", "i > 3", "2 * i"]


# --------------------------------------------------------------------------------------------------------- what is refused

K = te.reduce_axis((0, 8), "k")
R = te.reduce_axis((0, 8), "r")
refused = {
    "if": (lambda A, i: A[i, 0] if i < 3 else 0, "te.if_then_else"),
    "chained comparison": (lambda A, i: te.if_then_else(0 < i < 3, 1, 0), "te.all"),
    "and": (lambda A, i: te.if_then_else(i > 0 and i < 3, 1, 0), "te.all"),
    "not": (lambda A, i: te.if_then_else(not i > 0, 1, 0), "~c"),
    "if i == 3": (lambda A, i: 1 if i == 3 else 0, "te.if_then_else"),
    "max": (lambda A, i: A[max(i, 2), 0], "te.max"),
    "min of values": (lambda A, i: min(A[i, 0], 0), "te.min"),
    "math.exp": (lambda A, i: math.exp(A[i, 0]), "te.exp"),
    "math.floor": (lambda A, i: math.floor(A[i, 0]), "te.floor"),
    "float": (lambda A, i: float(A[i, 0]), "astype"),
    "int": (lambda A, i: int(A[i, 0]), "astype"),
    "round": (lambda A, i: round(A[i, 0]), "te.round"),
    "range": (lambda A, i: sum(A[i, x] for x in range(i)), "te.reduce_axis"),
    "slice": (lambda A, i: A[i, 0:2], "te.compute"),
    "ellipsis": (lambda A, i: A[..., i], "one index"),
    "negative index": (lambda A, i: A[i, -1], "negative"),
    "float index": (lambda A, i: A[i, 0.5], "integer"),
    "float expression as index": (lambda A, i: A[i, A[i, 0]], "astype"),
    "bool index": (lambda A, i: A[i, True], "integer"),
    "too few subscripts": (lambda A, i: A[i], "expected 2 subscripts, not 1"),
    "too many subscripts": (lambda A, i: A[i, 0, 0], "expected 2 subscripts, not 3"),
    "too many subscripts, in turn": (lambda A, i: A[i][0][0], "takes no subscripts"),
    "whole tensor": (lambda A, i: A + 1, "whole tensor A"),
    "returns a tensor": (lambda A, i: A, "whole tensor A"),
    "returns nothing": (lambda A, i: None, "return"),
    "returns an empty tuple": (lambda A, i: (), "at least one expression"),
    "returns a tuple with a string": (lambda A, i: (A[i, 0], "x"), "str"),
    "array": (lambda A, i: A[i, 0] * np.ones(3), "te.placeholder"),
    "string": (lambda A, i: A[i, 0] + "x", "str"),
    "past the end": (lambda A, i: A[i + 1, 0], "reads 6 of 0..6 at i = 5"),
    "before the start": (lambda A, i: A[i - 1, 0], "reads -1 of 0..6 at i = 0"),
    "constant past the end": (lambda A, i: A[i, 8], "reads 8 of 0..8"),
    "guard that is too wide": (lambda A, i: te.if_then_else(i >= 0, A[i - 1, 0], 0), "reads -1"),
    "guard of the other arm": (lambda A, i: te.if_then_else(i < 1, A[i - 1, 0], 0), "reads -1"),
    "product": (lambda A, i: A[i * i, 0], "reads 9 of 0..6 at i = 3|reads 25 of 0..6 at i = 5"),
    "inside a reduction": (lambda A, i: te.sum(A[i, K + 1], axis=K), "reads 8 of 0..8 at k = 7"),
    "unreduced axis": (lambda A, i: A[i, K], "undefined variable k"),
    "axis not listed": (lambda A, i: te.sum(A[i, K] * R, axis=K), "undefined variable r"),
    "reduction in an expression": (lambda A, i: te.sum(A[i, K], axis=K) + 1, "compute of its own"),
    "reduction in a reduction": (lambda A, i: te.sum(te.sum(A[i, K], axis=K), axis=R), "compute of its own"),
    "reduction in a cast": (lambda A, i: te.sum(A[i, K], axis=K).astype("int32"), "compute of its own"),
    "axis=[]": (lambda A, i: te.sum(A[i, 0], axis=[]), "at least one reduce axis"),
    "no axis": (lambda A, i: te.sum(A[i, 0]), "axis must name a reduce axis"),
    "data axis": (lambda A, i: te.sum(A[i, 0], axis=[i]), "must be a reduce axis"),
    "axis twice": (lambda A, i: te.sum(A[i, K], axis=[K, K]), "twice"),
    "init of the axis": (lambda A, i: te.sum(A[i, K], axis=K, init=A[i, K]), "init must not depend"),
    "sum of bools": (lambda A, i: te.sum(A[i, K] > 0, axis=K), "astype"),
    "condition": (lambda A, i: te.if_then_else(A[i, 0], 1, 0), "condition must be bool, not float32"),
    "select condition": (lambda A, i: te.select(i, 1, 0), "condition must be bool, not int32"),
    "exp of an integer": (lambda A, i: te.exp(i), "expected a float"),
    "division by 0": (lambda A, i: i // 0, "divisor must not be 0"),
    "exp of a string": (lambda A, i: te.exp("x"), "str"),
    "np.exp": (lambda A, i: np.exp(A[i, 0]), "np.exp.*\n.*\n.*te.exp"),
    "np.maximum": (lambda A, i: np.maximum(A[i, 0], 0), "functions of te"),
    "array times a value": (lambda A, i: np.ones(3) * A[i, 0], "te.placeholder"),
    "axis by name": (lambda A, i: te.sum(A[i, K], axis="k"), "must be a reduce axis, not 'k'"),
}


@pytest.mark.parametrize("name", refused)
def test_refused_inside_compute(A, name):
    body, message = refused[name]
    with pytest.raises(tw.Error, match=message) as e:
        C = te.compute((N,), lambda i: body(A, i), name="C")
        te.create_schedule(C)  # a read before the first element could still be one of a scan's state
    assert e.value.file == __file__ and e.value.line > 0
    assert f"{__file__}:{e.value.line}: " in str(e.value)
    assert not isinstance(e.value, tw.InternalError)
    assert isinstance(e.value, (ValueError, TypeError))


outside = {
    "negative extent": (lambda: te.placeholder((4, -1)), "the extent of dimension 1 must not be negative, not -1"),
    "negative extent of a compute": (lambda: te.compute((-4,), lambda i: i, name="C"), "compute C: the extent of dimension 0"),
    "float extent": (lambda: te.placeholder((4.5,)), "the extent of dimension 0 must be an integer"),
    "bool extent": (lambda: te.placeholder((True,)), "the extent of dimension 0 must be an integer"),
    "string extent": (lambda: te.placeholder(("4",)), "str"),
    "no shape": (lambda: te.placeholder(None), "None"),
    "extent of data": (lambda: te.placeholder((te.var("x", "int8"),)), "an integer or an expression of te.var"),
    "rank 17": (lambda: te.placeholder((1,) * 17), "at most 16"),
    "huge": (lambda: te.placeholder((2**40, 2**40)), "elements"),
    "huge extent": (lambda: te.placeholder((2**70,)), "64 bits"),
    "strides": (lambda: te.placeholder((4, 4), strides=(1,)), "strides"),
    "too many parameters": (lambda: te.compute((4,), lambda i, j: i), "must take 1 index, one per dimension, not 2"),
    "too few parameters": (lambda: te.compute((4, 4), lambda i: i), "must take 2 indices, one per dimension, not 1"),
    "too many before *": (lambda: te.compute((4,), lambda i, j, *k: i), "must take 1 index"),
    "keyword": (lambda: te.compute((4,), lambda i, *, j: i), "by position"),
    "name": (lambda: te.placeholder((4,), name=5), "name must be a string, not int"),
    "name of a compute": (lambda: te.compute((4,), lambda i: i, name=None), "name must be a string"),
    "name of an axis": (lambda: te.reduce_axis((0, 4), name=1), "name must be a string"),
    "name of a variable": (lambda: te.var(1), "name must be a string"),
    "no function": (lambda: te.compute((4,), 3), "function of the indices"),
    "reduce_axis of one number": (lambda: te.reduce_axis(4), "start, end"),
    "reduce_axis backwards": (lambda: te.reduce_axis((4, 2)), "4..2"),
    "reduce_axis of floats": (lambda: te.reduce_axis((0, 4.5)), "integers"),
    "tag of a thread_axis": (lambda: te.thread_axis((0, 4), "threadIdx.w"), "blockIdx.x, blockIdx.y"),
    "dom of a thread_axis": (lambda: te.thread_axis((1, 4), "threadIdx.x"), "(0, end)"),
    "a negative end of a thread_axis": (lambda: te.thread_axis((0, -4), "threadIdx.x"), r"not \(0, -4\)"),
    "an end of a thread_axis that is no number": (lambda: te.thread_axis((0, "n"), "threadIdx.x"), r"not \(0, 'n'\)"),
    "iterating": (lambda: list(te.placeholder((3,), name="A")), "A: a tensor cannot be iterated"),
    "unpacking": (lambda: dict(zip("ab", te.placeholder((3,)))), "iterated"),
    "output 1": (lambda: te.placeholder((3,)).op.output(1), "output"),
}


@pytest.mark.parametrize("name", outside)
def test_refused_outside_compute(name):
    call, message = outside[name]
    with pytest.raises(tw.Error, match=message) as e:
        call()
    assert e.value.file == __file__ and isinstance(e.value, (ValueError, TypeError))


def test_errors_of_the_function_come_through(A):
    with pytest.raises(ZeroDivisionError):
        te.compute((N,), lambda i: A[i, 0] * (1 / 0))


def test_attributes_of_an_error():
    with pytest.raises(tw.ExprError) as caught:
        te.placeholder((4, -1), name="X")
    e = caught.value
    assert e.what == "placeholder X: the extent of dimension 1 must not be negative, not -1" and e.notes == []
    assert str(e).splitlines()[1].strip() == 'te.placeholder((4, -1), name="X")'
    for twin in (pickle.loads(pickle.dumps(e)), copy.copy(e)):
        assert type(twin) is type(e) and str(twin) == str(e) and twin.line == e.line


def run_python(code, *args):
    return subprocess.run([sys.executable, *args, "-c", code], capture_output=True, text=True, timeout=120)


def test_error_of_python_c():
    done = run_python("from tensorwright import te\n\nte.placeholder((-1,))")
    assert done.returncode == 1 and "<string>:3: placeholder" in done.stderr


def test_error_of_a_notebook_cell():
    cell = "<ipython-input-7-0123456789ab>"
    source = "from tensorwright import te\nte.placeholder((-1,), name='cell')\n"
    import linecache

    linecache.cache[cell] = (len(source), None, source.splitlines(True), cell)
    with pytest.raises(tw.ExprError) as e:
        exec(compile(source, cell, "exec"), {})
    assert f"{cell}:2: " in str(e.value) and "name='cell'" in str(e.value)


def test_error_of_a_thread():
    errors = []

    def work():
        try:
            te.placeholder((-1,))
        except tw.Error as e:
            errors.append(e)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors[0].file == __file__


def test_version():
    assert tw.__version__ in (pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
