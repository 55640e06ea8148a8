"""An installation of this build, as CMake projects find it."""

import os
import pathlib
import subprocess

import tensorwright as tw

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(tw.__file__).parents[2]


def why_not():
    return "" if (BUILD / "CMakeCache.txt").exists() else "this is not the package of a build tree"


def run(*command, **options):
    """What it printed; a test that runs it fails by what it said."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done.stdout


def environment():
    """Nothing of the build tree, from which tests run."""
    path = [part for part in os.environ["PATH"].split(":") if part != str(BUILD / "package/tensorwright")]
    return {k: v for k, v in os.environ.items() if not k.startswith("TW_") and k != "PYTHONPATH"} | {"PATH": ":".join(path)}
