"""Where the user's program stands: what errors and Steps name."""

import linecache

from . import _core


def user_line() -> tuple[str, int]:
    """(file, line) of the innermost frame outside the package; ("", 0) when there is none."""
    return _core._user_line()


def line_text(file: str, line: int) -> str:
    """The line itself, also of a notebook cell or a doctest; "" when it cannot be read."""
    return linecache.getline(file, line).strip() if file else ""
