"""Scripts of the fuzzer: what they declare in Python is what was drawn in C++, and they replay."""
import pathlib
import subprocess
import sys

import pytest

import tensorwright as tw

TOOL = pathlib.Path(tw.__file__).parents[2] / "tests" / "tw-fuzz"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="skipped: the fuzzer is not part of this build")


def run(*command):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.parametrize("seed", range(9_000, 9_024))
def test_a_script_declares_and_computes_what_was_drawn(seed, tmp_path):
    script = tmp_path / "pair.py"
    script.write_text(run(TOOL, "--script", seed).stdout)
    if "is an extern stage" not in script.read_text():  # those are statements: only the fuzzer itself replays them
        done = run(sys.executable, script)
        assert done.returncode == 0, done.stdout + script.read_text()
    replayed = run(TOOL, "--replay", script)
    assert replayed.returncode == 0 and replayed.stdout.endswith("all oracles agree\n"), replayed.stdout


def test_a_script_of_another_version_is_refused(tmp_path):
    script = tmp_path / "pair.py"
    script.write_text(run(TOOL, "--script", 9_000).stdout.replace("te.compute(", "te.compute( "))
    done = run(TOOL, "--replay", script)
    assert done.returncode == 2
    assert "was made by another version of the fuzzer" in done.stdout


@pytest.mark.parametrize("text", ["", "# tw-fuzz {", "# tw-fuzz []", "# tw-fuzz {\"steps\": 3}"])
def test_a_file_without_a_recipe_is_refused(text, tmp_path):
    script = tmp_path / "pair.py"
    script.write_text(text)
    done = run(TOOL, "--replay", script)
    assert done.returncode == 2, done.stdout
    assert done.stdout.startswith("replay: ")
