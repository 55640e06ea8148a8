"""What arguments of many calls have in common: paths, and numbers that count something."""

import os

from .errors import ArgumentError


def path_of(call, name, value, error=ArgumentError):
    """A path as text. Names in a log, in messages and in what is built are UTF-8, and so are paths."""
    try:
        path = os.fsdecode(value)
        path.encode()
    except TypeError:
        raise error(f"{call}: {name} must be a path, not {value!r}") from None
    except UnicodeEncodeError:
        raise error(f"{call}: {name} must be a path of UTF-8, not {value!r}") from None
    if "\0" in path:
        raise error(f"{call}: {name} must be a path without a NUL character, not {value!r}")
    return path


def is_positive(value):
    """Whether it is an integer above 0, and no bool."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def positive(call, name, value):
    """The value, which has to be an integer above 0."""
    if not is_positive(value):
        raise ArgumentError(f"{call}: {name} must be a positive integer, not {value!r}")
    return value
