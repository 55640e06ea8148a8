"""Several kernels in one build."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

TARGETS = ["interp", "c"] + (["llvm"] if tw.Target.host().kind == "llvm" else [])


def two():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    n, x = te.var("n"), te.var("x", "float32")
    X = te.placeholder((n,), name="X")
    Y = te.compute((n,), lambda i: X[i] * x, name="Y")
    s = te.create_schedule(B)
    s[B].vectorize(B.op.axis[0])
    return {"add": (s, [A, B]), "scale": [X, x, Y]}


def dense(packed="W"):
    X, W = te.placeholder((4, 32), name="X"), te.placeholder((32, 32), name=packed, param=True)
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((4, 32), lambda i, j: te.sum(X[i, k] * W[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    s[W].transform_layout(lambda i, j: [j // 16, i, j % 16])
    return s, [X, W, C]


def check(kernels):
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    kernels["add"](a, b)
    np.testing.assert_array_equal(b, a + 1)
    kernels["scale"](a[:5].copy(), 3.0, b[:5])
    np.testing.assert_array_equal(b[:5], a[:5] * 3)


@pytest.mark.parametrize("target", TARGETS)
def test_each_is_a_function_by_its_name(target):
    kernels = tw.build(two(), target=target)
    assert list(kernels) == ["add", "scale"] and [f.name for f in kernels.values()] == ["add", "scale"]
    check(kernels)
    assert "kernel add(" in kernels.source() and "kernel scale(" in kernels.source()


@pytest.mark.parametrize("target", TARGETS[1:])
def test_they_are_saved_as_one_object(target, tmp_path):
    path = tmp_path / "both.so"
    tw.build(two(), target=target).save(path)
    check({name: tw.load(path, name) for name in ("add", "scale")})
    header = path.with_suffix(".h").read_text()
    for name in ("add", "scale"):
        assert f"int32_t tw_{name}(const struct tw_args* args" in header and f"int32_t {name}_run(" in header
    with pytest.raises(tw.Error, match="several kernels"):
        tw.load(path)


@pytest.mark.parametrize("target", TARGETS)
def test_parameters_of_each_are_packed(target):
    kernels = tw.build({name: dense() for name in ("first", "second")}, target=target)
    x, w = np.ones((4, 32), "float32"), np.arange(1024, dtype="float32").reshape(32, 32) % 7
    for f in kernels.values():
        c = np.zeros((4, 32), "float32")
        f(x, f.pack("W", w), c)
        np.testing.assert_array_equal(c, x @ w)


def test_what_is_refused(tmp_path):
    s, args = two()["add"]
    refused = {
        "must not be empty": {},
        "build 'a': the first argument must be a schedule": {"a": (3, args)},
        "build 'a': args must be a list of tensors": {"a": 3},
        "name must be a string": {3: (s, args)},
        "name must be an identifier": {"a b": (s, args)},
        "kernels a and a_descriptor would both define tw_a_descriptor": {"a": (s, args), "a_descriptor": (s, args)},
        "kernels tw_a and a_run would both define tw_a_run": {"tw_a": (s, args), "a_run": (s, args)},
    }
    for message, kernels in refused.items():
        with pytest.raises(tw.Error) as error:
            tw.build(kernels, target="interp")
        assert message in str(error.value)
    packed = {name: dense() for name in ("f", "f_pack_W")}
    with pytest.raises(tw.ArgumentError, match="kernels must have different names, not two f_pack_W"):
        tw.build(packed, target="interp")
    if tw.Target.host().kind == "llvm":
        with pytest.raises(tw.ArgumentError, match="f would define f_workspace_bytes twice: rename what is packed"):
            tw.build(*dense("workspace"), name="f").save(tmp_path / "f.o")
    with pytest.raises(tw.ArgumentError, match="args, name, log and machine must be left out"):
        tw.build({"a": (s, args)}, args)
