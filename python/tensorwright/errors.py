"""The errors that Tensorwright raises. Each is a ``tensorwright.Error``, with it a ``RuntimeError`` as tvm's ``TVMError``
is, and what Python people expect besides."""

from . import _core
from ._location import line_text, user_line


class Error(RuntimeError):
    """What all errors of Tensorwright have in common.

    ``str(e)`` is the whole message: where, the rule, what was expected and what came, the user's line, the reason and the way
    out. ``e.what`` is the rule alone, ``e.notes`` the explanation, ``e.file`` and ``e.line`` the place.
    """

    def __init__(self, what, *notes, file=None, line=0, text=""):
        if file is None:
            file, line = user_line()
        self.what, self.notes, self.file, self.line = what, list(notes), file, line
        self.text = text or line_text(file, line)
        super().__init__(_core._render(what, notes, file, line, self.text, isinstance(self, InternalError)))

    def __reduce__(self):
        return _restore, (type(self), self.what, self.notes, self.file, self.line, self.text)


def _restore(kind, what, notes, file, line, text):
    return kind(what, *notes, file=file, line=line, text=text)


class DTypeError(Error, TypeError):
    """A dtype, or a kind of value, that the operation does not take."""


class ExprError(Error, ValueError, TypeError):
    """A tensor expression that has no meaning."""


class ScheduleError(Error, ValueError):
    """A Step that is refused; the schedule is as it was."""


class ArgumentError(Error, ValueError, TypeError):
    """A bad argument of a kernel or of a call."""


class TargetError(Error, ValueError):
    """An unknown target, CPU or attribute, or one that cannot do what is asked."""


class BuildError(Error):
    """Code generation, linking or loading failed."""


class LogError(Error, ValueError):
    """A tuning log that cannot be used."""


class NoRecord(Error, LookupError):
    """No tuning record for this task and target."""


class TuneError(Error):
    """Tuning cannot start, or every candidate failed."""


class RpcError(Error, ConnectionError):
    """A machine elsewhere that is away, refuses, or does not keep to the protocol."""


class ParseError(Error, ValueError):
    """Malformed IR, Step or JSON text."""


class InternalError(Error):
    """A bug of Tensorwright's."""


__all__ = sorted(kind.__name__ for kind in (Error, *Error.__subclasses__()))
