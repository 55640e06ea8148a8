"""examples/service: what its README says, with fewer requests."""

import importlib.util
import re
import shutil
import subprocess

import installed
import pytest
from boards import free_port

import tensorwright as tw

SERVICE = installed.ROOT / "examples/service"
README = (SERVICE / "README.md").read_text()


def why_not():
    if tw.Target.host().kind != "llvm":
        return "built without LLVM"
    if not shutil.which("pkg-config") or subprocess.run(["pkg-config", "cpp-httplib"]).returncode:
        return "libcpp-httplib-dev or pkgconf is not installed"
    return installed.why_not()


def test_it_is_small():
    assert len((SERVICE / "CMakeLists.txt").read_text().splitlines()) <= 15
    assert len(README.splitlines()) <= 20


def without_python(folder):
    """A folder of links to what the build may find."""
    folder.mkdir()
    for name in ("c++", "as", "ld", "sh", "sleep", "pkg-config", "ip", "cmake", "ninja"):
        program = shutil.which(name)
        if name == "cmake" and importlib.util.find_spec("cmake"):  # what its wheel has on the PATH is a script in Python
            program = importlib.import_module("cmake").CMAKE_BIN_DIR + "/cmake"
        if program:
            (folder / name).symlink_to(program)
    return str(folder)


def without_network():
    """A command before a command, which then has a network of its own with nothing in it; or none, where that is not permitted."""
    command = ["unshare", "--map-root-user", "--net", "sh", "-ec", 'ip link set lo up && exec "$@"', "-"]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True) if shutil.which("unshare") else None
    if tried is not None and tried.returncode == 0:
        return command
    print(f"with the network of this machine: {tried.stderr if tried else 'unshare is not installed'}")
    return []


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
def test_the_readme_runs(installation, tmp_path):
    here = tmp_path / "service"
    shutil.copytree(SERVICE, here)
    (commands,) = re.findall(r"```sh\n(.*?)```", README, re.S)
    commands = commands.replace("8080", str(free_port())).replace("100000", "8000")
    environment = {"PATH": without_python(tmp_path / "programs"), "CMAKE_PREFIX_PATH": str(installation), "CMAKE_GENERATOR": "Ninja"}
    printed = installed.run(*without_network(), "env", "-i", *(f"{k}={v}" for k, v in environment.items()), "sh", "-ec", commands, cwd=here)
    assert re.search(r"8000 requests, 8 connections, .* p99 [\d.]+ ms, failed 0,", printed)
    needed = installed.run("readelf", "--dynamic", here / "build/service")
    assert "tensorwright" not in needed and "LLVM" not in needed
