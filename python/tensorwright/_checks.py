"""What arguments of many calls have in common: paths, and numbers that count something."""

import math
import numbers
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


def integer(call, name, value, least=None):
    """The value, which has to be an integer, and no bool: of at least so much, where that is given."""
    fits = isinstance(value, numbers.Integral) and not isinstance(value, bool) and (least is None or value >= least)
    if not fits or not -(2**31) <= value < 2**31:
        bound = "" if least is None else f" of {least} or more"
        raise ArgumentError(f"{call}: {name} must be an integer{bound}, not {value!r}")
    return int(value)


def duration(call, name, unit, value, *, zero=False):
    """The value, which has to be a time in that unit: more than none, or with ``zero`` none too."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not number or value < 0 or (value == 0 and not zero):
        raise ArgumentError(f"{call}: {name} must be {unit}, a number " + ("of 0 or more" if zero else "above 0") + f", not {value!r}")
    return float(value)


def seconds(call, name, value, *, zero=False):
    """``duration`` of seconds."""
    return duration(call, name, "seconds", value, zero=zero)


def text(call, name, value):
    """The value, which has to be text that UTF-8 can write."""
    try:
        if isinstance(value, str) and value.encode() is not None:
            return value
    except UnicodeEncodeError:
        pass
    raise ArgumentError(f"{call}: {name} must be text, not {value!r}")
