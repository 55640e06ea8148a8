"""Machines elsewhere: arrays, files and kernels on a board, by the names of ``tvm.rpc`` (docs/boards.md).

::

    remote = tw.rpc.connect("pi4-1", 9090, secret="farm.secret")
    f = tw.build(s, [A, B, C], target="llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", name="dense")
    f.save("dense.so")
    remote.upload("dense.so")
    dense = remote.load_module("dense.so")
    a, b, c = remote.array(x), remote.array(y), remote.empty((257, 257), "float32")
    dense(a, b, c)
    print(c.numpy(), dense.time_evaluator(number=10, repeat=3)(a, b, c).mean)
"""

from __future__ import annotations

import json
import numbers
import os
import pathlib
import statistics
from collections.abc import Sequence

import numpy as np

from . import _core
from ._checks import duration, integer, path_of, seconds, text
from .errors import ArgumentError, RpcError

__all__ = ["BenchmarkResult", "RemoteArray", "RemoteFunction", "Session", "TrackerSession", "connect", "connect_tracker"]


def _numpy_dtype(name):
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # bfloat16 and the float8 types are its

        return np.dtype(getattr(ml_dtypes, name))


class RemoteArray:
    """An array in a board's memory; ``Session.array`` and ``Session.empty`` make it. It goes with its last reference.

    Attributes: shape, dtype (a string).
    """

    def __init__(self, core):
        self._core = core

    shape = property(lambda self: self._core.shape)
    dtype = property(lambda self: self._core.dtype)

    def numpy(self):
        """A copy of what it holds now, as a NumPy array."""
        return np.frombuffer(self._core.read(), _numpy_dtype(self.dtype)).reshape(self.shape).copy()

    def copyfrom(self, array):
        """Fills it with an array of its shape and dtype. Returns itself. Raises: ArgumentError for another shape or dtype."""
        source = np.asarray(array, order="C")
        if source.shape != self.shape or source.dtype != _numpy_dtype(self.dtype):
            raise ArgumentError(f"copyfrom: must be an array of {self.dtype} and shape {self.shape}, not of {source.dtype} and {source.shape}")
        self._core.write(source.reshape(-1).view(np.uint8) if source.size else b"")
        return self

    def __repr__(self):
        return f"RemoteArray({self.dtype}, {self.shape})"


class BenchmarkResult:
    """Seconds of a call: ``results`` of each repeat, and their ``mean``, ``median``, ``min``, ``max``, ``std``."""

    def __init__(self, results):
        self.results = tuple(results)
        self.mean, self.median = statistics.fmean(self.results), statistics.median(self.results)
        self.min, self.max, self.std = min(self.results), max(self.results), statistics.pstdev(self.results)

    def __repr__(self):
        return f"BenchmarkResult(min={self.min:.4g}, mean={self.mean:.4g}, median={self.median:.4g}, max={self.max:.4g}, std={self.std:.4g})"


class RemoteFunction:
    """A kernel on a board, called as one here is: on arrays of its session, or on NumPy arrays, which are sent for the call
    and of which outputs come back.

    Attributes: name; args, as a function of ``tw.build`` has them (an extent that is symbolic is -1); session.
    Raises, when called: what a call on this machine raises; TuneError if the kernel crashed or did not return within
    ``timeout`` seconds: it is gone then, and what the session has besides stays; RpcError if the board is lost.
    """

    def __init__(self, core, session, timeout):
        self._core, self.session, self.timeout = core, session, timeout

    name = property(lambda self: self._core.name)
    args = property(lambda self: self._core.args)

    def _sent(self, values):
        """The arguments as they are there, and (NumPy array, remote array) of those to bring back."""
        specs, sent, back = iter(self.args), [], []
        for n, value in enumerate(values, 1):
            if isinstance(value, np.ndarray):
                spec = next(specs, None)
                remote = self.session.array(value)
                sent.append(remote._core)
                if spec is not None and spec.is_output:
                    if not value.flags.writeable:
                        raise ArgumentError(f"{self.name}: argument {n} ({spec.name}): an output must be writable, this array is read-only")
                    back.append((value, remote))
            elif isinstance(value, RemoteArray):
                next(specs, None)
                sent.append(value._core)
            else:
                sent.append(value)
        return sent, back

    def __call__(self, *values):
        sent, back = self._sent(values)
        self._core.call(self.timeout, *sent)
        for array, remote in back:
            array[...] = remote.numpy()

    def time_evaluator(self, func_name=None, dev=None, number=10, repeat=1, min_repeat_ms=0, cooldown_interval_ms=0):
        """What times calls on the board: a function of their arguments that returns a ``BenchmarkResult``.

        Parameters: func_name and dev, for those who come from TVM, are this kernel's name and ``remote.cpu()``; number, calls of
        a repeat (0: as many as last min_repeat_ms); repeat; min_repeat_ms, milliseconds that a repeat lasts at least;
        cooldown_interval_ms, milliseconds of rest between two repeats.
        Raises: ArgumentError for a func_name that is not this kernel's, and for counts and times that are none.
        """
        if func_name not in (None, self.name, "main", "default_function"):
            raise ArgumentError(f"time_evaluator: this is the kernel {self.name}, not {func_name!r}")
        number, repeat = integer("time", "number", number, 0), integer("time", "repeat", repeat, 1)
        for name, value in (("min_repeat_ms", min_repeat_ms), ("cooldown_interval_ms", cooldown_interval_ms)):
            duration("time", name, "milliseconds", value, zero=True)

        def evaluate(*values):
            sent, _ = self._sent(values)
            calls = 0 if min_repeat_ms else number
            return BenchmarkResult(self._core.time(calls, repeat, min_repeat_ms, cooldown_interval_ms, 10 * self.timeout, *sent))

        return evaluate

    def __repr__(self):
        return f"RemoteFunction({self.name})"


class Session:
    """A board, as long as this lives; ``connect`` and ``TrackerSession.request`` make it. What was uploaded, loaded and
    allocated goes with it."""

    def __init__(self, core):
        self._core = core

    @property
    def description(self):
        """What the board is: a dict of its hardware, cores, target, sandbox and the like."""
        return json.loads(self._core.description)

    def close(self):
        """Ends it: the board is free again. Also at the end of a ``with`` of it, and when its last reference goes."""
        self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def upload(self, data, target=None):
        """Sends a file, or bytes.

        Parameters: data, a path, or bytes; target, its name there: by default the path's last part. Names are only names: there are
        no folders, and nothing is written to the board's disk.
        Raises: ArgumentError without a name; OSError if the file cannot be read.
        """
        if isinstance(data, (bytes, bytearray, memoryview)):
            if target is None:
                raise ArgumentError("upload: bytes need a name: target=")
            content = bytes(data)
        else:
            content = pathlib.Path(path_of("upload", "data", data)).read_bytes()
        self._core.upload(os.path.basename(data) if target is None else text("upload", "target", target), content)

    def download(self, path):
        """What a file there holds, as bytes. Raises: ArgumentError if there is none, with those that there are."""
        return self._core.download(text("download", "path", path))

    def listdir(self, path="."):
        """The names of the files there, sorted."""
        return [name for name, _ in self._core.listdir()]

    def remove(self, path):
        """Removes a file there. Raises: ArgumentError if there is none."""
        self._core.remove(text("remove", "path", path))

    def load_module(self, path, kernel=None, *, timeout=60):
        """A kernel of a shared object that was uploaded, as a ``RemoteFunction``. It runs in a process of its own, confined.

        Parameters: path, its name there; kernel, which of several; timeout, seconds after which a call is given up.
        Raises: BuildError if it is no object of ``f.save("name.so")``, or has another kernel; TargetError if the board's CPU lacks what it needs.
        """
        timeout = seconds("load_module", "timeout", timeout)
        kernel = "" if kernel is None else text("load_module", "kernel", kernel)
        return RemoteFunction(self._core.load_module(text("load_module", "path", path), kernel), self, timeout)

    def array(self, source):
        """A copy of an array there, as a ``RemoteArray``. Raises: DTypeError for a dtype that kernels do not take; ArgumentError if the board has no room."""
        source = np.asarray(source, order="C")
        return RemoteArray(self._core.array(str(source.dtype), source.shape)).copyfrom(source)

    def empty(self, shape, dtype="float32"):
        """An array of zeros there. Raises: ArgumentError for a shape that no array has, or if the board has no room; DTypeError as of ``array``."""
        if not isinstance(shape, Sequence) or isinstance(shape, (str, bytes)):
            raise ArgumentError(f"empty: shape must be a sequence of integers, not {shape!r}")
        for extent in shape:
            if not isinstance(extent, numbers.Integral) or isinstance(extent, bool) or not 0 <= extent < 2**63:
                raise ArgumentError(f"empty: extents must be integers of 0 or more, not {extent!r}")
        return RemoteArray(self._core.array(dtype if isinstance(dtype, str) else str(np.dtype(dtype)), list(shape)))

    def cpu(self, index=0):
        """The board's CPU, for those who come from TVM. Raises: ArgumentError for another than the first."""
        if index != 0:
            raise ArgumentError(f"cpu: a board has one, 0, not {index!r}")
        return self


class TrackerSession:
    """A tracker, which hands out boards; ``connect_tracker`` makes it."""

    def __init__(self, host, port, secret, timeout):
        self._address = (host, port, secret, timeout)

    def request(self, key, priority=1, session_timeout=0, max_retry=5, *, predicate="", wait=60):
        """A board of a class of devices, once one is free.

        Parameters: key, the class; priority, greater is sooner; session_timeout, seconds after which the board is taken back (0: never);
        max_retry, how often a board that is lost before it answers is replaced by another; predicate, over what boards say of
        themselves, such as ``cores >= 4``; wait, seconds for a board to be free.
        Returns: Session. Raises: RpcError if there is none in time, with what the boards lack or who has them.
        """
        return Session(_core.rpc_request(*self._address, text("request", "key", key), text("request", "predicate", predicate),
                                         integer("request", "priority", priority), seconds("request", "wait", wait, zero=True),
                                         seconds("request", "session_timeout", session_timeout, zero=True),
                                         integer("request", "max_retry", max_retry, 0)))

    def request_and_run(self, key, func, priority=1, session_timeout=0, max_retry=2):
        """``func(session)`` on a board of the class; again on another one if the board is lost meanwhile, max_retry times."""
        for left in range(integer("request_and_run", "max_retry", max_retry, 0), -1, -1):
            session = self.request(key, priority, session_timeout)
            try:
                return func(session)
            except RpcError:
                session.close()
                if left == 0:
                    raise

    def summary(self):
        """Who is there, who has whom and who waits, as a dict."""
        return json.loads(_core.rpc_summary(*self._address))


def _address(host, port, secret, timeout):
    if not isinstance(host, str) or not host:
        raise ArgumentError(f"rpc: host must be a name or a number as text, not {host!r}")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 2**16:
        raise ArgumentError(f"rpc: port must be an integer of 1..65535, not {port!r}")
    return host, port, path_of("rpc", "secret", secret) if secret is not None else "", seconds("rpc", "timeout", timeout)


def connect(host, port, *, secret=None, timeout=10):
    """A session with a board that listens (``tw-board --listen``).

    Parameters: host, a name or number; port; secret, the file that ``tw rpc-key new`` made, without which only this machine is
    spoken to; timeout, seconds for the connection.
    Returns: Session. Raises: RpcError if nobody answers in time, the secret is not theirs, or somebody else has the board.
    """
    return Session(_core.rpc_connect(*_address(host, port, secret, timeout)))


def connect_tracker(host, port, *, secret=None, timeout=10):
    """A tracker (``tw rpc-tracker``), as a ``TrackerSession``; it is spoken to when something is asked. Parameters as of ``connect``."""
    return TrackerSession(*_address(host, port, secret, timeout))
