from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from typing import Any, NamedTuple, overload

from .. import _core
from ..aot import BySize
from ..schedule import Schedule
from ..te import Tensor, Var
from . import record as record

__all__: list[str]

_Target = _core.Target | str | None
_Path = str | PathLike[str]
_Scheduled = tuple[Schedule, list[Tensor]]

class Machine(_core.Machine):
    def __init__(self, hardware: str | None = None, threads: int | None = None) -> None: ...

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
    def is_index_valid(self, index: int) -> bool: ...
    def __iter__(self) -> Iterator[Candidate]: ...

class Template:
    name: str
    function: Callable[..., Any]
    has_fallback: bool
    def __init__(self, name: str, function: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any) -> _Scheduled: ...

@overload
def template(name: Callable[..., Any]) -> Template: ...
@overload
def template(name: str | None = None) -> Callable[[Callable[..., Any]], Template]: ...

class Task:
    template: Template | None
    args: Any
    target: _core.Target
    def __init__(
        self,
        template: Template | str | Callable[..., Any] | Sequence[Tensor] | Tensor,
        args: Sequence[Any] = (),
        target: _Target = None,
        *,
        name: str | None = None,
    ) -> None: ...
    @classmethod
    def at_size(
        cls, tensors: Sequence[Tensor] | Tensor, size: Var, value: int, target: _Target = None, *, name: str | None = None,
        others: Mapping[Var, int] | None = None
    ) -> Task: ...
    @classmethod
    def stock(cls, operator: str, parameters: Mapping[str, Any], target: _Target = None) -> Task: ...
    @property
    def name(self) -> str: ...
    @property
    def space(self) -> Space: ...
    @property
    def branching(self) -> bool: ...
    def on(self, target: _Target) -> Task: ...
    def instantiate(self, config: Candidate | ConfigEntity) -> _Scheduled: ...

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
    def schedule(self) -> Schedule: ...
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
    pruned: int
    alike: int
    elapsed: float
    note: str
    @property
    def schedule(self) -> Schedule: ...
    def build(self, name: str | None = None) -> _core.Function: ...
    def report(self, output: _Path | None = None) -> _Path: ...
    def plot(self, ax: Any = None) -> Any: ...

class SizedResult:
    results: dict[int, TuneResult]
    target: _core.Target
    @property
    def kernel(self) -> BySize: ...
    def build(self, name: str | None = None) -> _core.Function: ...

class MeasureInput:
    task: Task
    target: _core.Target
    config: Candidate
    def __init__(self, target: Any, task: Any, config: Any) -> None: ...

class MeasureResult:
    trial: Trial | None
    status: str
    costs: tuple[float, ...]
    error_no: int
    all_cost: float
    timestamp: float
    def __init__(
        self,
        costs: Sequence[float],
        error_no: int = 0,
        all_cost: float = 0.0,
        timestamp: float = 0.0,
        *,
        status: str | None = None,
        trial: Trial | None = None,
    ) -> None: ...
    @classmethod
    def of(cls, trial: Any) -> MeasureResult: ...

class BuildResult(NamedTuple):
    filename: str | None = None
    arg_info: tuple[Any, ...] = ()
    error: object = None
    time_cost: float = 0.0

class Builder:
    folder: str | None
    def build(self, measure_inputs: list[MeasureInput]) -> Sequence[BuildResult]: ...

class Runner:
    def run(self, measure_inputs: list[MeasureInput], build_results: list[BuildResult]) -> Sequence[MeasureResult]: ...
    def describe(self) -> str: ...

class ConfigEntity:
    knobs: dict[str, Any]
    index: int | None
    def __init__(self, knobs: Mapping[str, Any], index: int | None = None) -> None: ...
    @classmethod
    def from_json_dict(cls, json_dict: Mapping[str, Any]) -> ConfigEntity: ...
    def to_json_dict(self) -> dict[str, Any]: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...

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

class RayRunner(Runner):
    def __init__(
        self,
        address: str | None = None,
        *,
        resources: Mapping[str, float] | None = None,
        workers: int | None = None,
        threads: int | None = None,
        builders: int | None = None,
        runtime_env: Mapping[str, Any] | None = None,
        timeout: float = 60,
    ) -> None: ...
    @property
    def machine(self) -> Machine: ...
    def close(self) -> None: ...
    def __enter__(self) -> RayRunner: ...
    def __exit__(self, *_: object) -> None: ...

class RPCRunner(Runner):
    def __init__(
        self,
        key: str | None = None,
        host: str | None = None,
        port: int | None = None,
        *,
        secret: _Path | None = None,
        boards: Sequence[str] | None = None,
        priority: int = 0,
        session_timeout: float | None = None,
    ) -> None: ...
    @property
    def target(self) -> str: ...
    @property
    def machine(self) -> Machine: ...
    @property
    def state(self) -> str: ...
    def close(self) -> None: ...
    def __enter__(self) -> RPCRunner: ...
    def __exit__(self, *_: object) -> None: ...

_Callback = Callable[[Tuner, list[MeasureInput], list[MeasureResult]], Any]

@overload
def tune(
    task: Task | Sequence[Tensor] | Tensor,
    *,
    target: _Target = None,
    trials: int = 64,
    log: _Path | None = None,
    seed: int = 0,
    search: str = "evolutionary",
    model: str | None = "auto",
    early_stop: int | None = None,
    stop_without_gain: bool = False,
    model_file: _Path | None = None,
    transfer: _Path | Sequence[_Path] = (),
    callbacks: _Callback | Sequence[_Callback] = (),
    timeout: float = 10,
    number: int | None = None,
    repeat: int | None = None,
    progress: bool = True,
    range_idx: tuple[int, int] | None = None,
    builder: Builder | None = None,
    runner: Runner | None = None,
    sizes: None = None,
) -> TuneResult: ...
@overload
def tune(
    task: Sequence[Tensor] | Tensor,
    *,
    sizes: dict[Var, Sequence[int] | int],
    target: _Target = None,
    trials: int = 64,
    log: _Path | None = None,
    seed: int = 0,
    search: str = "evolutionary",
    model: str | None = "auto",
    early_stop: int | None = None,
    stop_without_gain: bool = False,
    model_file: _Path | None = None,
    transfer: _Path | Sequence[_Path] = (),
    callbacks: _Callback | Sequence[_Callback] = (),
    timeout: float = 10,
    number: int | None = None,
    repeat: int | None = None,
    progress: bool = True,
    runner: Runner | None = None,
) -> SizedResult: ...

class Pack:
    path: str
    candidates: int
    not_built: int
    bytes: int
    threads: int
    hardware: str

def pack(
    task: Task | Sequence[Tensor] | Tensor,
    path: _Path,
    *,
    target: _Target = None,
    trials: int = 64,
    log: _Path | None = None,
    threads: int | None = None,
    hardware: str | None = None,
    seed: int = 0,
    search: str = "evolutionary",
    model: str | None = "auto",
    model_file: _Path | None = None,
    transfer: _Path | Sequence[_Path] = (),
    timeout: float = 10,
    number: int | None = None,
    repeat: int | None = None,
) -> Pack: ...

class TaskScheduler:
    tasks: list[Task]
    weights: list[float]
    def __init__(
        self, tasks: Sequence[Task | Sequence[Tensor] | Tensor], weights: Sequence[float] | None = None, *, target: _Target = None
    ) -> None: ...
    def tune(
        self,
        *,
        trials: int = 64,
        log: _Path | None = None,
        seed: int = 0,
        search: str = "evolutionary",
        model: str | None = "auto",
        early_stop: int | None = None,
        stop_without_gain: bool = False,
        model_file: _Path | None = None,
        transfer: _Path | Sequence[_Path] = (),
        timeout: float = 10,
        number: int | None = None,
        repeat: int | None = None,
        progress: bool = True,
        runner: RayRunner | RPCRunner | None = None,
    ) -> list[TuneResult]: ...

class Record:
    kind: str
    task: str
    args: Any
    call: str
    hash: str
    target: str
    threads: int
    hardware: str
    knobs: dict[str, Any]
    status: str
    ok: bool
    seconds: float
    spread: float
    runs: int
    detail: str
    flops: float
    seed: int
    version: str
    time: str
    def __init__(self, core: Any) -> None: ...
    @property
    def steps(self) -> list[Any]: ...
    @property
    def gflops(self) -> float: ...

def load_log(log: _Path) -> list[Record]: ...
def pick_best(log: _Path, output: _Path | None = None) -> list[Record]: ...
def merge_logs(logs: Sequence[_Path], output: _Path) -> dict[str, Any]: ...
def prune_log(log: _Path, output: _Path | None = None, keep: int = 1) -> dict[str, Any]: ...
def import_autotvm(log: _Path, output: _Path, task: Task | None = None) -> dict[str, Any]: ...
def export_autotvm(log: _Path, output: _Path) -> dict[str, Any]: ...
def report(log: _Path, output: _Path | None = None, *, task: Task | None = None) -> _Path: ...
def apply_history_best(*logs: _Path | Sequence[_Path]) -> AbstractContextManager[None]: ...
