"""An include may only point down: checks the layers of HACKING.md over every #include of the tree.

Run by ctest (`layers`); exits 1 and names each include that points up.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# folder -> the folders that its files may include from, besides itself and include/tensorwright.
USES = {
    "src/support": [],
    "src/target": ["src/support"],
    "src/ir": ["src/support"],
    "src/runtime": ["src/ir", "src/target", "src/support"],
    "te": ["src/ir", "src/support"],
    "src/lower": ["src/ir", "src/target", "src/support"],
    "schedule": ["te", "src/lower", "src/ir", "src/support"],
    "codegen": ["schedule", "te", "src/lower", "src/runtime", "src/ir", "src/target", "src/support"],
}
# autotune is one library of several rooms: room -> the rooms that it may include from. The tuning itself, in none, uses all.
BELOW_AUTOTUNE = ["rpc", "rpc/check", "schedule", "te", "codegen", "src/lower", "src/runtime", "src/ir", "src/target", "src/support"]
ROOMS = {
    "space": [],
    "sketch": ["space"],
    "model": ["space"],
    "log": ["model", "space"],
    "frozen": ["log", "model", "space"],
    "search": ["model", "space"],
    "measure": ["model", "space"],
    "report": ["log", "model", "space"],
}
USES |= {f"autotune/{room}": [f"autotune/{used}" for used in uses] + BELOW_AUTOTUNE for room, uses in ROOMS.items()}
USES["autotune"] = [f"autotune/{room}" for room in ROOMS] + BELOW_AUTOTUNE
# So is rpc.
BELOW_RPC = ["src/runtime", "src/ir", "src/target", "src/support"]
RPC_ROOMS = {
    "wire": [],
    "net": ["wire"],
    "check": [],
    "tracker": ["net", "wire"],
    "board": ["check", "net", "tracker", "wire"],
    "client": ["board", "check", "net", "wire"],
}
USES |= {f"rpc/{room}": [f"rpc/{used}" for used in uses] + BELOW_RPC for room, uses in RPC_ROOMS.items()}
USES["rpc"] = [f"rpc/{room}" for room in RPC_ROOMS] + BELOW_RPC
FOREIGN = {  # headers that only one folder may see
    r"llvm/|lld/|llvm-c/": "codegen/llvm",
    r"xgboost/": "autotune/model",
    r"pybind11/": "python/bind",
    r"openssl/|asio": "rpc",
}


def folder_of(path: str) -> str | None:
    return next((f for f in sorted(USES, key=len, reverse=True) if path.startswith(f + "/")), None)


def main() -> int:
    wrong = []
    files = [f for top in ("src", "rpc", "te", "schedule", "codegen", "autotune", "python") for f in (ROOT / top).rglob("*")]
    for file in (f for f in files if f.suffix in (".cc", ".h")):
        name = file.relative_to(ROOT).as_posix()
        own = folder_of(name)
        for number, line in enumerate(file.read_text().splitlines(), 1):
            found = re.match(r'\s*#include\s+["<]([^">]+)[">]', line)
            if not found:
                continue
            used = folder_of(found[1])
            if own and used and used != own and used not in USES[own]:
                wrong.append(f"{name}:{number}: {own} may not include {found[1]}")
            # Of codegen, only build.cc and what it is made of knows schedules.
            if name.startswith(("codegen/llvm/", "codegen/c/", "codegen/cuda/")) and used in ("schedule", "te"):
                wrong.append(f"{name}:{number}: its folder sees loop programs only, not {found[1]}")
            for pattern, home in FOREIGN.items():
                if re.match(pattern, found[1]) and not name.startswith(home + "/"):
                    wrong.append(f"{name}:{number}: {found[1]} is for {home} alone")
    print("\n".join(wrong) if wrong else f"layers: {len(files)} files, no include points up")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
