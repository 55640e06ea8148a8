from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TypedDict

from .autotune import Task
from .runtime import Function
from .schedule import Schedule
from .target import Target
from .te import Tensor, Var

_Path = str | PathLike[str]
class BySize:
    size: Var
    schedules: dict[int, Schedule]
    otherwise: Schedule
    tensors: list[Tensor]
    scalars: list[tuple[Var, int]]
    seconds: dict[int, list[float]]
    def __init__(self, size: Var, schedules: dict[int, Schedule], otherwise: Schedule, args: Sequence[Tensor | Var]) -> None: ...
    @classmethod
    def measured(
        cls,
        size: Var,
        candidates: Sequence[Schedule],
        sizes: Sequence[int],
        args: Sequence[Tensor | Var],
        target: str | Target | None = None,
    ) -> BySize: ...
    def __tw_build__(
        self, target: str | Target | None = None, name: str | None = None, log: _Path | None = None, machine: object = None
    ) -> Function: ...

_Kernel = Task | BySize | Sequence[Tensor | Var] | tuple[Schedule, Sequence[Tensor | Var]]
_Targets = Sequence[str | Target] | str | Target

class _Built(TypedDict):
    files: list[str]
    compiled: list[str]
    unchanged: list[str]

__all__: list[str]

def freeze(
    kernels: dict[str, _Kernel],
    *,
    targets: _Targets,
    log: _Path | None = None,
    hardware: str | None = None,
    threads: int | None = None,
    out: _Path = ".",
    allow_default: bool = False,
    source: str | None = None,
    measure_loss: int = 0,
) -> list[str]: ...
def check(
    kernels: dict[str, _Kernel],
    *,
    targets: _Targets,
    log: _Path | None = None,
    out: _Path = ".",
    require_tuned: bool = False,
    source: str | None = None,
) -> list[str]: ...
def library(
    paths: Iterable[_Path] | _Path,
    out: _Path,
    *,
    name: str = "kernels",
    prefix: str = "",
    baseline: str | Target | None = None,
    archive: bool = True,
    shared: bool = False,
    debug_lines: bool = False,
    externs: Iterable[str] = (),
) -> _Built: ...
