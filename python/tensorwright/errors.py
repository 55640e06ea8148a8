"""The exceptions. ``str(e)`` names the user's line, the rule, what was expected and what came; ``e.what`` is the rule alone,
``e.notes`` the explanation, ``e.file`` and ``e.line`` the place."""

__all__ = ["ArgumentError", "BuildError", "DTypeError", "Error", "ExprError", "InternalError", "LogError", "NoRecord",
           "ParseError", "ScheduleError", "TargetError", "TuneError"]


class Error(Exception):
    """What every error of this package is."""

    what = ""
    notes: list = []
    file = ""
    line = 0


class DTypeError(Error, TypeError):
    """A dtype that the operation does not take."""


class ExprError(Error, ValueError, TypeError):
    """A tensor expression that has no meaning."""


class ScheduleError(Error, ValueError):
    """A Step that is refused; the schedule is as it was."""


class ArgumentError(Error, ValueError, TypeError):
    """A bad argument of a kernel or of a call."""


class TargetError(Error, ValueError):
    """An unknown target, CPU or attribute."""


class BuildError(Error, RuntimeError):
    """Code generation, linking or loading failed."""


class LogError(Error, ValueError):
    """A tuning log that cannot be used."""


class NoRecord(Error, LookupError):
    """No tuning record for this task and target."""


class TuneError(Error, RuntimeError):
    """Tuning cannot start, or every candidate failed."""


class ParseError(Error, ValueError):
    """Malformed IR, Step or JSON text."""


class InternalError(Error, RuntimeError):
    """A bug of Tensorwright."""
