"""Scripts in processes of their own, with the driver that has no device (tests/fake_cuda)."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

from tensorwright import _core

FAKE = pathlib.Path(_core.__file__).resolve().parents[2] / "tests/libfake_cuda.so"
needs_fake = pytest.mark.skipif(not FAKE.exists(), reason="skipped: this build has no tests/libfake_cuda.so")


def run(script, **variables):
    """What the script prints; its last error when it fails."""
    variables = {"TW_CUDA_DRIVER": str(FAKE), "TW_CUDA_IMAGES": "ir", **variables}
    here = str(pathlib.Path(__file__).parent)
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    head = "import numpy as np, tensorwright as tw\nfrom tensorwright import te\nfrom cuda_scripts import *\n"
    done = subprocess.run([sys.executable, "-c", head + textwrap.dedent(script)], env={**os.environ, "PYTHONPATH": path, **variables},
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def has_nvrtc(cache):
    """Whether this machine has the compiler."""
    return "yes" in run("""
        try:
            print("yes" if tw.build(*pointwise(100), target="cuda -arch=sm_80").resources else "")
        except tw.BuildError as error:
            print(error.args)
    """, TW_CUDA_IMAGES="", TW_CACHE_DIR=str(cache))
