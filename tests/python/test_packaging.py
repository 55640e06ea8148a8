"""What is shipped: the shared library keeps LLVM to itself, a missing library stops the build, and the wheel tunes where no library of ours is."""

import os
import pathlib
import platform
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


BUILD = PACKAGE.parents[1]


def why_no_wheel():
    if tw.Target.host().kind != "llvm":
        return "built without LLVM"
    if not (BUILD / "CMakeCache.txt").exists():
        return "this is not the package of a build tree"
    if not shutil.which("ccache") or os.environ.get("CCACHE_DISABLE"):
        return "pip compiles everything again, which takes minutes without ccache"
    if run(sys.executable, "-c", "import scikit_build_core, pybind11, auditwheel").returncode:
        return "scikit-build-core, pybind11 and auditwheel are not installed"
    return ""


PYTHONS_OWN = {"libffi.so", "libssl.so", "libcrypto.so"}


def without_libraries(names):
    """A command before a command: it runs where neither LLVM nor these libraries of the system are; or why there is none."""
    files = [f for n in names for f in pathlib.Path("/usr/lib").glob(f"*-linux-gnu/{n}*") if not f.is_symlink()]
    hide = ["mount -t tmpfs none /usr/lib/llvm-19", *(f"mount --bind /dev/null {file}" for file in files)]
    command = ["unshare", "--map-root-user", "--mount", "sh", "-ec", "; ".join([*hide, 'exec "$@"']), "-"]
    tried = run(*command, "true")
    return (command, "") if tried.returncode == 0 else ([], tried.stderr)


@pytest.mark.skipif(bool(why_no_wheel()), reason=why_no_wheel() or "-")
def test_the_wheel_brings_all_that_it_needs(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TW_WORKER", "TW_WORKER_BUILD", "LD_LIBRARY_PATH")}
    made = run(sys.executable, ROOT / "python/make_wheel.py", tmp_path, "--like", BUILD)
    assert made.returncode == 0, made.stderr
    wheel = pathlib.Path(made.stdout.strip())
    (floor,) = re.findall(r"manylinux_2_(\d+)_x86_64\.whl$", wheel.name)
    if platform.libc_ver()[1] == "2.36":  # a newer system's wheel asks for more
        assert f"glibc 2.{floor}" in (ROOT / "README.md").read_text()
    assert wheel.stat().st_size <= 45e6

    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "fresh")
    python = tmp_path / "fresh/bin/python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    installed = run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path, env=environment)
    assert installed.returncode == 0, installed.stderr
    # NumPy and tqdm come from here instead of the network.
    site = pathlib.Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
    for name in ("numpy", "numpy.libs", "tqdm"):
        here = pathlib.Path(__import__("numpy").__file__).parents[1] / name
        if here.exists():
            (site / name).symlink_to(here)

    brought = {re.sub(r"-[0-9a-f]{8}\.so.*", ".so", path.name) for path in (site / "tensorwright.libs").iterdir()}
    assert "libxgboost.so" in brought
    hidden, reason = without_libraries(brought - PYTHONS_OWN)
    if not hidden:
        print(f"the system's libraries could not be hidden: {reason}")
    (tmp_path / "use.py").write_text(USE)
    used = run(*hidden, python, "use.py", cwd=tmp_path, env=environment)
    assert used.returncode == 0, used.stderr
    assert used.stdout.strip() == str(site / "tensorwright/__init__.py")
    doctor = run(*hidden, tmp_path / "fresh/bin/tw", "doctor", "--json", cwd=tmp_path, env=environment)
    assert '"version"' in doctor.stdout, doctor.stderr
    files = {path.name for path in (site / "tensorwright").iterdir()}
    assert {"libtensorwright.so", "tw", "tw-worker", "tw-worker-build", "py.typed", "errors.pyi"} <= files
    assert (site / "tensorwright/cmake/TensorwrightConfig.cmake").exists()
    assert not any(name.startswith(("test", "bench", "tw-opt")) for name in files)
    here = {path.name for path in (PACKAGE / "boards").iterdir()}
    assert here <= {path.name for path in (site / "tensorwright/boards").iterdir()}
    notices = (site / "tensorwright/THIRD_PARTY.md").read_text()
    assert not [name for name in brought if name.removesuffix(".so") not in notices]
