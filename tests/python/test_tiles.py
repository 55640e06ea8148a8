"""Operations of an intrinsic's tiles: te.compute of regions."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

TARGETS = ["llvm", "interp", "c"]


def adds(n):
    x, y = te.placeholder((n,), name="x"), te.placeholder((n,), name="y")
    z = te.compute((n,), lambda i: x[i] + y[i], name="z")

    def statement(ins, outs):
        ib = te.ir_builder.create()
        a, b, c = (ib.buffer_ptr(t) for t in (*ins, *outs))
        with ib.for_range(0, n, name="i", kind="vectorize") as i:
            c[i] = a[i] + b[i]
        return ib.get()

    return te.decl_tensor_intrin(z.op, statement, name=f"add_{n}")


def gemm(m, n, length, update=True):
    x, y = te.placeholder((m, length), name="x"), te.placeholder((n, length), name="y")
    k = te.reduce_axis((0, length), name="k")
    z = te.compute((m, n), lambda i, j: te.sum(x[i, k] * y[j, k], axis=k), name="z")

    def statements(ins, outs):
        def part(clear, add):
            ib = te.ir_builder.create()
            a, b, c = (ib.buffer_ptr(t) for t in (*ins, *outs))
            with ib.for_range(0, m, name="i") as i, ib.for_range(0, n, name="j") as j:
                if clear:
                    c[i, j] = 0.0
                if add:
                    with ib.for_range(0, length, name="k") as r:
                        c[i, j] = c[i, j] + a[i, r] * b[j, r]
            return ib.get()

        return (part(True, True), part(True, False), part(False, True)) if update else part(True, True)

    return te.decl_tensor_intrin(z.op, statements, name="gemm")


@pytest.mark.parametrize("target", TARGETS)
def test_rows(target):
    add = adds(16)
    A, B = te.placeholder((5, 16), name="A"), te.placeholder((5, 16), name="B")
    C = te.compute((5, 16), lambda i: add(A[i, 0:16], B[i, 0:16]), name="C")
    s = te.create_schedule(C)
    text = str(tw.lower(s, [A, B, C]))
    assert "vectorized" in text and s.steps == [["tensorize", "C", "j", add.key]]
    a, b, c = (np.arange(80, dtype="float32").reshape(5, 16) + n for n in range(3))
    tw.build(s, [A, B, C], target)(a, b, c)
    np.testing.assert_array_equal(c, a + b)
    again = {"te": te, "C": C}
    exec(s.to_python(), again)
    assert again["s"].steps[0] == s.steps[0]


@pytest.mark.parametrize("target", TARGETS)
def test_tiles_of_a_product(target):
    M, N, K, tm, tn, tk = 8, 12, 10, 4, 3, 5
    tile = gemm(tm, tn, tk)
    A, B = te.placeholder((M // tm, K // tk, tm, tk), name="A"), te.placeholder((N // tn, K // tk, tn, tk), name="B")
    k = te.reduce_axis((0, K // tk), name="ko")
    C = te.compute((M // tm, N // tn, tm, tn), lambda i, j: tile(A[i, k, 0:tm, 0:tk], B[j, k, 0:tn, 0:tk], reduce_axis=k), name="C")
    s = te.create_schedule(C)
    assert [axis.name for axis in s[C].leaf_iter_vars] == ["i", "j", "ko", "k", "l", "k_1"]
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (2, 2, 4, 5)).astype("float32"), rng.integers(-9, 9, (4, 2, 3, 5)).astype("float32")
    c = np.full((2, 4, 4, 3), 7, "float32")
    s[C].parallel(C.op.axis[0])
    tw.build(s, [A, B, C], target)(a, b, c)
    np.testing.assert_array_equal(c, np.einsum("ikml,jknl->ijmn", a, b))


def test_regions_that_begin_elsewhere():
    add = adds(4)
    A = te.placeholder((6, 10), name="A")
    C = te.compute((6, 4), lambda i: add(A[i, 2:6], A[i, 6:]), name="C")
    a, c = np.arange(60, dtype="float32").reshape(6, 10), np.zeros((6, 4), "float32")
    tw.build(te.create_schedule(C), [A, C])(a, c)
    np.testing.assert_array_equal(c, a[:, 2:6] + a[:, 6:])
    whole = te.compute((4,), lambda: add(te.placeholder((4,), name="p"), te.placeholder((4,), name="q")), name="whole")
    assert len(te.create_schedule(whole).steps) == 1


def test_the_space_of_a_tiled_operation_is_that_of_its_definition():
    add = adds(16)
    A, B = te.placeholder((5, 16), name="A"), te.placeholder((5, 16), name="B")
    C = te.compute((5, 16), lambda i: add(A[i, 0:16], B[i, 0:16]), name="C")
    a, b, c = (np.arange(80, dtype="float32").reshape(5, 16) + n for n in range(3))
    tw.build([A, B, C])(a, b, c)
    np.testing.assert_array_equal(c, a + b)


def test_what_is_refused():
    add, A = adds(16), te.placeholder((5, 16), name="A")
    B, P = te.placeholder((5, 16), "int32", name="B"), te.placeholder((2, 3, 5), name="P")
    k = te.reduce_axis((0, 2), name="k")

    def refused(rule, f, shape=(5, 16)):
        with pytest.raises(tw.ExprError, match=rule):
            te.compute(shape, f, name="C")

    refused("expected 2 regions, one for each of x, y, not 1", lambda i: add(A[i, 0:16]))
    refused(r"the region of A must be of float32\(16\) as x is, not of float32\(8\)", lambda i: add(A[i, 0:8], A[i, 0:16]))
    refused(r"the region of B must be of float32\(16\) as x is, not of int32\(16\)", lambda i: add(B[i, 0:16], A[i, 0:16]))
    refused("fcompute must take 2 indices, one per dimension, not 1", lambda i: A[i, 0])
    refused("reduce_axis must be left out, for z is no reduction", lambda i: add(A[i, 0:16], A[i, 0:16], reduce_axis=k))
    refused("the last dimensions must be those of the intrinsic's tile", lambda i: add(A[i, 0:16], A[i, 0:16]), (5, 15))
    refused("a slice must be begin:end with a known number of elements between", lambda i: add(A[i, 0:16:2], A[i, 0:16]))
    refused("a subscript must be one index, not a slice", lambda i, j: te.exp(A[i, 0:16]))
    refused("expected at most 2 subscripts, not 3", lambda i: add(A[i, 0, 0:16], A[i, 0:16]))
    single, K = gemm(4, 3, 5, update=False), te.reduce_axis((0, 2), name="K")
    X, Y = te.placeholder((2, 4, 5), name="X"), te.placeholder((2, 3, 5), name="Y")
    C = te.compute((4, 3), lambda: single(X[K, 0:4, 0:5], Y[K, 0:3, 0:5], reduce_axis=K), name="C")
    with pytest.raises(tw.ScheduleError, match="gemm must have an update, for C reduces outside of it too"):
        te.create_schedule(C).check()
