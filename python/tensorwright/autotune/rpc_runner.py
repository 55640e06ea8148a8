"""Measuring on boards, over a network."""

from __future__ import annotations

from .. import _core
from .._checks import integer, path_of, seconds
from ..errors import ArgumentError, RpcError
from .machine import Machine
from .measuring import Runner

__all__ = ["RPCRunner"]


def _port(value):
    return not isinstance(value, bool) and isinstance(value, int) and 1 <= value < 2**16


class RPCRunner(Runner):
    """Measures candidates on boards: ``tune(task, target=runner.target, runner=runner)``, as ``tune`` does on this machine.

    The boards are those of a key that are free with a tracker, or those that are listed, on which ``tw-board --listen`` runs
    (docs/boards.md). All must be alike. Each has three jobs at a time, and the next batch is built while one runs. A board that goes away
    is waited for, for half a minute; then its jobs go to the others. What is lost, or runs hot, is measured again, and never the
    candidate's fault. The same seed and log give the same decisions, whichever board measures what.

    Parameters: key, host and port, of boards with a tracker, and where that is; secret, the path of the file that all share, needed
    for other machines than this one; boards, of the form "HOST:PORT", in the place of a tracker; priority, of who asks for boards:
    more goes first; session_timeout, seconds after which a tracker takes the boards back, by default never.
    Attributes: target, what ``-mcpu=native`` is on the boards; machine, a Machine, for ``tw.build(.., log=, machine=)``; state, as
    the progress bar shows it.
    Raises: RpcError (a ConnectionError too) for a tracker or a board that is away, does not answer within 5 seconds, has
    another secret or release, and for boards that differ, all of which it lists; ArgumentError.

    >>> RPCRunner(boards=["127.0.0.1:1"])
    Traceback (most recent call last):
        ...
    tensorwright.errors.RpcError: 127.0.0.1:1 cannot be reached: Connection refused
        is it listening on port 1?
    """

    def __init__(self, key=None, host=None, port=None, *, secret=None, boards=None, priority=0, session_timeout=None):
        if (boards is None) == (key is None):
            raise ArgumentError('RPCRunner: give boards=["HOST:PORT", ...], or the key by which a tracker knows them, and not both')
        if key is not None and not (isinstance(key, str) and isinstance(host, str) and _port(port)):
            raise ArgumentError(f"RPCRunner: key and host must be strings, and port a number, not {key!r}, {host!r}, {port!r}")
        if boards is not None and (not isinstance(boards, (list, tuple)) or not boards or not all(isinstance(b, str) for b in boards)):
            raise ArgumentError(f'RPCRunner: boards must be a list of "HOST:PORT", not {boards!r}')
        integer("RPCRunner", "priority", priority)
        if session_timeout is not None:
            seconds("RPCRunner", "session_timeout", session_timeout)
        self._core = _core.RPCRunner(boards=list(boards or ()), key=key or "", host=host or "", port=port or 0,
                                     secret="" if secret is None else path_of("RPCRunner", "secret", secret), priority=priority,
                                     session_timeout=session_timeout or 0)

    @property
    def target(self):
        return self._core.target

    @property
    def machine(self):
        machine = self._core.machine
        return Machine(machine.hardware, machine.threads)

    @property
    def state(self):
        return self._core.state

    def describe(self):
        return self._core.machine.hardware

    def close(self):
        """Ends the connections, and with them what a tracker lent. ``with RPCRunner(..) as runner:`` does it too."""
        self._core = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return "RPCRunner(closed)" if self._core is None else f"RPCRunner({self.state}: {self.describe()})"

    def _core_runner(self, task=None):
        if self._core is None:
            raise RpcError("RPCRunner: it was closed")
        return self._core
