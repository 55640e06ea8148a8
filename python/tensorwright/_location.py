"""The user's line: the innermost frame outside this package."""
import linecache
import os
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def user_line() -> tuple[str, int]:
    """(file, line) of the innermost frame outside the package; ("", 0) when there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE):
            return name, frame.f_lineno
        frame = frame.f_back
    return "", 0


def line_text(file: str, line: int) -> str:
    """The text of a line, also of a notebook cell; empty when nobody knows it."""
    return linecache.getline(file, line).strip()
