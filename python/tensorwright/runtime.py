"""Running kernels: the functions that ``tw.build`` and ``tw.load`` return, their timing, and the threads they use."""
from ._core import ArgSpec, Function, TimingResult, load, num_threads, park_threads, set_num_threads

__all__ = ["ArgSpec", "Function", "TimingResult", "load", "num_threads", "park_threads", "set_num_threads"]
