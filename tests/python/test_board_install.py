"""tw board by way of a real ssh server on this machine, in which what it installs stays."""

import json
import os
import pathlib
import shutil
import subprocess

import boards
import pytest
from boards import free_port, until

import tensorwright as tw

LOOPBACK = pathlib.Path(__file__).resolve().parents[1] / "board/loopback.sh"
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]


def missing():
    for program, package in (("dropbear", "dropbear-bin"), ("ssh", "openssh-client"), ("unshare", "util-linux")):
        if not shutil.which(program, path=PATH):
            return f"{program} is not installed (Debian: {package})"
    if os.getuid() != 0 or subprocess.run([*NAMESPACES, "mount", "--make-rprivate", "/"], capture_output=True).returncode != 0:
        return "this user may make no namespaces of mounts"
    return "" if boards.TW_BOARD.exists() else "tw-board is not built (sanitizers)"


pytestmark = pytest.mark.skipif(bool(missing()), reason=f"skipped: {missing()}")


class There:
    """A machine that ssh reaches, and the tracker for it."""

    def __init__(self, folder):
        self.folder, self.port, self.tracker = folder, free_port(), f"localhost:{free_port()}"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
        subprocess.run(["dropbearkey", "-t", "ed25519", "-f", folder / "hostkey"], check=True, capture_output=True)
        self.secret = folder / "farm.secret"
        self.run("rpc-key", "new", self.secret)
        with open(folder / "log.txt", "wb") as log:
            start = lambda *command: subprocess.Popen([str(c) for c in command], stdout=log, stderr=log, env=os.environ | {"PATH": PATH})
            self.processes = [start(*NAMESPACES, "sh", LOOPBACK, folder, self.port),
                              start(boards.TW, "rpc-tracker", "--listen", self.tracker, "--secret", self.secret)]
        until(lambda: self.ssh("true").returncode == 0, "ssh works")

    def options(self):
        return [part for option in (f"Port={self.port}", f"IdentityFile={self.folder / 'key'}", "StrictHostKeyChecking=no",
                                    "UserKnownHostsFile=/dev/null", "LogLevel=ERROR") for part in ("-o", option)]

    def run(self, *arguments, code=0):
        done = subprocess.run([str(a) for a in (boards.TW, *arguments)], capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def board(self, what, *arguments, code=0, host="root@127.0.0.1"):
        return self.run("board", what, host, *self.options(), *arguments, code=code)

    def install(self, *arguments, key="here", code=0):
        where = ("--tracker", self.tracker, "--key", key, "--secret", self.secret, "--name", "me")
        return self.board("install", *where, *arguments, code=code)

    def ssh(self, command):
        command = ["ssh", "-o", "BatchMode=yes", *self.options(), "root@127.0.0.1", command]
        return subprocess.run(command, capture_output=True, text=True, timeout=30)

    def status(self):
        boards = json.loads(self.run("rpc-query", "--tracker", self.tracker, "--secret", self.secret, "--json").stdout)["boards"]
        return next((b["status"] for b in boards if b["name"] == "me"), "")

    def end(self):
        for process in self.processes:
            process.kill()  # unshare heeds no other signal, and takes its namespace along
            process.wait()


@pytest.fixture
def there(tmp_path):
    there = There(tmp_path)
    yield there
    there.end()


def test_a_board_is_installed_updated_looked_at_and_removed(there):
    answer = json.loads(there.install("--json").stdout)
    assert answer["registered"] == "me" and there.status() == "free"
    assert tw.Target(answer["target"]).features == tw.Target.host().features or tw.Target.host().kind != "llvm"
    assert answer["measured"]["seconds"] > 0 or tw.Target.host().kind != "llvm", answer["measured"]
    files = there.ssh("stat -c '%n %a %U' /opt/tensorwright/*").stdout
    assert "/opt/tensorwright/secret 600 tw-board" in files and "/opt/tensorwright/tw-board 755 root" in files
    assert "tw-board" in there.ssh("ps -C tw-board -o user:20").stdout or not shutil.which("ps")
    assert there.ssh("ls /tmp/tw-board.*").returncode != 0
    there.board("update")
    until(lambda: there.status() == "free", "it is registered again")
    assert "registered at" in there.board("logs").stdout
    there.board("remove")
    until(lambda: there.status() == "lost", "it is gone")
    assert there.ssh("ls /opt/tensorwright || ls /etc/init.d/S99tw-board || id tw-board").returncode != 0


def test_it_comes_back_when_it_is_killed_and_after_a_reboot(there):
    there.install()
    there.ssh("pkill -KILL -x tw-board")
    until(lambda: there.status() == "lost", "it was killed", 5)
    until(lambda: there.status() == "free", "it is registered again")
    there.ssh("/etc/init.d/S99tw-board stop")
    until(lambda: there.status() == "lost", "it was stopped")
    there.ssh("/etc/init.d/S99tw-board start")
    until(lambda: there.status() == "free", "it is registered again")


def test_what_ssh_says_is_handed_on(there):
    assert "cannot be reached by ssh" in there.board("logs", host="nobody@127.0.0.1", code=1).stderr
    assert "nothing is installed here" in there.board("logs", code=1).stderr
    there.secret.chmod(0o644)
    assert "may be read by others" in there.install(code=1).stderr


def test_names_that_a_shell_would_read_are_refused(there):
    assert "--key has to consist of letters" in there.install(key="a;reboot", code=1).stderr


def test_a_connection_that_is_lost_is_the_error(tmp_path):
    """Also where what was brought cannot be removed for the same reason."""
    ssh = tmp_path / "ssh"
    ssh.write_text("""#!/bin/sh
case "$*" in
  *"'look'") printf '%s\\n' "$(uname -m)" here root /tmp/tw-board.here ;;
  *) echo reset by peer >&2; exit 255 ;;
esac
""")
    ssh.chmod(0o755)
    update = subprocess.run([boards.TW, "board", "update", "here"], capture_output=True, text=True, timeout=60,
                            env=os.environ | {"PATH": f"{tmp_path}:{PATH}"})
    assert update.returncode == 1 and "here cannot be reached by ssh: reset by peer" in update.stderr, update.stderr
