"""make_stubs.py FOLDER VERSION: libraries to link with in the place of glibc's, which have what glibc VERSION had, and no code.

What is linked with them asks for no newer symbol, and so runs with that release and all later ones. Of each function the newest version
that is not too new is offered; what is newer has to come from elsewhere (shim.c). x86-64 only.
"""

import pathlib
import re
import subprocess
import sys

LIBRARIES = "/lib/x86_64-linux-gnu"
STUBS = {"libc.so.6": "libc", "libm.so.6": "libm", "libdl.so.2": "libdl", "libpthread.so.0": "libpthread"}


def version(text):
    found = re.fullmatch(r"GLIBC_([0-9.]+)", text)
    return tuple(map(int, found[1].split("."))) if found else None


def symbols(library, newest):
    """By name the version, the kind and the size of what a program may link with."""
    said = subprocess.run(["readelf", "-W", "--dyn-syms", f"{LIBRARIES}/{library}"], capture_output=True, text=True, check=True).stdout
    best = {}
    for line in said.splitlines():
        found = re.match(r"\s*\d+: \w+\s+(\w+) (FUNC|IFUNC|OBJECT)\s+(?:GLOBAL|WEAK)\s+\w+\s+\d+ ([\w.]+)@@?(\S+)", line)
        at = version(found[4]) if found else None
        if at and at <= newest and (found[3] not in best or at > best[found[3]][0]):
            best[found[3]] = (at, found[2], int(found[1], 0))
    return best


def assembly(names):
    lines = []
    for number, (name, (at, kind, size)) in enumerate(sorted(names.items())):
        data, stub = kind == "OBJECT", f"stub_{number}"
        lines += [".bss" if data else ".text", f".globl {stub}", f".type {stub}, @{'object' if data else 'function'}", f"{stub}:"]
        lines += [f".zero {max(size, 1)}", f".size {stub}, {max(size, 1)}"] if data else ["ret"]
        lines += [f".symver {stub}, {name}@@GLIBC_{'.'.join(map(str, at))}, remove"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def main(folder, newest):
    folder.mkdir(parents=True, exist_ok=True)
    for library, name in STUBS.items():
        found = symbols(library, newest)
        source, script = folder / f"{name}.s", folder / f"{name}.map"
        source.write_text(assembly(found))
        script.write_text("".join(f"GLIBC_{'.'.join(map(str, at))} {{}};\n" for at in sorted({at for at, _, _ in found.values()})))
        versions = [f"-Wl,--version-script={script}"] if found else []
        subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{library}", *versions, "-o", folder / library, source], check=True)
        link = folder / f"{name}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(library)
    script = folder / "libc.so"  # part of it is linked statically, as with glibc's own
    script.unlink()
    script.write_text(f"GROUP ( {folder}/libc.so.6 /usr/lib/x86_64-linux-gnu/libc_nonshared.a AS_NEEDED ( {LIBRARIES}/ld-linux-x86-64.so.2 ) )\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), tuple(map(int, sys.argv[2].split("."))))
