from . import aot as aot
from . import autotune as autotune
from . import ops as ops
from . import rpc as rpc
from . import te as te
from .autotune.stock import tune_operator as tune
from .building import build as build
from .building import default_schedule as default_schedule
from .building import lower as lower
from .errors import *
from .int4 import Int4Array as Int4Array
from .int4 import pack_int4 as pack_int4
from .int4 import unpack_int4 as unpack_int4
from .runtime import ArgSpec as ArgSpec
from .runtime import DeviceArray as DeviceArray
from .runtime import Function as Function
from .runtime import PackedArray as PackedArray
from .runtime import TimingResult as TimingResult
from .runtime import device_array as device_array
from .runtime import device_info as device_info
from .runtime import load as load
from .runtime import num_threads as num_threads
from .runtime import park_threads as park_threads
from .runtime import set_num_threads as set_num_threads
from .schedule import Schedule as Schedule
from .schedule import create_schedule as create_schedule
from .target import Target as Target

__all__: list[str]
__version__: str
