"""Functions for CUDA devices: built, called and refused, by a driver without a device (tests/fake_cuda), each in a process of its own."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import tensorwright as tw
from tensorwright import _core, te

import cuda_scripts
from fake_device import FAKE, has_nvrtc, needs_fake, run


@needs_fake
class TestCalls:
    def test_many_intermediates(self):
        run("""
            A = te.placeholder((40,), name="A")
            stages = [A]
            for n in range(40):
                stages.append(te.compute((40,), lambda i: stages[-1][i] + 1.0, name=f"S{n}"))
            s = te.create_schedule(stages[-1])
            for stage in stages[1:]:
                s[stage].bind(stage.op.axis[0], "threadIdx.x")
            f = tw.build(s, [A, stages[-1]], target="cuda", name="chain")
            a, c = tw.device_array(random(40)), tw.device_array(np.zeros(40, "float32"))
            f(a, c)
            assert (c.numpy() == a.numpy() + 40).all()
        """)

    def test_pointwise_of_any_size(self):
        run("""
            f = tw.build(*pointwise(), target="cuda", name="add")
            assert f.target == "cuda -arch=sm_90a"
            for n in (1, 128, 1000):
                a, b, c = tw.device_array(random(n)), tw.device_array(random(n)), tw.device_array(np.zeros(n, "float32"))
                f(a, b, c)
                assert (c.numpy() == 2 * random(n)).all()
        """)

    def test_whole_vectors(self):
        run("""
            f = tw.build(*pointwise(4096, vector=4), target="cuda", name="add")
            assert "f32x4" in f.source("cuda")
            a, c = tw.device_array(random(4096)), tw.device_array(np.zeros(4096, "float32"))
            f(a, a, c)
            assert (c.numpy() == 2 * random(4096)).all()
        """)

    def test_row_sum(self):
        run("""
            f = tw.build(*row_sum(5, 1000), target="cuda", name="row_sum")
            a, b = tw.device_array(random(5, 1000)), tw.device_array(np.zeros(5, "float32"))
            f(a, b)
            assert (b.numpy() == random(5, 1000).sum(1)).all()
        """)

    @pytest.mark.parametrize("sizes", [(64, 64, 32), (45, 70, 19)])
    def test_gemm(self, sizes):
        run(f"""
            n, m, k = {sizes}
            f = tw.build(*gemm(n, m, k), target="cuda", name="gemm")
            a, b, c = tw.device_array(random(n, k)), tw.device_array(random(k, m)), tw.device_array(np.zeros((n, m), "float32"))
            f(a, b, c)
            assert (c.numpy() == random(n, k) @ random(k, m)).all()
        """)

    def test_arrays_without_an_axis(self):
        run("""
            A = te.placeholder((40,), name="A")
            k = te.reduce_axis((0, 40), name="k")
            B = te.compute((), lambda: te.sum(A[k], axis=k), name="B")
            s = te.create_schedule(B)
            s[B].bind(k, THREAD)
            f = tw.build(s, [A, B], target="cuda", name="all")
            a, b = tw.device_array(random(40)), tw.device_array(np.float32(0))
            assert b.shape == ()
            f(a, b)
            assert b.numpy() == random(40).sum() and b.numpy().shape == ()
        """)

    def test_integers_of_four_bits(self):
        run("""
            A = te.placeholder((5, 13), "int4", name="A")
            B = te.compute((5, 13), lambda i, j: A[i, j].astype("int32") * 3, name="B")
            s = te.create_schedule(B)
            s[B].bind(B.op.axis[0], BLOCK)
            s[B].bind(B.op.axis[1], THREAD)
            f = tw.build(s, [A, B], target="cuda", name="unpack")
            values = np.arange(65, dtype="int8").reshape(5, 13) % 16 - 8
            packed = tw.pack_int4(values)
            a, b = tw.device_array(packed), tw.device_array(np.zeros((5, 13), "int32"))
            assert (a.dtype, a.shape, a.__cuda_array_interface__["shape"]) == ("int4", (5, 13), (33,))
            f(a, b)
            assert (b.numpy() == values.astype("int32") * 3).all()
            assert (tw.unpack_int4(a.numpy()) == values).all()
            text = refusal(f, packed, b)
            assert "unpack: argument 1 (A): must be in the memory of a CUDA device, not a tw.Int4Array" in text and "tw.device_array" in text
        """)

    def test_arrays_of_other_libraries(self):
        run("""
            f = tw.build(*pointwise(100), target="cuda", name="add")
            base, c = tw.device_array(random(300)), tw.device_array(np.zeros(100, "float32"))
            f(Interface(base, (100,)), Interface(base, (100,), offset=100, strides=(4,), stream=1), c)
            assert (c.numpy() == random(300)[:100] + random(300)[100:200]).all()
            a = Tensor(tw.device_array(random(100)))
            f(a, a, c)
            assert (c.numpy() == 2 * random(100)).all()
            assert a.streams == [1, 1]  # the default one
            f(a, a, c, stream=77)
            assert a.streams == [1, 1, 77, 77]
        """)

    def test_strides_that_are_declared(self):
        run("""
            A, B = te.placeholder((4, 8), name="A", strides=[16, 1]), te.placeholder((4, 8), name="B")
            C = te.compute((4, 8), lambda i, j: A[i, j] + B[i, j], name="C")
            f = tw.build(tw.default_schedule(C, "cuda"), [A, B, C], target="cuda", name="add")
            base, b, c = tw.device_array(random(64)), tw.device_array(random(32).reshape(4, 8)), tw.device_array(np.zeros((4, 8), "float32"))
            f(Interface(base, (4, 8), strides=(64, 4)), b, c)
            assert (c.numpy() == random(64).reshape(4, 16)[:, :8] + random(32).reshape(4, 8)).all()
            for compact in (b, Exchanged(b)):
                assert "argument 1 (A): must be strided as declared, (16, 1), not compact (row-major)" in refusal(f, compact, b, c)
        """)

    def test_a_library_with_the_c_functions_of_dlpack(self):
        run("""
            f = tw.build(*pointwise(100), target="cuda", name="add")
            base, c = tw.device_array(random(100)), tw.device_array(np.zeros(100, "float32"))
            a, out = Exchanged(base), Exchanged(c)
            f(a, Exchanged(base, strides=(1,)), out)
            assert (c.numpy() == 2 * random(100)).all() and Exchanged.looked == 3
            Exchanged.stream = 77
            f(a, a, out)
            assert "argument 2 (B): shape must be (100,), not (99,)" in refusal(f, a, Exchanged(tw.device_array(random(99))), out)
            assert "in the memory of a CUDA device, not in that of the CPU" in refusal(f, a, Exchanged(base, device=(1, 0)), out)
            assert "requires gradient" in refusal(f, a, Exchanged(base, requires_grad=True), out)
            f(a, base, out)  # of two libraries: each says when it is ready
        """)

    def test_a_device_for_each_ordinal(self):
        run("""
            f = tw.build(*pointwise(100), target="cuda", name="add")
            a, c = tw.device_array(random(100), "cuda:1"), tw.device_array(np.zeros(100, "float32"), 1)
            assert (a.device, repr(c)) == ("cuda:1", "<tensorwright.DeviceArray float32(100,) on cuda:1>")
            f(a, a, c)
            assert (c.numpy() == 2 * random(100)).all()
            assert "argument 3 (C): must be on cuda:1 as argument 1 is, not on cuda:0" in refusal(f, a, a, tw.device_array(random(100)))
            assert "there is no device cuda:2" in refusal(tw.device_array, random(3), 2)
        """, FAKE_CUDA_DEVICES="2")

    def test_graphs(self):
        run("""
            f = tw.build(*pointwise(), target="cuda", name="add")
            a, c = tw.device_array(random(300)), tw.device_array(np.zeros(300, "float32"))
            g = f.graph(a, a, c)
            assert repr(g) == "<tensorwright.Graph of add on cuda:0>" and not c.numpy().any()
            g()
            assert (c.numpy() == 2 * random(300)).all()
            assert "must not share memory" in refusal(f.graph, a, a, a)
            h = tw.build(*two_launches(40, 50), target="cuda", name="sums")
            a, b = tw.device_array(random(40, 50)), tw.device_array(np.zeros(1, "float32"))
            g = h.graph(a, b)
            g(stream=77)
            g()
            assert b.numpy() == random(40, 50).sum()
            on_host = tw.build([te.compute((4,), lambda i: i + 1, name="D")], target="interp")
            assert "only functions of target cuda have graphs" in refusal(on_host.graph, np.zeros(4, "int64"))
        """)

    def test_time_is_the_devices(self):
        run("""
            f = tw.build(*pointwise(100), target="cuda", name="add")
            a, c = tw.device_array(random(100)), tw.device_array(np.zeros(100, "float32"))
            result = f.time(a, a, c, number=2, repeat=3)
            assert len(result.runs) == 3 and result.median > 0
        """)


def launches(**variables):
    """What pytest says of the schedules of test_launches*.py when their functions are built for a device too."""
    here = pathlib.Path(__file__).parent
    path = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "also_for_cuda", "-p", "no:cacheprovider",
               *(str(here / f"test_launches{of}.py") for of in ("", "_tvm", "_sums", "_scans"))]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path, **variables}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split(" built for a device")[0].split()[-1]) > 70
    return done.stdout


class TestSchedulesOfScripts:
    @needs_fake
    def test_calls(self):
        launches(TW_CUDA_DRIVER=str(FAKE), TW_CUDA_IMAGES="ir")

    def test_registers(self, tmp_path):
        if not has_nvrtc(tmp_path):
            pytest.skip("skipped: no NVRTC (pip install nvidia-cuda-nvrtc)")
        launches(ALSO_FOR_CUDA="compile", TW_CACHE_DIR=str(tmp_path))


class TestWithoutADriver:
    def test_text_is_shown_without_a_compiler_and_calls_name_the_package(self):
        run("""
            f = tw.build(*row_sum(5, 1000), target="cuda -arch=sm_90a", name="row_sum")
            assert "__syncthreads()" in f.source("cuda") and "tw_row_sum_0: 5 x 1 x 1 blocks" in f.source("launches")
            text = refusal(lambda: f.resources)
            assert "BuildError" in text and "pip install nvidia-cuda-nvrtc" in text
        """, TW_CUDA_IMAGES="", TW_NVRTC="/nowhere/libnvrtc.so", TW_CUDA_DRIVER="/nowhere/libcuda.so")

    @pytest.mark.parametrize("library, why", [("nowhere.so", "cannot open shared object file"), ("empty.so", "file too short"),
                                              ("other.so", "has no nvrtcVersion: it is another library, or older than CUDA 11.1")])
    def test_what_is_no_compiler_and_no_driver(self, library, why, tmp_path):
        path = tmp_path / library
        if library == "empty.so":
            path.touch()
        if library == "other.so":
            path.symlink_to(_core.__file__)
        run(f"""
            f = tw.build(*pointwise(100), target="cuda -arch=sm_90a", name="add")
            text = refusal(lambda: f.resources)
            assert "BuildError" in text and "TW_NVRTC says that it is {path}" in text and {why!r} in text and "pip install nvidia-cuda-nvrtc" in text, text
            text = refusal(tw.device_array, random(4))
            assert "TargetError" in text and "the driver {path} " in text and {why.replace("nvrtcVersion", "cuInit").split(":")[0]!r} in text, text
        """, TW_CUDA_IMAGES="", TW_NVRTC=str(path), TW_CUDA_DRIVER=str(path))

    @pytest.mark.parametrize("shape", [(1 << 20,), (4096, 1000)])
    def test_elements_in_place_are_read_in_vectors(self, shape):
        A, B = te.placeholder(shape, name="A"), te.placeholder(shape, name="B")
        C = te.compute(shape, lambda *i: te.max(A(*i) * B(*i) + A(*i), 0.0), name="C")
        assert "f32x4" in tw.build([A, B, C], target="cuda -arch=sm_90a").source("cuda")

    @pytest.mark.parametrize("word", ["bitand", "compl", "not_eq", "static_cast", "thread_local", "char16_t", "alignof"])
    def test_words_of_the_language_name_nothing(self, word):
        A = te.placeholder((8,), name=word)
        text = tw.build([A, te.compute((8,), lambda i: A[i] + 1.0, name=f"{word}_")], target="cuda -arch=sm_90a").source("cuda")
        assert not re.search(rf"\b{word}\b *[\[;,)]", text), text

    def test_sizes_of_several_lines_are_a_comment(self):
        m = te.var("m")
        A, r = te.placeholder((16, m), name="A"), te.reduce_axis((0, m), name="r")
        T = te.compute((16,), lambda i: te.sum(A[i, r], axis=r), name="T")
        s = te.create_schedule(T)
        outer, _ = s[T].split(r, factor=m // 2 + 1)
        part = s.rfactor(T, outer, -2)
        turn, block = s[part].split(s[part].op.axis[0], nparts=4, tail="pad")
        s[part].bind(turn, te.thread_axis("threadIdx.y"))
        s[part].bind(block, te.thread_axis("blockIdx.x"))
        s[T].bind(T.op.axis[0], te.thread_axis("blockIdx.x"))
        lines = tw.build(s, [A, T], target="cuda -arch=sm_90a").source("cuda").splitlines()
        first = next(n for n, line in enumerate(lines) if ": grid (" in line)
        last = next(n for n, line in enumerate(lines) if n > first and line.startswith('extern "C"'))
        assert last - first > 1 and all(line.startswith("// ") for line in lines[first:last])

    def test_launches_that_align_shared_memory_differently(self):
        """A file has one array of dynamic shared memory, which NVRTC wants to be declared the same way everywhere."""
        A, B, D = (te.placeholder(shape, dtype, name=name) for name, shape, dtype in
                   (("A", (512, 512), "bfloat16"), ("B", (512, 512), "bfloat16"), ("D", (512, 512), "float32")))
        k, m = te.reduce_axis((0, 512), name="k"), te.reduce_axis((0, 512), name="m")
        C = te.compute((512, 512), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
        E = te.compute((512, 512), lambda i, j: te.sum(C[i, m] * D[m, j], axis=m), name="E")
        s = te.create_schedule(E)
        rows = s.cache_read(C, "shared", [E])
        i, j = s[E].op.axis
        s[E].bind(i, te.thread_axis("blockIdx.x"))
        block, thread = s[E].split(j, factor=256)
        s[E].bind(thread, te.thread_axis("threadIdx.x"))
        s[rows].compute_at(s[E], i)
        wide = s.cache_read(D, "shared", [E])
        mo, mi = s[E].split(s[E].op.reduce_axis[0], factor=64)
        s[E].reorder(i, block, mo, thread, mi)
        s[wide].compute_at(s[E], mo)
        io, jo, ii, ji = s[C].tile(*C.op.axis, 128, 256)
        group, ii = s[C].split(ii, factor=64)
        ko, ki = s[C].split(k, factor=64)
        kt, ki = s[C].split(ki, factor=16)
        s[C].reorder(io, jo, group, ko, kt, ii, ji, ki)
        for axis, index in ((io, "blockIdx.y"), (jo, "blockIdx.x"), (group, "threadIdx.y")):
            s[C].bind(axis, te.thread_axis(index))
        for operand in (s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])):
            s[operand].compute_at(s[C], ko)
            s[operand].swizzle()
        s[C].tensorize(ii, "wgmma.m64n256k16.bf16")
        s[C].pipeline(ko, 3)
        text = tw.build(s, [A, B, D, E], target="cuda -arch=sm_90a").source("cuda")
        assert text.count("alignas(1024) extern __shared__") == 2 == text.count("extern __shared__"), text

    def test_what_the_compiler_made(self, tmp_path):
        if not has_nvrtc(tmp_path):
            pytest.skip("skipped: no NVRTC (pip install nvidia-cuda-nvrtc)")
        run(f"""
            for arch in ("sm_80", "sm_89", "sm_90a"):
                for made in (pointwise(), pointwise(4096, vector=4), row_sum(5, 1000), gemm(64, 64, 32), gemm(45, 70, 19)):
                    f = tw.build(*made, target="cuda -arch=" + arch)
                    (of,) = f.resources
                    assert of["registers"] > 0 and of["stack_bytes"] == of["spill_loads"] == of["spill_stores"] == 0 and not of["warnings"], (of, f.source("cuda"))
            f.save({str(tmp_path / "f.cubin")!r})
            f.save({str(tmp_path / "f.cu")!r})
        """, TW_CUDA_IMAGES="", TW_CACHE_DIR=str(tmp_path))
        assert (tmp_path / "f.cubin").read_bytes()[:4] == b"\x7fELF"
        assert "__global__" in (tmp_path / "f.cu").read_text()


def device_here():
    try:
        return tw.device_info()
    except tw.TargetError:
        return None


@pytest.mark.skipif(device_here() is None, reason="skipped: no CUDA device")
class TestOnADevice:
    @pytest.mark.parametrize("made", ["pointwise(100000)", "pointwise(1 << 20, vector=4)", "gemm(256, 256, 64)", "gemm(257, 130, 65)"])
    def test_kernels(self, made):
        s, tensors = eval(made, vars(cuda_scripts))  # noqa: S307
        f = tw.build(s, tensors, target="cuda")
        arrays = [cuda_scripts.random(*arg.shape) for arg in f.args]
        there = [tw.device_array(array) for array in arrays]
        f(*there)
        expected = arrays[0] @ arrays[1] if made.startswith("gemm") else arrays[0] + arrays[1]
        assert (there[-1].numpy() == expected).all()

    def test_row_sum(self):
        f = tw.build(*cuda_scripts.row_sum(100, 5000), target="cuda")
        a = cuda_scripts.random(100, 5000)
        there = [tw.device_array(a), tw.device_array(a[:, 0])]
        f(*there)
        assert (there[1].numpy() == a.sum(1)).all()
