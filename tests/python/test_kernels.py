"""Kernels in the world: their names, headers, threads, processes, times."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import tensorwright as tw
from programs import matmul, needs_llvm
from tensorwright import te


@needs_llvm
@pytest.mark.parametrize("name", ["exp", "main", "memcpy", "malloc", "k", "k", "_start"])
def test_kernel_names_collide_with_nothing(name, tmp_path):
    A, B, C, a, b, expected = matmul(m=9, n=33, depth=5)
    f = tw.build([A, B, C], name=name)
    for kind in ("o", "so"):
        f.save(str(tmp_path / f"kernel.{kind}"))
    undefined = subprocess.run(["nm", "-u", tmp_path / "kernel.o"], capture_output=True, text=True, check=True).stdout
    assert undefined == ""
    for g in (f, tw.load(str(tmp_path / "kernel.so"))):
        c = np.zeros((9, 33), "float32")
        g(a, b, c)
        np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-5)


@needs_llvm
def test_the_header_compiles_and_calls(tmp_path):
    A, B, C, a, b, expected = matmul(m=2, n=3, depth=2)
    tw.build([A, B, C], name="mm").save(str(tmp_path / "mm.o"))
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "mm.h"\n'
        "int main(void) {\n  float a[4] = {1, 2, 3, 4}, b[6] = {1, 0, 1, 0, 1, 1}, c[6];\n"
        "  if (mm_run(a, b, c)) return 1;\n"
        '  for (int i = 0; i < 6; ++i) printf("%g ", c[i]);\n  return 0;\n}\n'
    )
    program = tmp_path / "main"
    subprocess.run(["cc", "-Wall", "-Werror", "-o", program, tmp_path / "main.c", tmp_path / "mm.o"], check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout.split() == ["1", "2", "3", "3", "4", "7"]


def test_eight_python_threads():
    A, B, C, a, b, expected = matmul(m=64, n=64, depth=33)
    s = te.create_schedule(C)
    s[C].parallel(C.op.axis[0])
    f = tw.build(s, [A, B, C])
    wrong = []

    def work():
        for _ in range(20):
            c = np.zeros((64, 64), "float32")
            f(a, b, c)
            if not np.allclose(c, expected, rtol=1e-4, atol=1e-4):
                wrong.append(c)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)


def test_eight_python_threads_build():
    results = []

    def work(n):
        A, B, C, a, b, expected = matmul(m=8 + n, n=16, depth=5)
        c = np.zeros((8 + n, 16), "float32")
        tw.build([A, B, C])(a, b, c)
        results.append(np.allclose(c, expected, rtol=1e-4, atol=1e-4))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert results == [True] * 8


def test_a_forked_child_builds_and_calls():
    program = (
        "import os, numpy as np, tensorwright as tw\nfrom tensorwright import te\n"
        "A = te.placeholder((1000,), name='A')\nB = te.compute((1000,), lambda i: A[i] + 1, name='B')\n"
        "s = te.create_schedule(B)\no, i = s[B].split(B.op.axis[0], 8)\ns[B].parallel(o)\nf = tw.build(s, [A, B])\n"
        "def call():\n  b = np.zeros(1000, 'f')\n  f(np.ones(1000, 'f'), b)\n  g = tw.build([A, B])\n  g(b, c := np.zeros(1000, 'f'))\n"
        "  return (b == 2).all() and (c == 3).all()\n"
        "assert call()\npid = os.fork()\nif pid == 0: os._exit(0 if call() else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0 and call()\nprint('fine')\n"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120).stdout == "fine\n"


@needs_llvm
def test_time_and_sources():
    A, B, C, a, b, _ = matmul(m=9, n=33, depth=5)
    f = tw.build([A, B, C])
    t = f.time(a, b, np.zeros((9, 33), "float32"))
    assert t.median > 0 and t.spread >= 0 and len(t.runs) > 0
    assert all(f.source(kind) for kind in ("ir", "llvm", "asm"))
    assert str(tw.default_schedule([A, B, C])) and tw.default_schedule([A, B, C]).steps
    before = tw.num_threads()
    tw.set_num_threads(1)
    assert tw.num_threads() == 1
    tw.set_num_threads(before)
