"""Targets: what code is made for."""
import contextvars

from . import _core
from .errors import TargetError

__all__ = ["Target"]

_entered = contextvars.ContextVar("tensorwright_targets", default=())


class Target(_core.Target):
    """What code is made for: ``llvm``, ``c``, ``cuda`` or ``interp``, with options ``-mcpu=``, ``-mattr=`` and ``-mtriple=``.

    ``Target("llvm -mcpu=native")`` asks the machine; ``str(target)`` is what that was resolved to, and means the same target
    anywhere: the CPU's name, where its features are such a CPU's, else a level such as ``x86-64-v3``, and by what its features
    differ. Those that code has none of (``rtm``, ``pku``, ...) may stand in ``-mattr=`` and are left out. ``llvm`` alone is the
    oldest CPU of the architecture. ``llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1`` is for another machine than this one: such
    a function is built, saved and shown, and only calling it is refused. Spellings of a triple are one target
    (``aarch64-unknown-linux-gnu``); a text without one is for the architecture that has the CPU. ``-msve-vector-bits=256`` is the
    length of SVE's vectors, which is the CPU's: it is left out where all such CPUs have that length (``neoverse-v1``: 256), and
    ``scalable`` stands for code that runs with any, in vectors of 128 bits. What TVM writes beside these
    is understood: ``-keys=``, ``-device=``, ``-model=``, ``-libs=`` and ``-num-cores=`` change nothing, ``-mfloat-abi=`` must be
    ``hard``. ``c`` writes C99, compiled by the system's compiler (``$CC``, or cc, gcc or clang):
    ``f.source("c")`` is the clearest way to read what a schedule does. ``interp`` runs the lowered program in the interpreter,
    which checks every access: with the options of ``llvm`` it gives the bits that ``llvm`` gives with them, for any CPU on any
    machine. ``cuda -arch=sm_90a`` is for GPUs of NVIDIA of that architecture; ``cuda`` alone for the GPU of this machine, or for
    ``sm_80`` where there is none, and TVM's ``nvidia/nvidia-h100`` and the like for what these are; ``-max_num_threads=1024``, ``-thread_warp_size=32`` and the like, as TVM writes them, say what every
    such device has. Inside ``with Target(...):`` it is what ``tw.build`` builds for when nothing else is said.

    Attributes: kind, triple, cpu, features (what code may use, sorted), vector_bits, vector_registers, sve_bits (0: none needed),
    arch (of a GPU, else empty).
    Raises: TargetError for an unknown kind, option, CPU or attribute, with the nearest names.

    >>> t = Target("interp")
    >>> with t:
    ...     Target.current() == t
    True
    """

    _made = False  # a debugger may show one whose text was refused

    def __init__(self, text):
        if not isinstance(text, (str, _core.Target)):
            raise TargetError(f"target must be a string, not {type(text).__name__}", 'for example "llvm -mcpu=native"')
        super().__init__(str(text))
        self._made = True

    @staticmethod
    def current():
        """The target of the innermost ``with``, else the machine that we run on."""
        entered = _entered.get()
        return entered[-1] if entered else Target.host()

    @classmethod
    def host(cls):
        """The machine that we run on: ``llvm -mcpu=native``; in a build without LLVM ``c -mcpu=native``, or ``interp``."""
        return cls(str(_core.Target.host()))

    def __enter__(self):
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *exc):
        _entered.set(_entered.get()[:-1])

    def __repr__(self):
        if not self._made:
            return "<Target that was not made>"
        if str(self) == "interp" or self.arch:
            return f"Target('{self}')"
        return f"Target('{self}': {self.vector_bits}-bit vectors, {self.vector_registers} vector registers)"


def as_target(target):
    """What a ``target=`` argument means: a Target, its text, or None for the current one."""
    if target is None:
        return Target.current()
    if isinstance(target, _core.Target):
        return target
    if isinstance(target, str):
        return Target(target)
    raise TargetError(f"target must be a string or a tw.Target, not {type(target).__name__}", 'for example "llvm -mcpu=native"')
