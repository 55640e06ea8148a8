"""The examples run: small, but whole."""

import os
import pathlib
import subprocess
import sys

import pytest

import tensorwright as tw

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(tw.Target.current().kind != "llvm", reason="built without LLVM: nothing to measure")


def test_demo(tmp_path):
    command = [sys.executable, str(ROOT / "examples/demo.py"), "--trials", "12", "--rounds", "3", "--log", str(tmp_path / "demo.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    for line in ("agrees with NumPy", "tensorwright, tuned", "NumPy", "oneDNN", "equal bit for bit"):
        assert line in done.stdout


def test_the_template_tunes_itself(tmp_path):
    command = [sys.executable, str(ROOT / "examples/dense_template.py"), "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "te.create_schedule" in done.stdout and (tmp_path / "dense.jsonl").exists()
