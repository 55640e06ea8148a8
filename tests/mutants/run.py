"""Would the fuzzer notice? Each patch of this folder plants a bug in a scratch copy, which is built and fuzzed.

    ./dev mutants                    all of them
    ./dev mutants tail split_guard   those whose names contain one of the words
    ./dev mutants --pairs 5000 --seed 20260401

The first line of a patch says what it plants, the rest is for `git apply`. Only the fuzzer is built. The copy stays in
build/mutants, so that the next run builds little. The last line reads "N mutants, M not found".
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
COPY = ROOT / "build" / "mutants"
BUILD = COPY / "build" / "release"
FUZZER = BUILD / "tests" / "tw-fuzz"
FOUND = re.compile(r"^found by (.+) after (\d+) pairs, seed (\d+)$", re.M)


def run(command, **keywords):
    return subprocess.run(command, cwd=COPY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **keywords)


def die(message, output=""):
    sys.exit(f"mutants: {message}\n{output[-4000:]}")


def tracked():
    """Files of the working tree, except those that the fuzzer does not need."""
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True, check=True,
                         stdout=subprocess.PIPE)
    files = [pathlib.Path(line) for line in out.stdout.splitlines() if not line.startswith(("tests/mutants/", "docs/"))]
    return [file for file in files if (ROOT / file).is_file()]


def copy_one(file):
    source, target = ROOT / file, COPY / file
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def copy_tree():
    """The working tree as it is. Files that have not changed keep their times, so that they are not built again."""
    files = tracked()
    for file in files:
        copy_one(file)
    wanted = set(files)
    for folder, folders, names in os.walk(COPY):
        folders[:] = [name for name in folders if name not in ("build", ".git")]
        for name in names:
            path = pathlib.Path(folder, name)
            if path.relative_to(COPY) not in wanted:
                path.unlink()
    if not (COPY / ".git").exists():  # so that `git apply` takes this folder for the root
        run(["git", "init", "-q"], check=True)


def configure(options):
    if (BUILD / "build.ninja").exists():
        return
    done = run(["cmake", "--preset", "release", "-DTW_PYTHON=OFF", *options])
    if done.returncode:
        die("configuring failed", done.stdout)


def build():
    environment = dict(os.environ, CCACHE_BASEDIR=str(COPY), CCACHE_NOHASHDIR="1")
    return run(["cmake", "--build", str(BUILD), "--target", "tw-fuzz"], env=environment)


def fuzz(pairs, seed):
    return run([str(FUZZER), "--pairs", str(pairs), "--seed", str(seed), "--first"])


def plant(patch):
    """Applies a patch; the files that it changed."""
    listed = run(["git", "apply", "--numstat", str(patch)])
    applied = run(["git", "apply", str(patch)]) if listed.returncode == 0 else listed
    if applied.returncode:
        die(f"{patch.name} no longer applies: write it anew against the present code", applied.stdout)
    return [pathlib.Path(line.split("\t")[2]) for line in listed.stdout.splitlines()]


def judge(patch, pairs, seed):
    """(found by, after how many pairs); found by is empty when nobody noticed."""
    files = plant(patch)
    try:
        built = build()
        if built.returncode:
            die(f"{patch.name} does not compile", built.stdout)
        found = FOUND.search(fuzz(pairs, seed).stdout)
        return (found[1], int(found[2])) if found else ("", pairs)
    finally:
        for file in files:
            copy_one(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names")
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=20260401)
    parser.add_argument("--cmake", action="append", default=[], help="more options of the configuration")
    options = parser.parse_args()
    patches = [p for p in sorted(FOLDER.glob("*.patch")) if not options.words or any(w in p.stem for w in options.words)]
    if not patches:
        die("no patch has such a name")
    COPY.mkdir(parents=True, exist_ok=True)
    copy_tree()
    configure(options.cmake)
    built = build()
    if built.returncode:
        die("the tree without mutants does not build", built.stdout)
    clean = fuzz(options.pairs, options.seed).stdout
    if FOUND.search(clean):
        die("the tree without mutants is wrong on these pairs already: choose another --seed", clean)
    print(f"{'mutant':34} {'found by':16} {'pairs':>6} {'s':>5}  what it plants", flush=True)
    missed = 0
    for patch in patches:
        begin = time.monotonic()
        oracle, pairs = judge(patch, options.pairs, options.seed)
        missed += not oracle
        print(f"{patch.stem:34} {oracle or 'NOT FOUND':16} {pairs:6d} {time.monotonic() - begin:5.0f}  "
              f"{patch.read_text().splitlines()[0]}", flush=True)
    print(f"{len(patches)} mutants, {missed} not found")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
