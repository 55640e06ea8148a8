"""What is shipped: the shared library keeps LLVM to itself, a missing library stops the build, and pip's package builds and tunes."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import tensorwright as tw

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(tw.__file__).parent


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)


def exported(library):
    lines = run("nm", "-D", "--defined-only", library).stdout.splitlines()
    return [line.split(maxsplit=2)[2] for line in lines]


# tw_... of the C interface; what is in namespace tw, with what the compiler makes of it: type information, guards, thunks.
OURS = re.compile(r"tw_|_Z(T[ISVT]|GV|Thn\d+_)?Z?N[KRO]*2tw")


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not installed")
def test_only_our_symbols_leave_the_library():
    symbols = exported(PACKAGE / "libtensorwright.so")
    assert any(symbol.startswith("_ZN2tw5build") for symbol in symbols)
    assert not [symbol for symbol in symbols if not OURS.match(symbol)]


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not installed")
@pytest.mark.parametrize("name", ["libtensorwright.so", "tw-worker"])
def test_llvm_is_not_a_library_of_the_system(name):
    needed = [line for line in run("readelf", "-d", PACKAGE / name).stdout.splitlines() if "NEEDED" in line]
    assert needed and not [line for line in needed if "LLVM" in line or "lld" in line]
    assert name != "tw-worker" or not any("tensorwright" in line for line in needed)


def configure(folder, *options):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TW_")}
    return run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DTW_PYTHON=OFF", "-DTW_TESTS=OFF", *options, env=environment)


NO_LLVM = ["-DTW_XGBOOST=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON"]
NO_XGBOOST = ["-DTW_LLVM=OFF", "-DTW_XGBOOST_LIBRARY=OFF"]  # as if it had been looked for in vain


@pytest.mark.parametrize("missing, apt, option", [
    (NO_LLVM, "apt-get install llvm-19-dev liblld-19-dev", "TW_LLVM"),
    (NO_XGBOOST, "apt-get install libxgboost-dev", "TW_XGBOOST"),
])
def test_a_missing_library_stops_the_build(tmp_path, missing, apt, option):
    stopped = configure(tmp_path / "a", *missing)
    assert stopped.returncode != 0
    assert apt in stopped.stderr and f"-D{option}=OFF" in stopped.stderr and "Traceback" not in stopped.stderr
    asked = configure(tmp_path / "b", *missing, f"-D{option}=OFF")
    assert asked.returncode == 0, asked.stderr


def test_without_openssl_the_build_says_what_to_install(tmp_path):
    stopped = configure(tmp_path, "-DTW_LLVM=OFF", "-DTW_XGBOOST=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON")
    assert stopped.returncode != 0
    assert "apt-get install libssl-dev libasio-dev" in stopped.stderr


USE = """
import numpy as np
import tensorwright as tw
from tensorwright import te

@tw.autotune.template("double")
def double(cfg, n):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B)
    i, = s[B].op.axis
    cfg.define_split("tile", i, num_outputs=2, max_factor=64)
    io, ii = cfg["tile"].apply(s, B, i)
    s[B].vectorize(ii)
    return s, [A, B]

task = tw.autotune.Task(double, args=(1000,))
result = tw.autotune.tune(task, trials=8, log="double.jsonl", progress=False)
assert len(result.trials) == 8
f = tw.build(task, log="double.jsonl")
a, b, c = np.arange(1000, dtype="float32"), np.zeros(1000, "float32"), np.zeros(1000, "float32")
f(a, b)
np.testing.assert_array_equal(b, 2 * a)
f.save("double.so")
tw.load("double.so")(a, c)
np.testing.assert_array_equal(c, b)
print(tw.__file__)
"""


def cache_entry(name):
    for line in (PACKAGE.parents[1] / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split("=", 1)[1]


def why_not_pip():
    if tw.Target.host().kind != "llvm":
        return "built without LLVM"
    if not (PACKAGE.parents[1] / "CMakeCache.txt").exists():
        return "this is not the package of a build tree"
    if not shutil.which("ccache") or os.environ.get("CCACHE_DISABLE"):
        return "pip compiles everything again, which takes minutes without ccache"
    if run(sys.executable, "-c", "import scikit_build_core, pybind11").returncode:
        return "scikit-build-core and pybind11 are not installed"
    return ""


@pytest.mark.skipif(bool(why_not_pip()), reason=why_not_pip() or "-")
def test_pip_install(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TW_WORKER", "TW_WORKER_BUILD")}
    # The same compiler by the same name and the same flags, so that ccache knows the results of ./dev build.
    environment |= {"CC": cache_entry("CMAKE_C_COMPILER"), "CXX": cache_entry("CMAKE_CXX_COMPILER"),
                    "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheel = run(*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-C", f"build-dir={ROOT}/build/packaging",
                "-C", f"cmake.define.TW_WERROR={cache_entry('TW_WERROR')}", "-w", tmp_path, ROOT, cwd=tmp_path, env=environment)
    assert wheel.returncode == 0, wheel.stdout[-2000:] + wheel.stderr[-2000:]
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "fresh")
    python = tmp_path / "fresh/bin/python"
    (file,) = tmp_path.glob("tensorwright-*.whl")
    installed = run(*pip, "--python", python, "install", "--no-deps", "--no-index", file, cwd=tmp_path, env=environment)
    assert installed.returncode == 0, installed.stderr
    # NumPy and tqdm come from here instead of the network.
    site = pathlib.Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
    for name in ("numpy", "numpy.libs", "tqdm"):
        here = pathlib.Path(__import__("numpy").__file__).parents[1] / name
        if here.exists():
            (site / name).symlink_to(here)
    (tmp_path / "use.py").write_text(USE)
    used = run(python, "use.py", cwd=tmp_path, env=environment)
    assert used.returncode == 0, used.stderr
    assert used.stdout.strip() == str(site / "tensorwright/__init__.py")
    doctor = run(tmp_path / "fresh/bin/tw", "doctor", "--json", cwd=tmp_path, env=environment)
    assert '"version"' in doctor.stdout, doctor.stderr
    files = {path.name for path in (site / "tensorwright").iterdir()}
    assert {"libtensorwright.so", "tw", "tw-worker", "tw-worker-build", "py.typed", "errors.pyi"} <= files
    assert not any(name.startswith(("test", "bench", "tw-opt")) for name in files)
