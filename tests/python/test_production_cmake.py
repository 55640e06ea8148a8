"""A product that compiles frozen kernels from its own CMake, without Python: what is built when, and what stops it."""

import os
import pathlib
import re
import shutil
import subprocess
import time

import frozen_kernels
import pytest

import tensorwright as tw

pytestmark = [
    pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM: nothing is frozen"),
    pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("gcc"), reason="cmake and gcc are needed"),
]
PACKAGE = pathlib.Path(tw.__file__).parent
LISTS = """cmake_minimum_required(VERSION 3.22)
project(service C)
find_package(Tensorwright 0.1 REQUIRED)
tensorwright_add_operator(kernels FROM "twk/dense.twk" "twk/scale.twk" LOG "tuned log.jsonl" REQUIRE_TUNED PREFIX acme_
  TARGETS @TARGETS@ OUTPUT header static shared BASELINE @BASELINE@)
add_executable(service main.c)
target_link_libraries(service PRIVATE kernels)
"""
MAIN = """#include "kernels.h"
#include <stdio.h>
int main(void) {
  static float x[1000], y[1000];
  x[7] = 3;
  int32_t code = acme_scale_run(x, y);
  printf("%d %g %g", (int)code, y[0], y[7]);
  return (int)(acme_dense_run == 0);
}
"""


class Product:
    """In a folder whose name shells, Make and Ninja would trip over."""

    def __init__(self, folder, targets, candidates=(0, 5)):
        self.source, self.targets, self.kernels = folder / "a product of Jürgen's", targets, frozen_kernels.declared()
        self.source.mkdir()
        self.log, self.out = self.source / "tuned log.jsonl", folder / "out of it, ü"
        lines = [self.record(name, target, n, 2e-3 / (n + 1)) for name in self.kernels for target in targets for n in candidates]
        self.log.write_text("".join(lines))
        self.freeze()
        (self.source / "main.c").write_text(MAIN)
        (self.source / "CMakeLists.txt").write_text(LISTS.replace("@TARGETS@", " ".join(targets)).replace("@BASELINE@", targets[0]))

    def record(self, name, target, n, seconds):
        triple = "" if target.startswith("x86") else " -mtriple=aarch64-linux-gnu"
        return frozen_kernels.record(self.kernels, name, target + triple, n, seconds)

    def freeze(self):
        tw.aot.freeze(self.kernels, targets=self.targets, log=self.log, out=self.source / "twk", source="ops.py")

    def configure(self, *options):
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}  # no PYTHONPATH, nothing of ours
        command = ["cmake", "-S", self.source, "-B", self.out, f"-DCMAKE_PREFIX_PATH={PACKAGE.parent}", *options]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    def build(self, fails=False):
        done = subprocess.run(["cmake", "--build", self.out], capture_output=True, text=True)
        time.sleep(0.2)  # what is written next is newer by the clock of files too, which ticks
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def times(self):
        return {f.name: f.stat().st_mtime_ns for f in (self.out / "kernels").rglob("*") if f.is_file() and f.suffix != ".stamp"}


def configured(product, *options):
    done = product.configure(*options)
    assert done.returncode == 0, done.stdout + done.stderr
    return product


GENERATORS = [g for g, program in (("Ninja", "ninja"), ("Unix Makefiles", "make")) if shutil.which(program)]


@pytest.mark.parametrize("generator", GENERATORS)
def test_what_is_built_when(tmp_path, generator):
    product = configured(Product(tmp_path, ["x86-64-v2", "x86-64-v3"]), "-G", generator)
    assert "4 compiled, 0 unchanged" in product.build()
    service = product.out / "service"
    assert subprocess.run([service], capture_output=True, text=True).stdout == "0 1 7"
    first, linked = product.times(), service.stat().st_mtime_ns

    assert "Compiling kernels" not in product.build()
    os.utime(product.log)
    text = product.build()
    assert "up to date" in text and "Compiling kernels" not in text
    assert product.times() == first and service.stat().st_mtime_ns == linked

    better = product.record("scale", "x86-64-v3", 3, 1e-6)
    with product.log.open("a") as log:
        log.write(better)
    text = product.build(fails=True)
    (line,) = [line for line in text.splitlines() if line.startswith("tw: ")]
    assert re.match(r"tw: scale\(X: float32\[1000\], .*\), for x86-64-v3: the best record of .*tuned log.jsonl takes 0.001 ms", line)
    assert "freeze it again: tw freeze ops.py --targets x86-64-v3" in line
    assert product.times() == first

    product.freeze()
    assert "1 compiled, 3 unchanged" in product.build()
    assert {name for name, at in product.times().items() if at != first[name]} == {
        "acme_scale.x86-64-v3.o", "acme_scale.x86-64-v3.o.key", "kernels.h", "libkernels.a", "libkernels.so"}
    assert subprocess.run([service], capture_output=True, text=True).stdout == "0 1 7"


def test_what_stops_it(tmp_path):
    product = Product(tmp_path, ["x86-64-v2"], candidates=(0,))
    (product.source / "twk/scale.x86-64-v2.twk").rename(product.source / "scale.twk")
    assert "scale.x86-64-v2.twk; freeze it: tw freeze" in re.sub(r"\s+", " ", product.configure().stderr)
    (product.source / "scale.twk").rename(product.source / "twk/scale.x86-64-v2.twk")
    tw.aot.freeze({"scale": product.kernels["scale"]}, targets=["x86-64-v2"], out=product.source / "twk")
    assert "it was frozen without a record" in configured(product).build(fails=True)
    product.freeze()
    product.build()
    before = product.times()
    path = product.source / "twk/scale.x86-64-v2.twk"
    path.write_text(path.read_text().replace("float32[1000]", "float32[999]"))
    assert "not seen to stay inside of" in product.build(fails=True)
    assert product.times() == before


@pytest.mark.skipif(not shutil.which("aarch64-linux-gnu-gcc") or not shutil.which("qemu-aarch64"),
                    reason="aarch64-linux-gnu-gcc and qemu-aarch64 are needed")
def test_for_another_architecture(tmp_path):
    (tmp_path / "aarch64.cmake").write_text("set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR aarch64)\n"
                                            "set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)\nset(CMAKE_EXE_LINKER_FLAGS -static)\n"
                                            "set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)\nset(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)\n")
    product = Product(tmp_path, ["cortex-a72", "neoverse-n1"], candidates=(0,))
    configured(product, f"-DCMAKE_TOOLCHAIN_FILE={tmp_path}/aarch64.cmake", f"-DTensorwright_DIR={PACKAGE}/cmake")
    assert "4 compiled" in product.build()
    for cpu in ("cortex-a72", "neoverse-n1"):
        done = subprocess.run(["qemu-aarch64", "-cpu", cpu, product.out / "service"], capture_output=True, text=True)
        assert done.stdout == "0 1 7", cpu
