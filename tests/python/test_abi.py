"""docs/abi.md: kernels and headers of one release with those of another, as tests/abi keeps them."""

import os
import pathlib
import re
import shutil
import subprocess
import tomllib

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
KEPT = ROOT / "tests/abi"
RELEASES = sorted({path.name for path in KEPT.iterdir()} | {RELEASE})
CC = shutil.which("cc")

pytestmark = [pytest.mark.skipif(not CC, reason="there is no C compiler"),
              pytest.mark.skipif(tw.Target.current().kind != "llvm", reason="built without LLVM")]


def declared():
    """Has a symbolic extent, a scalar and scratch, so that most of a descriptor is used."""
    n = te.var("n")
    A, by = te.placeholder((n, 4), name="A"), te.var("by", "float32")
    B = te.compute((n, 4), lambda i, j: A[i, j] * by, name="B")
    C = te.compute((n, 4), lambda i, j: B[i, 3 - j] + 1, name="C")
    return te.create_schedule(C), [A, by, C]


def scaled(target):
    return tw.build(*declared(), target=target, name="scaled")


KEEPS = ("scaled.h", "scaled.c", "scaled.x86-64-v2.twk")


def make(folder):
    """scaled.o and what is kept, of this release."""
    scaled("llvm -mcpu=x86-64-v2").save(folder / "scaled.o")
    (folder / "scaled.c").write_text(scaled("c").source("c"))
    tw.aot.freeze({"scaled": declared()}, targets=["x86-64-v2"], out=folder)
    return folder


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    folder = make(tmp_path_factory.mktemp("new"))
    if os.environ.get("UPDATE_GOLDEN"):
        (KEPT / RELEASE).mkdir(exist_ok=True)
        for name in KEEPS:
            if not (KEPT / RELEASE / name).exists():
                shutil.copy(folder / name, KEPT / RELEASE)
    return folder


def compiled(*arguments):
    done = subprocess.run([CC, "-O1", "-Wall", "-Wextra", "-Werror", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def output_of(program):
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


CALLER = r"""
#include "scaled.h"
#include <stdio.h>
static float a[3][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}, c[3][4];
static int32_t here(const struct tw_context* self, int64_t n, int32_t (*body)(int64_t, int64_t, void*),
                    void* closure) {
  (void)self;
  return body(0, n, closure);
}
int main(void) {
  const struct tw_kernel_descriptor* const d = &tw_scaled_descriptor;
  struct tw_context context = tensorwright_default_context();
  uint32_t i;
  printf("%s %u:", d->name, (unsigned)d->version);
  for (i = 0; i < d->param_count; ++i) printf(" %s %d", d->params[i].name, (int)d->params[i].rank);
  for (i = 0; i < d->scalar_count; ++i) printf(" %s %d", d->scalars[i].name, (int)d->scalars[i].bits);
  context.parallel_for = here;
  context.size = SIZE;
  printf("\n%d", (int)scaled_run_in(&context, &a[0][0], 2.0f, &c[0][0], 3));
  for (i = 0; i < 12; ++i) printf(" %g", (double)c[i / 4][i % 4]);
  return 0;
}
"""
WANTED = "scaled 1: A 2 C 2 by 32 n 64\n0 7 5 3 1 15 13 11 9 23 21 19 17"


@pytest.mark.parametrize("size", ["sizeof context", "offsetof(struct tw_context, externs)"])
@pytest.mark.parametrize("release", RELEASES)
def test_an_old_header_with_a_new_object(release, size, new, tmp_path):
    (tmp_path / "main.c").write_text(CALLER)
    compiled(f"-I{KEPT / release}", f"-DSIZE={size}", tmp_path / "main.c", new / "scaled.o", "-o", tmp_path / "main")
    assert output_of(tmp_path / "main") == WANTED


@pytest.mark.parametrize("release", RELEASES)
def test_a_new_header_with_an_old_object(release, new, tmp_path):
    (tmp_path / "main.c").write_text(CALLER)
    compiled(f"-I{new}", "-DSIZE=sizeof context", tmp_path / "main.c", KEPT / release / "scaled.c", "-o", tmp_path / "main")
    assert output_of(tmp_path / "main") == WANTED


@pytest.mark.parametrize("release", RELEASES)
def test_an_old_kernel_is_loaded(release, tmp_path):
    compiled("-shared", "-fPIC", KEPT / release / "scaled.c", "-o", tmp_path / "scaled.so")
    a, c = np.arange(12, dtype="float32").reshape(3, 4), np.zeros((3, 4), "float32")
    tw.load(tmp_path / "scaled.so")(a, 2.0, c)
    np.testing.assert_array_equal(c, a[:, ::-1] * 2 + 1)


@pytest.mark.parametrize("release", RELEASES)
def test_an_old_frozen_kernel_is_built(release, new, tmp_path):
    tw.aot.library([KEPT / release / "scaled.x86-64-v2.twk"], tmp_path)
    (tmp_path / "main.c").write_text(CALLER.replace("scaled.h", "kernels.h").replace("&tw_scaled_", "&tw_scaled__x86_64_v2_"))
    compiled(f"-I{tmp_path}", "-DSIZE=sizeof context", tmp_path / "main.c", tmp_path / "libkernels.a", "-o", tmp_path / "main")
    assert output_of(tmp_path / "main") == WANTED.replace("scaled", "scaled__x86_64_v2")


def test_another_version_is_refused(tmp_path):
    text = (KEPT / RELEASE / "scaled.c").read_text()
    (tmp_path / "scaled.c").write_text(text.replace("#define TW_ABI_VERSION 1", "#define TW_ABI_VERSION 2"))
    compiled("-shared", "-fPIC", tmp_path / "scaled.c", "-o", tmp_path / "scaled.so")
    with pytest.raises(tw.BuildError, match="built for version 2 of the kernel ABI, this library has version 1"):
        tw.load(tmp_path / "scaled.so")


def layout(header, folder):
    """Where each field of each struct lies, and the struct's size."""
    lines = []
    for name, body in re.findall(r"struct (tw_\w+) \{(.*?)\n\};", re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S), re.S):
        fields = re.findall(r"\(\*(?:const\* ?)?(?:const )?(\w+)\)\(|\b(\w+);", re.sub(r"(\(\*.*?\)\()[^;]*;", r"\1", body))
        for field in (a or b for a, b in fields):
            lines.append(f'printf("{name}.{field} %d\\n", (int)offsetof(struct {name}, {field}));')
        lines.append(f'printf("{name} %d\\n", (int)sizeof(struct {name}));')
    (folder / "layout.c").write_text(f'#include "{header}"\n#include <stdio.h>\nint main(void) {{ {" ".join(lines)} return 0; }}\n')
    compiled(folder / "layout.c", "-o", folder / "layout")
    return dict(line.split() for line in output_of(folder / "layout").splitlines())


@pytest.mark.parametrize("release", RELEASES)
def test_structs_grow_at_their_ends(release, new, tmp_path):
    old = layout(KEPT / release / "scaled.h", tmp_path)
    now = layout(new / "scaled.h", tmp_path)
    assert {"tw_args.data", "tw_context.externs", "tw_context.parallel_for", "tw_kernel_descriptor.vector_bits"} <= set(old)
    fixed = {name: at for name, at in old.items() if "." in name or name in ("tw_param_descriptor", "tw_scalar_descriptor", "tw_requirement_descriptor")}
    assert fixed == {name: now.get(name) for name in fixed}
    grown = {name.split(".")[0] for name in set(now) - set(old)}
    assert all(int(now[name]) > int(old[name]) for name in grown if name in old)


def test_the_number_is_the_same_everywhere():
    cmake = re.search(r"project\(tensorwright VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    release = re.search(r'kRelease = "([\d.]+)"', (ROOT / "src/support/release.h").read_text())[1]
    assert cmake == release == RELEASE
