"""What calls for CUDA devices refuse, and what they say of faults that the driver (tests/fake_cuda) reports."""

import pytest

from fake_device import has_nvrtc, needs_fake, run


@needs_fake
class TestRefusals:
    def test_arrays_of_the_host(self):
        run("""
            f = tw.build(*pointwise(100), target="cuda", name="add")
            a = tw.device_array(random(100))
            text = refusal(f, a, random(100), a)
            assert "ArgumentError" in text and "add: argument 2 (B): must be in the memory of a CUDA device, not a NumPy array" in text
            assert "tw.device_array" in text
            assert "argument 1 (A): must be in the memory of a CUDA device, not in that of the CPU" in refusal(f, Tensor(a, (1, 0)), a, a)
            assert "argument 1 (A): must be an array in the memory of a CUDA device, not 3" in refusal(f, 3, a, a)
        """)

    def test_interfaces_of_other_libraries(self):
        """Which say too little, or more than a kernel can heed."""
        run("""
            f = tw.build(*pointwise(100), target="cuda", name="add")
            base, c = tw.device_array(random(300)), tw.device_array(random(100))
            def said(**changed):
                array = Interface(base, (100,))
                array.__cuda_array_interface__.update(changed)
                for name in [name for name, value in changed.items() if value is None]:
                    del array.__cuda_array_interface__[name]
                return refusal(f, array, base, c)
            array = Interface(base, (100,))
            array.__cuda_array_interface__ = 3
            assert "argument 1 (A): must have a dict as its __cuda_array_interface__, not 3" in refusal(f, array, base, c)
            assert "argument 1 (A): must have all of its elements, and its __cuda_array_interface__ has a mask" in said(mask=c)
            for changed in (dict(data=None), dict(data=3), dict(data=("0x10", False)), dict(data=(-16, False)), dict(shape=None), dict(shape=100), dict(shape=("100",)),
                            dict(shape=(-100,)), dict(typestr=None), dict(strides=(4, 4)), dict(strides=("4",)), dict(strides=4), dict(stream="x"), dict(stream=-1)):
                ((what, value),) = changed.items()
                assert "ArgumentError" in (text := said(**changed)) and "argument 1 (A): " in text and what in text and ("which has none" if value is None else repr(value)) in text, text
            assert "DTypeError" in said(typestr=">f4") and "has a dtype that no kernel takes: >f4" in said(typestr=">f4")
            assert "DTypeError" in said(typestr="four") and "has a typestr that NumPy does not know: four" in said(typestr="four")
        """)

    def test_shapes_and_overlaps_as_elsewhere(self):
        run("""
            f = tw.build(*pointwise(100), target="cuda", name="add")
            a, b = tw.device_array(random(100)), tw.device_array(random(99))
            assert "argument 2 (B): shape must be (100,), not (99,)" in refusal(f, a, b, a)
            assert "must not share memory" in refusal(f, a, a, a)
            assert "takes 3 arguments" in refusal(f, a)
            assert "DTypeError" in refusal(f, tw.device_array(np.zeros(100, "int32")), a, a)
        """)

    def test_streams(self):
        run("""
            f = tw.build(*pointwise(100), target="cuda", name="add")
            a, c = tw.device_array(random(100)), tw.device_array(random(100))
            assert "stream must be a stream of PyTorch or CuPy" in refusal(f, a, a, c, stream="fast")
            g = tw.build([te.compute((4,), lambda i: i + 1, name="D")], target="interp")
            assert "only functions of target cuda take a stream" in refusal(g, np.zeros(4, "int64"), stream=1)
            class Proposed:
                def __init__(self, said):
                    self.said = said
                def __cuda_stream__(self):
                    return self.said
            f(a, a, c, stream=Proposed((0, 77)))
            for said in (3, (0,), (0, -3), (0, "x"), None):
                assert "ArgumentError" in (text := refusal(f, a, a, c, stream=Proposed(said))) and "stream must be a stream of PyTorch or CuPy" in text, text
        """)

    def test_streams_of_another_device(self):
        """Of objects that say where they are, and of numbers, which the driver knows."""
        run("""
            import ctypes, os
            f = tw.build(*pointwise(100), target="cuda", name="add")
            a, c = tw.device_array(random(100), 1), tw.device_array(random(100), 1)
            class Theirs:
                def __init__(self, **said):
                    self.__dict__.update(said)
            class Device:
                type, index = "cuda", 0
            for stream in (Theirs(cuda_stream=77, device=Device()), Theirs(ptr=77, device_id=0)):
                text = refusal(f, a, a, c, stream=stream)
                assert "ArgumentError" in text and "add: stream must be one of cuda:1, where the arrays are, not of cuda:0" in text, text
            f(a, a, c, stream=Theirs(ptr=77, device_id=1))
            f(a, a, c, stream=Theirs(ptr=77, device_id=-1))  # CuPy's null and per-thread streams: of the current device
            g = f.graph(a, a, c)
            assert "add.graph: stream must be one of cuda:1" in refusal(g, stream=Theirs(ptr=77, device_id=0))
            driver, stream, here = ctypes.CDLL(os.environ["TW_CUDA_DRIVER"]), ctypes.c_void_p(), ctypes.c_void_p()
            driver.cuCtxPushCurrent_v2(ctypes.c_void_p(1))
            driver.cuStreamCreate(ctypes.byref(stream), 0)
            driver.cuCtxPopCurrent_v2(ctypes.byref(here))
            for call in (f, lambda *_, stream: g(stream=stream)):
                text = refusal(call, a, a, c, stream=stream.value)
                assert "on cuda:1 failed: CUDA_ERROR_INVALID_HANDLE" in text and "the stream may be of another device, or gone: the arrays are on cuda:1" in text, text
        """, FAKE_CUDA_DEVICES="2")

    def test_views_that_no_vector_begins_at(self):
        run("""
            f = tw.build(*pointwise(1024, vector=4), target="cuda", name="add")
            base, c = tw.device_array(random(2000)), tw.device_array(np.zeros(1024, "float32"))
            assert "A must begin at a multiple of 16 bytes" in refusal(f, Interface(base, (1024,), offset=1), Interface(base, (1024,)), c)
        """)

    def test_arrays_that_are_there_already(self):
        run("""
            a = tw.device_array(random(100))
            text = refusal(tw.device_array, a)
            assert "ArgumentError" in text and "device_array: array must be in the memory of the host, not on cuda:0" in text and ".numpy()" in text, text
        """)

    def test_no_memory(self):
        run("""
            text = refusal(tw.device_array, np.zeros(1 << 20, "float32"))
            assert "cuda:0: there is no memory for 4194304 bytes" in text and "1000000 of 1000000 are free" in text
        """, FAKE_CUDA_BYTES="1000000")

    def test_another_architecture(self):
        run("""
            f = tw.build(*pointwise(100), target="cuda -arch=sm_90a", name="add")
            a, c = tw.device_array(random(100)), tw.device_array(random(100))
            assert "add: code for sm_90a does not run on cuda:0, a Fake GPU (sm_80)" in refusal(f, a, a, c)
            assert tw.device_info()["arch"] == "sm_80"
        """, FAKE_CUDA_CAPABILITY="8.0")

    def test_a_newer_device_translates(self):
        """Code of an architecture runs on its own devices, and by PTX on all that are newer."""
        run("""
            for arch in ("sm_80", "sm_90a"):
                f = tw.build(*pointwise(100), target=f"cuda -arch={arch}", name="add")
                a, c = tw.device_array(random(100)), tw.device_array(random(100))
                f(a, a, c)
                assert (c.numpy() == 2 * random(100)).all()
        """, FAKE_CUDA_CAPABILITY="12.0")

    def test_no_device(self):
        run("""
            assert str(tw.Target("cuda")) == "cuda -arch=sm_80"
            assert "TargetError" in refusal(tw.Target, "cuda -arch=native")
            text = refusal(tw.device_array, random(4))
            assert "TargetError" in text and "no device: CUDA_ERROR_NO_DEVICE" in text
        """, FAKE_CUDA_DEVICES="0")

    def test_a_schedule_without_binds(self):
        run("""
            A = te.placeholder((100,), name="A")
            B = te.compute((100,), lambda i: A[i] + 1, name="B")
            assert "bind" in refusal(tw.build, te.create_schedule(B), [A, B], target="cuda")
        """)


@needs_fake
class TestFaults:
    """Of a kernel that ran, or of the device: all calls of the process fail from then on, and say which it was."""

    SCRIPT = """
        f = tw.build(*pointwise(100), target="cuda", name="add")
        g, h = tw.build(*two_launches(40, 50), target="cuda", name="sums"), tw.build(*row_sum(5, 1000), target="cuda", name="rows")
        a, c = tw.device_array(random(100)), tw.device_array(random(100))
        ga, gb = tw.device_array(random(40, 50)), tw.device_array(np.zeros(1, "float32"))
        ha, hb = tw.device_array(random(5, 1000)), tw.device_array(np.zeros(5, "float32"))
        later = {"launch": lambda: h(ha, hb), "scratch": lambda: g(ga, gb), "again": lambda: f(a, a, c), "time": lambda: f.time(a, a, c), "copy": c.numpy,
                 "allocation": lambda: tw.device_array(random(3)), "stream": lambda: f(Interface(a, (100,), stream=5), a, c)}
    """

    def test_an_illegal_address_is_of_the_kernel_before(self):
        run(self.SCRIPT + """
        f(a, a, c)
        for name, call in later.items():
            text = refusal(call)
            assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text and "no memory" not in text, (name, text)
            assert "add was launched last on cuda:0: its fault, or that of one before it" in text, (name, text)
            assert "end this process" in text and 'target="interp"' in text, (name, text)
        """, FAKE_CUDA_FAULT="illegal")

    def test_the_first_launch_of_a_call(self):
        run(self.SCRIPT + """
        text = refusal(g, ga, gb)
        assert "sums: launching tw_sums_1 on cuda:0 failed" in text and "sums was launched last on cuda:0" in text, text
        """, FAKE_CUDA_FAULT="illegal")

    def test_a_device_that_is_lost(self):
        run(self.SCRIPT + """
        f(a, a, c)
        for name, call in later.items():
            text = refusal(call)
            assert "CUDA_ERROR_DEVICE_UNAVAILABLE" in text and "no memory" not in text, (name, text)
            assert "cuda:0 is lost or broken, whatever ran there: nvidia-smi" in text and "launched last" not in text, (name, text)
        """, FAKE_CUDA_FAULT="lost")

    def test_a_driver_that_is_older_than_the_compiler(self, tmp_path):
        """Of code, and of text that it would have to translate: this driver takes neither."""
        if not has_nvrtc(tmp_path):
            pytest.skip("skipped: no NVRTC (pip install nvidia-cuda-nvrtc)")
        for capability, code in (("8.0", "CUDA_ERROR_NO_BINARY_FOR_GPU"), ("12.0", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION")):
            run(f"""
                f = tw.build(*pointwise(100), target="cuda -arch=sm_80", name="add")
                a, c = tw.device_array(random(100)), tw.device_array(random(100))
                text = refusal(f, a, a, c)
                assert "BuildError" in text and "add: cuda:0 does not take the code for sm_80: {code}" in text, text
                assert "the driver (CUDA 12.4) may be older than the compiler: tw doctor shows both" in text, text
            """, FAKE_CUDA_CAPABILITY=capability, FAKE_CUDA_VERSION="12.4", TW_CUDA_IMAGES="", TW_CACHE_DIR=str(tmp_path))
