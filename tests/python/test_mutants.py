"""Planted bugs (tests/mutants) are patches of the present code: `./dev mutants` stops at one that no longer applies."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_each_applies():
    patches = sorted((ROOT / "tests" / "mutants").glob("*.patch"))
    assert patches
    stale = {}
    for patch in patches:
        tried = subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True)
        if tried.returncode != 0:
            stale[patch.name] = tried.stderr
    assert not stale
