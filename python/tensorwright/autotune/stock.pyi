from typing import Any

from .. import _core
from . import TuneResult

__all__: list[str]

def tune_operator(operator: str, /, *, target: _core.Target | str | None = None, **parameters: Any) -> TuneResult: ...
