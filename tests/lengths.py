"""What has grown long: files past 500 lines, functions past 60, lines past 120. A report for people, not a gate.

    tests/lengths.py [FILE ...]     by default every C++ and Python file that git knows
"""
import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = {"file": 500, "function": 60, "line": {".cc": 120, ".h": 120, ".py": 140}}
# clang-format puts a definition's closing brace under its first column. What opens a block and is no function:
NOT_A_FUNCTION = re.compile(r"\s*(if|for|while|switch|else|do|catch|try|namespace|struct|class|enum|union|return|case|extern|\}|//)\b")


def cpp_functions(lines):
    """(first line, name, length) of each function, by its indentation."""
    begin = None
    for number, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip())
        if begin is None and "(" in line and indent in (0, 2) and line.strip() and not NOT_A_FUNCTION.match(line):
            begin = (number, indent, line)
        if begin and line.startswith(" " * begin[1] + "}") and indent == begin[1]:
            name = re.search(r"([\w:~]+|operator\S+)\s*\(", begin[2])
            yield begin[0], name[1] if name else "?", number - begin[0] + 1
            begin = None
        elif begin and indent <= begin[1] and line.rstrip().endswith((";", "}")):
            begin = None  # a declaration, or all in one line


def python_functions(text):
    """Without the docstring, which is a page of the reference."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            yield node.lineno, node.name, node.end_lineno - first.lineno + 1


def report(path):
    text = path.read_text()
    lines, name = text.splitlines(), path.relative_to(ROOT).as_posix()
    if len(lines) > MOST["file"]:
        yield f"{name}: {len(lines)} lines"
    for number, function, length in python_functions(text) if path.suffix == ".py" else cpp_functions(lines):
        if length > MOST["function"]:
            yield f"{name}:{number}: {function} has {length} lines"
    long = [n for n, line in enumerate(lines, 1) if len(line) > MOST["line"][path.suffix]]
    if long:
        yield f"{name}:{long[0]}: {len(long)} long line{'s' if len(long) > 1 else ''}"


def main() -> None:
    named = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    known = subprocess.run(["git", "ls-files", "*.cc", "*.h", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = named or [ROOT / name for name in known.splitlines()]
    found = [line for path in files if path.exists() for line in report(path)]
    print("\n".join(["long:", *(f"  {line}" for line in found)] if found else ["nothing is long"]))


if __name__ == "__main__":
    main()
