"""Calls of kernels: which arrays they take, which they refuse and how, threads and timing. The kernels are C, compiled here."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tensorwright as tw

INCLUDE = os.path.join(os.path.dirname(__file__), "..", "..", "include")
CODES = {"bool": (0, 8), "int8": (1, 8), "int32": (1, 32), "int64": (1, 64), "uint8": (2, 8), "uint64": (2, 64),
         "float16": (3, 16), "bfloat16": (4, 16), "float32": (3, 32), "float64": (3, 64)}


def compile_kernel(folder, name, params, body):
    """params: (name, dtype, shape, written); body sees p0, p1, ... as char pointers."""
    lines = ["#include <tensorwright/kernel_abi.h>"]
    entries = []
    for i, (param, dtype, shape, written) in enumerate(params):
        code, bits = CODES[dtype]
        bits = 1 if dtype == "bool" else bits
        lines.append(f"static const int64_t shape{i}[] = {{{', '.join(map(str, shape)) or '0'}}};")
        entries.append(f'{{"{param}", {code}, {bits}, {int(written)}, {len(shape)}, shape{i}, 0}}')
    lines.append(f"static const tw_param_descriptor params[] = {{{', '.join(entries)}}};")
    lines.append(f'const tw_kernel_descriptor tw_{name}_descriptor = {{sizeof(tw_kernel_descriptor), TW_ABI_VERSION, "{name}", '
                 f'"llvm -mcpu=x86-64", "", {len(params)}, params}};')
    pointers = "".join(f"char* p{i} = (char*)args->data[{i}];\n" for i in range(len(params)))
    lines.append(f"int32_t tw_{name}(const tw_args* args, const tw_context* context) {{\n{pointers}{body}\nreturn 0; }}")
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text("\n".join(lines))
    subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", f"-I{INCLUDE}", "-o", str(library), str(source)], check=True)
    return tw.load(library)


@pytest.fixture(scope="module")
def add(tmp_path_factory):
    """out = a + b over 64 floats."""
    params = [("a", "float32", (64,), False), ("b", "float32", (64,), False), ("out", "float32", (64,), True)]
    return compile_kernel(tmp_path_factory.mktemp("add"), "add", params,
                          "for (int i = 0; i < 64; ++i) ((float*)p2)[i] = ((float*)p0)[i] + ((float*)p1)[i];")


@pytest.fixture(scope="module")
def copy2d(tmp_path_factory):
    params = [("x", "float32", (3, 4), False), ("y", "float32", (3, 4), True)]
    return compile_kernel(tmp_path_factory.mktemp("copy"), "copy2d", params, "__builtin_memcpy(p1, p0, 48);")


def vectors():
    rng = np.random.default_rng(0)
    return rng.random(64, dtype=np.float32), rng.random(64, dtype=np.float32), np.zeros(64, np.float32)


def refused(message, call, *args, error=None):
    with pytest.raises(error or tw.Error) as caught:
        call(*args)
    assert message in str(caught.value), str(caught.value)


def test_call_writes_in_place(add):
    a, b, out = vectors()
    assert add(a, b, out) is None
    np.testing.assert_array_equal(out, a + b)


def test_one_array_as_two_inputs(add):
    a, _, out = vectors()
    add(a, a, out)
    np.testing.assert_array_equal(out, 2 * a)


def test_description(add):
    assert add.name == "add"
    assert [s.name for s in add.args] == ["a", "b", "out"]
    assert add.args[2].is_output and not add.args[0].is_output
    assert (add.args[0].dtype, add.args[0].shape, add.args[0].strides) == ("float32", (64,), None)
    assert "out: float32(64,) (output)" in repr(add)


def test_unaligned_to_vectors_is_fine(add):
    a, b, out = (np.zeros(80, np.float32)[k:k + 64] for k in (1, 2, 3))
    a += 1
    b += 2
    add(a, b, out)
    assert (out == 3).all()


def test_count(add):
    a, b, _ = vectors()
    refused("add: takes 3 arguments (a, b, out), not 2", add, a, b, error=tw.ArgumentError)
    refused("add: takes 3 arguments (a, b, out), not 0", add)


def test_names(add):
    a, b, out = vectors()
    refused("add: arguments have positions, not names", lambda: add(a, b, out=out), error=tw.ArgumentError)


def test_dtype(add):
    a, b, out = vectors()
    refused("argument 2 (b): dtype must be float32, not float64", add, a, b.astype("float64"), out, error=tw.DTypeError)
    refused("argument 1 (a): has a dtype that no kernel takes: complex64", add, a.astype("complex64"), b, out)
    refused("argument 1 (a): has a dtype that no kernel takes: object", add, a.astype(object), b, out)


def test_shape_and_order(copy2d):
    x, y = np.ones((3, 4), np.float32), np.zeros((3, 4), np.float32)
    refused("argument 1 (x): shape must be (3, 4), not (4, 3)", copy2d, np.ones((4, 3), np.float32), y)
    refused("argument 1 (x): rank and shape must be (3, 4), not (12,)", copy2d, x.reshape(12), y)


def test_strides(copy2d):
    x, y = np.ones((4, 3), np.float32).T, np.zeros((3, 4), np.float32)
    refused("argument 1 (x): must be compact (row-major), not with strides (1, 3)", copy2d, x, y)
    refused("must be compact", copy2d, np.ones((3, 8), np.float32)[:, ::2], y)
    refused("must be compact", copy2d, y[::-1], np.ones((3, 4), np.float32))


def test_strides_of_size_one_dimensions_are_free(tmp_path):
    column = compile_kernel(tmp_path, "column", [("x", "float32", (4, 1), False), ("y", "float32", (1, 4), True)],
                            "__builtin_memcpy(p1, p0, 16);")
    x = np.lib.stride_tricks.as_strided(np.arange(4, dtype=np.float32), (4, 1), (4, 400))
    y = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (1, 4), (12, 4))
    column(x, y)
    np.testing.assert_array_equal(y[0], x[:, 0])


def test_read_only_output(add):
    a, b, out = vectors()
    a.flags.writeable = False
    add(a, b, out)
    out.flags.writeable = False
    refused("argument 3 (out): an output must be writable, this array is read-only", add, a, b, out)


def test_overlap(add):
    a, b, _ = vectors()
    refused("argument 3 (out): an output must not share memory with another argument, it overlaps argument 1 (a)", add, a, b, a)
    memory = np.zeros(127, np.float32)
    refused("overlaps argument 2 (b)", add, a, memory[:64], memory[63:])
    memory = np.zeros(128, np.float32)
    add(a, memory[:64], memory[64:])


def test_byte_swapped(add):
    a, b, out = vectors()
    refused("argument 1 (a): must be in the byte order of this machine, not byte-swapped (>f4)", add, a.astype(">f4"), b, out,
            error=tw.DTypeError)


def test_no_array(add):
    a, b, out = vectors()
    refused("argument 2 (b): must be an array (NumPy, or anything with __dlpack__), not list", add, a, list(b), out)
    refused("not float", add, a, 1.0, out)
    refused("not NoneType", add, a, b, None)


def test_rank_0_and_empty(tmp_path):
    scalar = compile_kernel(tmp_path, "rank_0", [("x", "int64", (), False), ("y", "int64", (), True)],
                            "*(int64_t*)p1 = 2 * *(int64_t*)p0;")
    x, y = np.array(21, np.int64), np.array(0, np.int64)
    scalar(x, y)
    assert y == 42
    scalar(x.astype(np.longlong), y)
    empty = compile_kernel(tmp_path, "empty", [("x", "float32", (0, 3), False), ("y", "float32", (0,), True)], "")
    empty(np.zeros((0, 3), np.float32), np.zeros(0, np.float32))
    empty(np.zeros((5, 3), np.float32)[::-1][:0], np.zeros(0, np.float32))


@pytest.mark.parametrize("dtype", [d for d in CODES if d != "bfloat16"])
def test_dtypes(tmp_path, dtype):
    size = np.dtype(dtype).itemsize
    f = compile_kernel(tmp_path, "copy", [("x", dtype, (2,), False), ("y", dtype, (2,), True)], f"__builtin_memcpy(p1, p0, {2 * size});")
    x, y = np.array([1, 0]).astype(dtype), np.zeros(2, dtype)
    f(x, y)
    np.testing.assert_array_equal(x, y)


def test_bfloat16(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    f = compile_kernel(tmp_path, "copy", [("x", "bfloat16", (2,), False), ("y", "bfloat16", (2,), True)], "__builtin_memcpy(p1, p0, 4);")
    x, y = np.array([1.5, -2]).astype(ml_dtypes.bfloat16), np.zeros(2, ml_dtypes.bfloat16)
    f(x, y)
    assert (x == y).all()
    refused("dtype must be bfloat16, not float16", f, x.astype(np.float16), y)


class Exported:
    """An array of somebody else's, known by DLPack only."""

    def __init__(self, array, device=None, versioned=True):
        self.array, self.claimed, self.versioned = array, device, versioned

    def __dlpack_device__(self):
        return self.claimed or self.array.__dlpack_device__()

    def __dlpack__(self, **kwargs):
        if not self.versioned and kwargs:
            raise TypeError("max_version is not known here")
        return self.array.__dlpack__(**kwargs)


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack(add, versioned):
    a, b, out = vectors()
    add(Exported(a, versioned=versioned), Exported(b, versioned=versioned), Exported(out, versioned=versioned))
    np.testing.assert_array_equal(out, a + b)


def test_dlpack_refusals(add):
    a, b, out = vectors()
    refused("argument 1 (a): must be in CPU memory, not on device DLPack type 2", add, Exported(a, device=(2, 0)), b, out)
    refused("an output must not share memory", add, a, b, Exported(a))
    out.flags.writeable = False
    refused("read-only", add, a, b, Exported(out))


def test_torch(add, copy2d):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    a, b, out = torch.rand(64), torch.rand(64), torch.zeros(64)
    add(a, b, out)
    assert torch.equal(out, a + b)
    add(a.numpy(), b, out)
    refused("argument 1 (a): must not require grad", add, a.clone().requires_grad_(), b, out)
    refused("argument 1 (a): must be in CPU memory, not on device meta", add, torch.zeros(64, device="meta"), b, out)
    refused("dtype must be float32, not bfloat16", add, a.bfloat16(), b, out)
    refused("must be compact", copy2d, torch.zeros(4, 3).T, torch.zeros(3, 4))


def test_time(add):
    a, b, out = vectors()
    result = add.time(a, b, out, number=10, repeat=7)
    assert len(result.runs) == 7 and 0 < result.median < 1 and result.spread >= 0
    assert "TimingResult(median=" in repr(result)
    refused("time: number must not be negative and repeat must be positive", lambda: add.time(a, b, out, repeat=0))
    refused("argument 3 (out)", lambda: add.time(a, b, a))


def test_measuring_can_be_forbidden(add, monkeypatch):
    monkeypatch.setenv("TW_MEASURE", "forbid")
    a, b, out = vectors()
    refused("time: measuring is forbidden by TW_MEASURE=forbid", add.time, a, b, out)
    add(a, b, out)


def test_a_loaded_function_has_no_source(add):
    refused("source: add was loaded from a file", add.source)


def test_load_refusals(tmp_path):
    refused("is not a file", tw.load, tmp_path / "none.so", error=tw.BuildError)


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """y = 2 * x over 1000 floats, in a parallel loop."""
    body = """
    struct closure { float* x; float* y; } c = {(float*)p0, (float*)p1};
    int32_t run(int64_t begin, int64_t end, void* v) {
      struct closure* c = v;
      for (int64_t i = begin; i < end; ++i) c->y[i] = 2 * c->x[i];
      return 0;
    }
    int32_t code = context->parallel_for(context, 1000, run, &c);
    if (code) return code;"""
    params = [("x", "float32", (1000,), False), ("y", "float32", (1000,), True)]
    return compile_kernel(tmp_path_factory.mktemp("twice"), "twice", params, body)


def twice_is_right(twice):
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    twice(x, y)
    return (y == 2 * x).all()


def test_thread_count(twice):
    before = tw.num_threads()
    try:
        for n in (1, 2, 5):
            tw.set_num_threads(n)
            assert tw.num_threads() == n
            assert twice_is_right(twice)
        tw.park_threads()
        assert twice_is_right(twice)
    finally:
        tw.set_num_threads(before)
    refused("set_num_threads: n must be 1 to 1024, not 0", tw.set_num_threads, 0)


def test_many_python_threads_at_once(twice):
    wrong = []
    users = [threading.Thread(target=lambda: wrong.extend(1 for _ in range(100) if not twice_is_right(twice))) for _ in range(8)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert not wrong


def test_fork(twice):
    assert twice_is_right(twice)
    child = os.fork()
    if child == 0:
        os._exit(0 if twice_is_right(twice) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_environment_sets_the_thread_count():
    run = subprocess.run([sys.executable, "-c", "import tensorwright as tw; print(tw.num_threads())"], capture_output=True, text=True,
                         env={**os.environ, "TW_NUM_THREADS": "3"})
    assert run.stdout.strip() == "3", run.stderr


def test_the_gil_is_released(tmp_path):
    """Two threads that wait for each other inside a kernel: only possible when both run at once."""
    body = """
    volatile int64_t* mine = (int64_t*)p0; volatile int64_t* theirs = (int64_t*)p1;
    __atomic_store_n((int64_t*)p2, 1, __ATOMIC_SEQ_CST);
    for (int64_t i = 0; i < 4000000000ll; ++i)
      if (__atomic_load_n((int64_t*)theirs[0], __ATOMIC_SEQ_CST)) return 0;
    return 9;"""
    meet = compile_kernel(tmp_path, "meet", [("a", "int64", (), False), ("b", "int64", (), False), ("c", "int64", (), True)], body)
    flags = [np.array(0, np.int64), np.array(0, np.int64)]
    addresses = [np.array(f.ctypes.data, np.int64) for f in flags]
    other = threading.Thread(target=lambda: meet(addresses[0], addresses[1], flags[0]))
    other.start()
    meet(addresses[1], addresses[0], flags[1])
    other.join()


SMALL = """
import numpy as np, tensorwright as tw
from tensorwright import te
A = te.placeholder((8,), name="A")
f = tw.build([A, te.compute((8,), lambda i: te.exp(A[i]), name="B")])
x, y = np.arange(8, dtype="float32"), np.zeros(8, "float32")
f(x, y)
np.testing.assert_allclose(y, np.exp(x), rtol=1e-5)
"""


@pytest.mark.parametrize("order", ["import torch\n" + SMALL, SMALL + "import torch\n" + SMALL, SMALL + "import torch\n" + SMALL + "torch.ones(64, 64) @ torch.ones(64, 64)\n"])
def test_torch_imported_before_or_after(order):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    run = subprocess.run([sys.executable, "-c", order], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_data_loader_worker_calls_a_kernel(twice):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Doubled(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            y = np.zeros(1000, np.float32)
            twice(np.full(1000, i, np.float32), y)
            return y

    assert twice_is_right(twice)
    loader = torch.utils.data.DataLoader(Doubled(), num_workers=2, multiprocessing_context="fork")
    assert [float(batch.sum()) for batch in loader] == [0.0, 2000.0, 4000.0, 6000.0]


def test_docstrings():
    import doctest
    result = doctest.testmod(tw.runtime, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 5 and result.failed == 0
