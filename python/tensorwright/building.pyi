from collections.abc import Mapping, Sequence
from os import PathLike
from typing import overload

from ._core import Function, Program, Tensor
from .autotune import Machine, Task
from .schedule import Schedule
from .target import Target

__all__: list[str]

class Kernels(dict[str, Function]):
    def save(self, path: str | PathLike[str]) -> None: ...
    def source(self, kind: str = "ir") -> str: ...

@overload
def build(
    schedule: Mapping[str, tuple[Schedule, Sequence[Tensor]] | Sequence[Tensor]], *, target: Target | str | None = None
) -> Kernels: ...
@overload
def build(
    schedule: Schedule | Sequence[Tensor] | Task,
    args: Sequence[Tensor] | Tensor | None = None,
    target: Target | str | None = None,
    name: str | None = None,
    *,
    log: str | PathLike[str] | None = None,
    machine: Machine | None = None,
) -> Function: ...
def lower(schedule: Schedule, args: Sequence[Tensor] | Tensor, target: Target | str | None = None, name: str | None = None, *, plain: bool = False, simple_mode: bool = False) -> Program: ...
def default_schedule(tensors: Sequence[Tensor] | Tensor, target: Target | str | None = None) -> Schedule: ...
