"""What of ``tw freeze`` the program tw leaves to Python: files, which are run and whose ``kernels`` are frozen, and measuring losses."""

import json
import os
import runpy
import sys

from . import aot
from .errors import ArgumentError, Error
from .ops.named import kernel


def _kernels(asked):
    if asked["operator"]:
        return {asked["name"] or asked["operator"]: kernel(asked["operator"], **asked["parameters"])}
    source = asked["source"]
    sys.path.insert(0, os.path.dirname(os.path.abspath(source)))
    try:
        namespace = runpy.run_path(source)
    except OSError as e:
        raise ArgumentError(f"freeze: {source} cannot be read: {e.strerror}") from None
    if "kernels" not in namespace:
        raise ArgumentError(f"freeze: {source} must declare kernels, a dict of kernels by their names", 'kernels = {"dense": [A, B, C]}')
    return namespace["kernels"]


def main(asked):
    kernels = _kernels(asked)
    source = os.path.basename(asked["source"]) if os.path.isabs(asked["source"]) else asked["source"]
    common = {"targets": asked["targets"], "log": asked["log"] or None, "out": asked["out"], "source": source}
    if asked["check"]:
        messages = aot.check(kernels, require_tuned=asked["require_tuned"], **common)
        checked = len(kernels) * len(asked["targets"])
        if asked["json"]:
            print(json.dumps({"checked": checked, "stale": messages}, indent=2))
        elif not messages:
            print(f"{checked} frozen {'kernel is' if checked == 1 else 'kernels are'} up to date")
        for message in messages if not asked["json"] else []:
            print(f"tw: {message}", file=sys.stderr)
        return 1 if messages else 0
    chosen = {"hardware": asked["hardware"] or None, "threads": asked["threads"] or None, "allow_default": asked["allow_default"],
              "measure_loss": asked["measure_loss"]}
    paths = aot.freeze(kernels, **common, **chosen)
    print(json.dumps({"written": paths}, indent=2) if asked["json"] else "\n".join(paths))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(json.loads(sys.argv[1])))
    except Error as e:
        print(f"tw: {e}", file=sys.stderr)
        sys.exit(1)
