"""What a build reads: the bytes of all files that each translation unit includes, from what ninja noted. A report for people, not a gate.
Headers that are precompiled count once, where that is done.

    tests/build_cost.py [BUILD_FOLDER]

Bytes repeat where seconds don't: a compiler cache and other processes change nothing of them.
"""
import collections
import functools
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def dependencies(build):
    """{object: the files that it was made of}."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    units, current = {}, None
    for line in text.splitlines():
        if line.startswith("    "):
            units[current].append(os.path.normpath(os.path.join(build, line.strip())))
        elif ": #deps" in line:
            current = line.split(": #deps")[0]
            units[current] = []
    return {unit: [file for file in files if not file.endswith(".gch")] for unit, files in units.items() if unit.endswith((".o", ".gch"))}


@functools.cache
def size(file):
    return os.path.getsize(file) if os.path.exists(file) else 0


def main() -> None:
    build = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release").resolve())
    units = dependencies(build)
    cost = {unit: sum(map(size, files)) for unit, files in units.items()}
    print(f"{len(units)} translation units read {sum(cost.values()) / 1e9:.2f} GB, {sum(cost.values()) / len(units) / 1e6:.2f} MB each; most:")
    for unit, read in sorted(cost.items(), key=lambda entry: -entry[1])[:8]:
        print(f"  {read / 1e6:5.1f} MB  {units[unit][0].removeprefix(f'{ROOT}/')}")
    ours = collections.Counter(file for files in units.values() for file in files[1:] if file.startswith(f"{ROOT}/"))
    print("headers of ours that most of them read:", ", ".join(f"{file.removeprefix(f'{ROOT}/')} {n}" for file, n in ours.most_common(6)))


if __name__ == "__main__":
    main()
