"""The programs of the package, run as a user runs them."""
import pathlib
import subprocess

import tensorwright as tw

TW = pathlib.Path(tw.__file__).parent / "tw"


def run(*command, code=0, cwd=None, timeout=300):
    """What a command printed, as subprocess has it; it has to end with that code."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, cwd=cwd)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def run_tw(*arguments, **options):
    return run(TW, *arguments, **options)
