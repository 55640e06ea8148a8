"""Frozen kernels give the same bytes wherever a product builds them: by its CMake with any compiler, or by tw, as any user."""

import hashlib
import os
import pathlib
import shutil
import tempfile

import installed
import pytest
from installed import run

import tensorwright as tw

pytestmark = [pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM: nothing is frozen"),
              pytest.mark.skipif(bool(installed.why_not()), reason=installed.why_not() or "-")]
PACKAGE = installed.BUILD / "package"
KERNELS = installed.ROOT / "examples/service/kernels"
TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
LISTS = f"""
cmake_minimum_required(VERSION 3.22)
project(product C)
find_package(Tensorwright 0.1 REQUIRED)
tensorwright_add_operator(kernels FROM norm.twk layer.twk softmax.twk TARGETS {" ".join(TARGETS)} PREFIX acme_)
"""


@pytest.fixture
def folder():
    """One that other users may write into."""
    path = pathlib.Path(tempfile.mkdtemp())
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


def digests(made):
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in made.iterdir() if f.suffix in (".h", ".a")}


def by_cmake(folder, compiler, generator):
    shutil.copytree(KERNELS, folder)
    (folder / "CMakeLists.txt").write_text(LISTS)
    run("cmake", "-S", folder, "-B", folder / "build", "-G", generator, f"-DCMAKE_C_COMPILER={compiler}", env=installed.environment() | {"CMAKE_PREFIX_PATH": str(PACKAGE)})
    run("cmake", "--build", folder / "build", "--target", "kernels_kernels")
    return folder / "build/kernels"


def elsewhere():
    """A command before a command: another user, on one CPU of a machine of another name, where that is permitted."""
    words = ["taskset", "-c", "0"]
    if os.geteuid() == 0:
        words += ["unshare", "--uts", "sh", "-c", 'hostname another-machine; exec "$@"', "-"]
        words += ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    return words


def test_the_bytes_are_the_same(folder):
    first = by_cmake(folder / "first", "gcc", "Ninja")
    expected = digests(first)
    assert len(run("nm", first / "libkernels.a").split(".o:")) == 1 + 9 and set(expected) == {"kernels.h", "libkernels.a"}
    assert not [line for line in run("nm", "--undefined-only", first / "libkernels.a").splitlines() if line and not line.endswith(":")]

    clang = shutil.which("clang") or shutil.which("clang-19")
    if not clang:
        print("not asked: clang is not installed")
    elif shutil.which("make"):
        assert digests(by_cmake(folder / "ein anderer Ördner", clang, "Unix Makefiles")) == expected

    other = folder / "öther"
    other.mkdir(mode=0o777)
    other.chmod(0o777)
    files = [KERNELS / f"{name}.{target}.twk" for name in ("norm", "layer", "softmax") for target in TARGETS]
    settings = ["TW_NUM_THREADS=1", "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8", "HOME=/nowhere", "USER=somebody", "SOURCE_DATE_EPOCH=1"]
    run(*elsewhere(), "env", "-i", *settings, PACKAGE / "tensorwright/tw", "build", *files, "--out", other, "--library", "kernels", "--prefix", "acme_", cwd="/")
    assert digests(other) == expected
    names = [word.encode() for word in (str(installed.ROOT), str(folder), os.uname().nodename) if len(word) > 3]
    assert not [f.name for f in other.iterdir() for name in names if f.suffix in (".h", ".a") and name in f.read_bytes()]
