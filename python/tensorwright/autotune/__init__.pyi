from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from typing import Any, overload

from .. import _core
from ..schedule import Schedule
from ..te import Tensor

__all__: list[str]

_Target = _core.Target | str | None
_Path = str | PathLike[str]
_Scheduled = tuple[Schedule, list[Tensor]]

class Candidate:
    index: int
    knobs: dict[str, Any]
    @property
    def steps(self) -> list[Any]: ...
    def instantiate(self) -> _Scheduled: ...
    def __getitem__(self, name: str) -> Any: ...

class Space:
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Candidate: ...
    def get(self, index: int) -> Candidate: ...
    def __iter__(self) -> Iterator[Candidate]: ...

class Template:
    name: str
    function: Callable[..., Any]
    def __init__(self, name: str, function: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any) -> _Scheduled: ...

@overload
def template(name: Callable[..., Any]) -> Template: ...
@overload
def template(name: str | None = None) -> Callable[[Callable[..., Any]], Template]: ...

class Task:
    template: Template
    args: tuple[Any, ...]
    target: _core.Target
    def __init__(self, template: Template | str | Callable[..., Any], args: Sequence[Any] = (), target: _Target = None) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def space(self) -> Space: ...
    @property
    def branching(self) -> bool: ...

class Trial:
    index: int
    knobs: dict[str, Any]
    status: str
    seconds: float
    spread: float
    runs: int
    detail: str
    ok: bool
    @property
    def candidate(self) -> Candidate: ...
    @property
    def config(self) -> Candidate: ...
    @property
    def steps(self) -> list[Any]: ...
    @property
    def gflops(self) -> float: ...

class TuneResult:
    best: Trial | None
    trials: list[Trial]
    failures: list[Trial]
    curve: list[float]
    measured: int
    elapsed: float
    note: str

class MeasureInput:
    task: Task
    target: _core.Target
    config: Candidate
    def __init__(self, trial: Trial) -> None: ...

class MeasureResult:
    trial: Trial
    status: str
    costs: tuple[float, ...]
    error_no: int
    all_cost: float
    def __init__(self, trial: Trial) -> None: ...

class Tuner:
    task: Task
    n_trial: int
    trials: list[Trial]
    best: Trial | None
    def __init__(self, task: Task, n_trial: int) -> None: ...
    @property
    def best_config(self) -> Candidate | None: ...
    @property
    def best_flops(self) -> float: ...

_Callback = Callable[[Tuner, list[MeasureInput], list[MeasureResult]], Any]

def tune(
    task: Task,
    trials: int = 128,
    log: _Path | None = None,
    seed: int = 0,
    *,
    search: str = "evolutionary",
    model: str | None = "auto",
    early_stop: int | None = None,
    callbacks: _Callback | Sequence[_Callback] = (),
    timeout: float = 10,
    number: int | None = None,
    repeat: int | None = None,
    progress: bool = True,
) -> TuneResult: ...
def apply_history_best(*logs: _Path | Sequence[_Path]) -> AbstractContextManager[None]: ...
