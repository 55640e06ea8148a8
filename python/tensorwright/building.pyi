from collections.abc import Sequence
from os import PathLike

from ._core import Function, Program, Tensor
from .autotune import Task
from .schedule import Schedule
from .target import Target

__all__: list[str]

def build(
    schedule: Schedule | Sequence[Tensor] | Task,
    args: Sequence[Tensor] | Tensor | None = None,
    target: Target | str | None = None,
    name: str | None = None,
    *,
    log: str | PathLike[str] | None = None,
) -> Function: ...
def lower(schedule: Schedule, args: Sequence[Tensor] | Tensor, target: Target | str | None = None, name: str | None = None) -> Program: ...
def default_schedule(tensors: Sequence[Tensor] | Tensor, target: Target | str | None = None) -> Schedule: ...
