"""What Steps take: numbers, words and sizes, each as the Step holds it, or refused."""

from __future__ import annotations

import contextlib
import operator

from .. import _core
from .._location import user_line


@contextlib.contextmanager
def all_or_none(schedule):
    """What several Steps do together: where one is refused, there is none of them."""
    saved = schedule._saved()
    try:
        yield
    except BaseException:
        schedule._restore(saved)
        raise


def refuse(step, rule):
    _core._refuse_step(step, rule, user_line())


def factor_of(step, field, value):
    if value is None or isinstance(value, _core.Factor):
        return value
    if isinstance(value, (_core.Expr, _core.Var)):
        return _core.Factor(value)
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
            if -(2**63) <= number < 2**63:
                return _core.Factor(number)
        except TypeError:
            pass
    return refuse(step, f"{field} must be a positive integer, not {value!r}")


def pair_of(step, field, value):
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return refuse(step, f"{field} must be two integers, not {value!r}")
    return [integer(step, field, one) for one in value]


def integer(step, field, value):
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
            if -(2**63) <= number < 2**63:
                return number
        except TypeError:
            pass
    return refuse(step, f"{field} must be an integer, not {value!r}")


def word(step, field, value):
    return value if isinstance(value, str) else refuse(step, f"{field} must be a string, not {value!r}")


def scope_of(step, scope):
    """The name of a scope. Shared memory is allocated at the launch where there is much of it, so "shared.dyn" says nothing more."""
    return "shared" if word(step, "scope", scope) == "shared.dyn" else scope


def pad_text(value):
    if value is None:
        return ""
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return refuse("transform_layout", f"pad_value must be a number, not {value!r}")
