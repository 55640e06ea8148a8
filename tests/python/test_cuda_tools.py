"""What tw doctor says of GPUs, and ./dev demo --target cuda: with a driver and a management library that have no device, and without any."""

import json
import os
import pathlib
import subprocess
import sys

import boards
import pytest
from fake_device import FAKE, has_nvrtc, needs_fake

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOWHERE = {"TW_CUDA_DRIVER": "/nowhere/libcuda.so", "TW_NVML": "/nowhere/libnvidia-ml.so"}
HERE = {"TW_CUDA_DRIVER": str(FAKE), "TW_NVML": str(FAKE), "TW_CUDA_IMAGES": "ir"}


def doctor(**variables):
    done = subprocess.run([boards.PACKAGE / "tw", "doctor", "--json"], env={**os.environ, **variables}, capture_output=True, text=True, timeout=120)
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


@pytest.mark.skipif(not (boards.PACKAGE / "tw").exists(), reason="skipped: this build has no tw")
class TestDoctor:
    def test_a_machine_without_a_gpu_has_no_fault(self):
        checks = doctor(**NOWHERE)
        assert {checks[name]["state"] for name in ("GPU", "GPU state", "GPU tuning")} == {"ok"}
        assert "/nowhere/libcuda.so cannot be loaded" in checks["GPU"]["detail"] and "--pack" in checks["GPU tuning"]["detail"]

    @needs_fake
    def test_what_a_gpu_is_and_does(self):
        checks = doctor(**HERE)
        assert "driver of CUDA 13.0; cuda:0 Fake GPU, sm_90a, 132 processors, 1.0 GiB" in checks["GPU"]["detail"]
        condition = checks["GPU state"]
        assert condition["state"] == "ok" and "1410 MHz of 1980, 41 °C, busy 0 %, ECC on (0 errors uncorrected), nobody else" in condition["detail"]
        assert checks["GPU tuning"]["state"] == "ok" and "built, run, checked and timed" in checks["GPU tuning"]["detail"]

    @needs_fake
    @pytest.mark.parametrize("variables, words", [({"FAKE_NVML_PROCESS": "4711"}, "others use it"), ({"FAKE_NVML_ERRORS": "2"}, "its memory has errors"),
                                                  ({"TW_NVML": NOWHERE["TW_NVML"]}, "libnvidia-ml.so.1")])
    def test_what_disturbs(self, variables, words):
        condition = doctor(**{**HERE, **variables})["GPU state"]
        assert condition["state"] == "warn" and words in condition["way_out"], condition

    @needs_fake
    def test_a_gpu_and_no_compiler(self):
        check = doctor(**{**HERE, "TW_CUDA_IMAGES": "", "TW_NVRTC": "/nowhere/libnvrtc.so"})["GPU tuning"]
        assert check["state"] == "warn" and "pip install nvidia-cuda-nvrtc" in check["way_out"]


def demo(folder, *options, **variables):
    command = [sys.executable, str(ROOT / "examples/demo.py"), "--target", "cuda", "--log", str(folder / "demo.jsonl"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "TW_CACHE_DIR": str(folder), **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestDemo:
    def test_without_a_gpu(self, tmp_path):
        said = demo(tmp_path, **NOWHERE)
        for words in ("cannot be loaded", "occupancy", "__global__", "threads, A, B,", "agree with NumPy", "tw-measure"):
            assert words in said, words
        if has_nvrtc(tmp_path):
            assert "registers" in said and " 0 bytes of spills" in said

    @needs_fake
    def test_on_a_gpu(self, tmp_path):
        said = demo(tmp_path, "--shape", "40x36x24", "--trials", "3", **HERE)
        for words in ("best of 3 measured", "agrees with NumPy", "float32, Fake GPU", "untuned", "PyTorch, addmm and relu", "equal bit for bit"):
            assert words in said, words
