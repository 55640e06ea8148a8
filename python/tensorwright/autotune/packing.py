"""Candidates in a file, for a machine that only files reach."""

from __future__ import annotations

from .. import _core
from .._checks import path_of, positive
from ..errors import ArgumentError
from .tuner import as_task, core_options

__all__ = ["Pack", "pack"]


class Pack:
    """What ``pack`` wrote: ``path``, ``candidates``, ``not_built`` of them, ``bytes``, and the machine that it is for: ``threads``
    of the kernel (0: all cores), ``hardware`` (empty: the log had no records)."""

    def __init__(self, path, core):
        self.path = path
        for name in ("candidates", "not_built", "bytes", "threads", "hardware"):
            setattr(self, name, getattr(core, name))

    def __repr__(self):
        where = f" for {self.hardware}, {self.threads} threads" if self.hardware else ""
        return f"Pack({self.path!r}, {self.candidates} candidates{where}, {self.bytes} bytes)"


def pack(task, path, *, target=None, trials=64, log=None, threads=None, hardware=None, seed=0, search="evolutionary", model="auto",
         model_file=None, transfer=(), timeout=10, number=None, repeat=None):
    """Write the next candidates of a tuning to a file, which ``tw-board measure`` runs on another machine, or ``tw-measure`` on
    another machine's GPU (docs/boards.md).

    The candidates are proposed from what the log holds and built here; nothing is measured and the log is not written to. The
    lines that the board writes go into the log: pack again from it, or build its best. The same log gives the same pack.

    Parameters: task, a Task, or the tensors of one; path, of the pack, which is replaced; target, the board's CPU or GPU, as
    ``tw-board describe`` or ``tw-measure describe`` prints it; trials, how many candidates; log, the records so far, if there is one yet; threads of the kernel there, by
    default those of the log's records, else all cores; hardware, which of the log's machines, where there are several. The others are those
    of ``tw.autotune.tune``.
    Returns: Pack.
    Raises: TuneError if nothing is left to propose, or the log has records of several such machines and none is named; LogError;
    ArgumentError.
    """
    task = as_task(task, target)
    if threads is not None:
        positive("pack", "threads", threads)
    if hardware is not None and not isinstance(hardware, str):
        raise ArgumentError(f"pack: hardware must be a string, not {hardware!r}")
    options = core_options(trials=trials, log=log, seed=seed, search=search, model=model, early_stop=None, stop_without_gain=False,
                           model_file=model_file, transfer=transfer, timeout=timeout, number=number, repeat=repeat)
    path = path_of("pack", "path", path)
    return Pack(path, _core.pack_candidates(task._core, options, path, threads or 0, hardware or ""))
