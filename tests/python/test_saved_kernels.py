"""Files of kernels that are written and loaded again while what stood there before is still in use."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

TARGETS = [t for t in ("llvm", "c") if t == "c" or tw.Target.current().kind == "llvm"]


def adding(amount, target):
    A = te.placeholder((8,), name="A")
    return tw.build([A, te.compute((8,), lambda i: A[i] + amount, name="B")], target=target, name="add")


def added(f):
    out = np.zeros(8, "float32")
    f(np.zeros(8, "float32"), out)
    return out.tolist()


@pytest.mark.parametrize("first", TARGETS)
@pytest.mark.parametrize("second", TARGETS)
def test_a_file_that_was_replaced_is_loaded_anew(first, second, tmp_path):
    path = tmp_path / "add.so"
    adding(1.0, first).save(path)
    one = tw.load(path)
    adding(2.0, second).save(path)
    two = tw.load(path)
    assert added(one) == [1.0] * 8
    assert added(two) == [2.0] * 8
    assert added(tw.load(path)) == [2.0] * 8
    assert sorted(p.name for p in tmp_path.iterdir()) == ["add.h", "add.so"]


@pytest.mark.skipif("llvm" not in TARGETS, reason="built without LLVM")
def test_code_for_another_machine_is_named(tmp_path):
    here, there = ("x86-64", "aarch64") if platform.machine() == "x86_64" else ("aarch64", "x86-64")
    cpu = "cortex-a72" if there == "aarch64" else "x86-64"
    adding(1.0, f"llvm -mtriple={there.replace('-', '_')}-linux-gnu -mcpu={cpu}").save(tmp_path / "add.so")
    with pytest.raises(tw.BuildError, match=f"another machine\n(.*\n)*.*it is {there} code, and this is an {here} machine"):
        tw.load(tmp_path / "add.so")


# Saves once with room, then another kernel without.
ON_A_FULL_DISK = """
import os, sys
import tensorwright as tw
from tests.python.test_saved_kernels import adding

path = sys.argv[1]
adding(1.0, "llvm").save(path)
before = open(path, "rb").read()
rest = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
open("full", "wb").write(bytes(rest))
try:
    adding(2.0, "llvm").save(path)
except tw.ArgumentError as error:
    print(error)
assert open(path, "rb").read() == before and sorted(os.listdir()) == sorted(["add.h", "full", path])
"""


@pytest.mark.skipif("llvm" not in TARGETS, reason="built without LLVM")
@pytest.mark.parametrize("name", ["add.so", "add.o"])
def test_a_full_disk_is_an_error_and_leaves_what_was_there(name, tmp_path):
    made = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"skipped: no file system of its own: {made.stderr.strip()}")
    mounted = 'mount -t tmpfs -o size=64k tmpfs "$1" && cd "$1" && exec "$2" -c "$3" "$4"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mounted, "-", tmp_path, sys.executable, ON_A_FULL_DISK, name],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert f'save: cannot write "{name}": No space left on device' in done.stdout


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "add.c").symlink_to(tmp_path / "there" / "add.c")
    (tmp_path / "there" / "add.c").touch()
    adding(1.0, "c").save(tmp_path / "add.c")
    assert (tmp_path / "add.c").is_symlink() and (tmp_path / "there" / "add.c").read_text()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(tw.ArgumentError, match="cannot write .*nowhere/add.so"):
        adding(1.0, "c").save(tmp_path / "nowhere" / "add.so")
    (tmp_path / "folder.so").mkdir()
    with pytest.raises(tw.ArgumentError, match="cannot write .*folder.so"):
        adding(1.0, "c").save(tmp_path / "folder.so")
