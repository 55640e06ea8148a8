"""examples/service: what its README says, with fewer requests."""

import re
import shutil
import socket
import subprocess

import installed
import pytest

import tensorwright as tw

SERVICE = installed.ROOT / "examples/service"
README = (SERVICE / "README.md").read_text()


def why_not():
    if tw.Target.host().kind != "llvm":
        return "built without LLVM"
    if not shutil.which("pkg-config") or subprocess.run(["pkg-config", "cpp-httplib"]).returncode:
        return "libcpp-httplib-dev or pkgconf is not installed"
    return installed.why_not()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_it_is_small():
    assert len((SERVICE / "CMakeLists.txt").read_text().splitlines()) <= 15
    assert len(README.splitlines()) <= 20


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
def test_the_readme_runs(installation, tmp_path):
    here = tmp_path / "service"
    shutil.copytree(SERVICE, here)
    (commands,) = re.findall(r"```sh\n(.*?)```", README, re.S)
    commands = commands.replace("8080", str(free_port())).replace("100000", "8000")
    printed = installed.run("sh", "-ec", commands, cwd=here, env=installed.environment() | {"CMAKE_PREFIX_PATH": str(installation)})
    assert re.search(r"8000 requests, 8 connections, .* p99 [\d.]+ ms, failed 0,", printed)
    needed = installed.run("readelf", "--dynamic", here / "build/service")
    assert "tensorwright" not in needed and "LLVM" not in needed
