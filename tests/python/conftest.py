"""A build without LLVM skips what needs it: a test that fails because the build says so is skipped, for that reason. And fixtures."""

import boards
import installed
import pytest

import tensorwright as tw

REFUSALS = ("llvm is not part of this build", "the target must be of kind llvm")
LACKING = () if tw.Target.host().kind == "llvm" else REFUSALS


def reason(error, lacking=LACKING):
    """Why the test cannot pass in this build, or None; what was raised while an error was judged counts too."""
    while error is not None:
        for refusal in lacking:
            if refusal in str(error):
                return f"built without LLVM: {refusal}"
        error = error.__cause__ or error.__context__
    return None


def skipped(outcome):
    if outcome.excinfo is not None and (why := reason(outcome.excinfo[1])) is not None:
        outcome.force_exception(pytest.skip.Exception(why))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    skipped((yield))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    skipped((yield))


@pytest.fixture
def farm(tmp_path):
    farm = boards.Farm(tmp_path)
    yield farm
    farm.end()


@pytest.fixture(scope="session")
def installation(tmp_path_factory):
    """The folder of ``cmake --install --prefix``."""
    if why := installed.why_not():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("installed") / "a präfix"
    installed.run("cmake", "--install", installed.BUILD, "--prefix", folder, "--strip")
    return folder
