"""Tensorwright: tensor expressions, schedules, and a tuner that measures.

>>> import tensorwright as tw
>>> from tensorwright import te
"""

import os as _os
import sys as _sys

from . import _core

_core._set_package_dir(_os.path.dirname(_os.path.abspath(__file__)))
_core._look_for_nvrtc_in([path for path in _sys.path if path.endswith("-packages")])

from . import aot, autotune, ops, rpc, te  # noqa: E402
from .autotune.stock import tune_operator as tune  # noqa: E402
from .building import build, default_schedule, lower  # noqa: E402
from .errors import *  # noqa: E402, F403
from .errors import __all__ as _error_names  # noqa: E402
from .int4 import Int4Array, pack_int4, unpack_int4  # noqa: E402
from .runtime import *  # noqa: E402, F403
from .runtime import __all__ as _runtime_names  # noqa: E402
from .schedule import Schedule, create_schedule  # noqa: E402
from .target import Target  # noqa: E402

__version__ = "0.1.0"
__all__ = [
    "Int4Array",
    "Schedule",
    "Target",
    "aot",
    "autotune",
    "build",
    "create_schedule",
    "default_schedule",
    "lower",
    "ops",
    "pack_int4",
    "rpc",
    "te",
    "tune",
    "unpack_int4",
    *_error_names,
    *_runtime_names,
]
