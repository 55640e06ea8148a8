"""A second machine: Debian's kernel for arm64 under qemu-system-aarch64, with tw-board and little else in its memory."""
import dataclasses
import io
import pathlib
import shlex
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PARTS = HERE.parents[1] / "build/board"  # what fetch.sh leaves
QEMU = "qemu-system-aarch64"
CPUS = {"cortex-a72": "cortex-a72", "neoverse-n1": "neoverse-n1", "max": "max,pauth-impdef=on"}  # the real cipher is slow to emulate
FOLDERS = ("bin", "dev", "modules", "proc", "sent", "sys", "tmp", "work")
PORTS = ("out", "err", "back")
SAME_START = ("-seed", "1", "-rtc", "base=2000-01-01,clock=vm")


def missing():
    """Why there is no such machine here, or ""."""
    if not shutil.which(QEMU):
        return f"{QEMU} is not installed (./dev board setup)"
    return "" if (PARTS / "vmlinuz").exists() else "build/board has no kernel (./dev board setup)"


def archive(entries):
    """The bytes of a cpio archive, as the kernel unpacks it, of (path, mode, content)."""
    out = io.BytesIO()
    for number, (path, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        name = path.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        out.write(b"070701" + b"".join(b"%08x" % field for field in fields))
        for part in (name, content):
            out.write(part)
            out.write(bytes(-out.tell() % 4))
    return out.getvalue()


@dataclasses.dataclass
class Machine:
    tw_board: pathlib.Path
    cpu: str = "cortex-a72"
    cores: int = 1
    icount: bool = False
    forward: list = dataclasses.field(default_factory=list)  # (port of this machine, of loopback only; port there)

    def clock(self):
        """An instruction takes 2 ns. Who sleeps is woken at once, with the clock set on, unless somebody outside may be awaited."""
        return ["-icount", f"shift=1,sleep={'on' if self.forward else 'off'}", *SAME_START] if self.icount else []

    def network(self):
        forwards = "".join(f",hostfwd=tcp:127.0.0.1:{here}-:{there}" for here, there in self.forward)
        return ["-netdev", f"user,id=net,restrict=on{forwards}", "-device", "virtio-net-device,netdev=net"] if self.forward else []

    def memory(self, files):
        """What it starts with: programs, and the files by their paths."""
        programs = {"init": HERE / "init", "bin/busybox": PARTS / "busybox", "bin/tw-board": self.tw_board}
        programs |= {f"modules/{module.name}": module for module in (PARTS / "modules").iterdir()}
        return archive([(folder, stat.S_IFDIR | (0o1777 if folder == "tmp" else 0o755), b"") for folder in FOLDERS]
                       + [(path, stat.S_IFREG | 0o755, source.read_bytes()) for path, source in sorted(programs.items())]
                       + [(path, stat.S_IFREG | 0o644, content) for path, content in files.items()])

    def command(self, folder, files):
        (folder / "memory").write_bytes(self.memory(files))
        return ["setpriv", "--pdeathsig", "KILL", QEMU, "-machine", "virt,gic-version=3", "-cpu", CPUS[self.cpu],
                "-smp", str(self.cores), "-m", "1G", "-nodefaults", "-display", "none", "-no-reboot",
                "-kernel", str(PARTS / "vmlinuz"), "-initrd", str(folder / "memory"), "-append", "console=ttyAMA0 quiet panic=-1",
                "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console", *self.clock(), *self.network()]

    def shell(self):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.call(self.command(pathlib.Path(folder), {}))

    def run(self, command, files=None):
        """Runs a command there, on files; returns its exit status and what /work holds then, by name. Ctrl-C reaches the command."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            command = self.command(folder, {"job": shlex.join(["exec", *command]).encode() + b"\n", **(files or {})})
            with open(folder / "console", "wb") as console, open(folder / "back", "wb") as back:
                self.boot(command, console, back)
            try:
                return unpacked(folder / "back")
            except (tarfile.TarError, KeyError):
                sys.exit(f"board: the machine stopped before the command ended. Its console:\n{(folder / 'console').read_text(errors='replace')}")

    def boot(self, command, console, back):
        """Until it is off. A pump carries what a port says to whatever stdout and stderr are here: files, pipes, terminals."""
        pumps = [subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=to, start_new_session=True) for to in (sys.stdout, sys.stderr)]
        ends = [pump.stdin.fileno() for pump in pumps] + [back.fileno()]
        ports = ["-device", "virtio-serial-device"]
        for number, (port, end) in enumerate(zip(PORTS, ends), 1):
            ports += ["-add-fd", f"fd={end},set={number}", "-chardev", f"file,id={port},path=/dev/fdset/{number},append=on",
                      "-device", f"virtserialport,nr={number},chardev={port}"]
        with subprocess.Popen([*command, *ports], stdin=subprocess.PIPE, stdout=console, pass_fds=ends, start_new_session=True) as qemu:
            for pump in pumps:
                pump.stdin.close()
            wait(qemu)
        for pump in pumps:
            pump.wait()


def wait(qemu):
    """Ctrl-C reaches the command, by its terminal; a second one ends the machine."""
    try:
        qemu.wait()
    except KeyboardInterrupt:
        qemu.stdin.write(b"\x03")
        qemu.stdin.flush()
        try:
            qemu.wait()
        finally:
            qemu.kill()


def unpacked(back):
    with tarfile.open(back) as tar:
        content = {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}
    return int(content.pop("status")), {path.removeprefix("work/"): data for path, data in content.items()}
