"""Machines, as values: what records are chosen for."""

from __future__ import annotations

from .. import _core
from ..errors import ArgumentError

__all__ = ["Machine"]


class Machine(_core.Machine):
    """A machine that kernels run on, for ``tw.build(.., log=, machine=)``: its records count, and of those the ones with its threads.

    Parameters: hardware, as records name it (``record.hardware``), by default this machine; threads of a kernel, by default
    ``tw.num_threads()``.
    Attributes: hardware, threads.
    Raises: ArgumentError for a hardware that is no text, and threads that are no positive integer.

    >>> Machine("a board", threads=4)
    Machine('a board', threads=4)
    """

    def __init__(self, hardware=None, threads=None):
        if hardware is not None and (not isinstance(hardware, str) or not hardware):
            raise ArgumentError(f"Machine: hardware must be a string that is not empty, not {hardware!r}")
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads < 2**31):
            raise ArgumentError(f"Machine: threads must be a positive integer, not {threads!r}")
        super().__init__(hardware or "", threads)

    def __repr__(self):
        return f"Machine({self.hardware!r}, threads={self.threads})"


def as_machine(machine):
    """What a ``machine=`` argument means: a Machine, or None for the one that a local Runner measures on."""
    if machine is None or isinstance(machine, Machine):
        return machine
    raise ArgumentError(f"build: machine must be a tw.autotune.Machine or None, not {machine!r}")
