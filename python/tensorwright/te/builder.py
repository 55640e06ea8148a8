"""The builder of statements, as ``tvm.tir.ir_builder``: ``te.ir_builder.create()``."""

from contextlib import contextmanager

from .. import _core
from ..errors import ExprError

__all__ = ["IRBuilder", "create"]


class BufferVar:
    """A buffer under a builder: ``b[i]`` reads, ``b[i] = x`` writes; one subscript for each dimension, or the element's number."""

    def __init__(self, builder, buffer):
        self._builder = builder
        self.buffer = buffer

    @property
    def dtype(self):
        return self.buffer.dtype

    def __getitem__(self, at):
        return _core._load(self.buffer, at if isinstance(at, tuple) else (at,))

    def __setitem__(self, at, value):
        self._builder.emit(_core._store(self.buffer, at if isinstance(at, tuple) else (at,), value))

    def access_ptr(self, mask, offset=0):
        return self.buffer.access_ptr(mask, offset)


class IRBuilder:
    """Makes a statement line by line.

    >>> ib = te.ir_builder.create()
    >>> sums = ib.allocate("float32", (4,), name="sums")
    >>> with ib.for_range(0, 4, name="i") as i:
    ...     sums[i] = 0.0
    >>> ib.get()
    alloc sums: float32[4] global
    for i in 0..4:
      sums[i] = 0.0
    <BLANKLINE>
    """

    def __init__(self):
        self._blocks = [[]]

    def emit(self, stmt):
        """Append a statement, or a call for its effect."""
        self._blocks[-1].append(stmt if isinstance(stmt, _core.Stmt) else _core._evaluate(stmt))

    def buffer_ptr(self, buffer):
        """The buffer for reading and writing."""
        return BufferVar(self, buffer)

    def allocate(self, dtype, shape, name="buf", scope="global"):
        """A buffer of its own, for the rest of this block. scope: "global" or "local"."""
        if scope not in ("", "global", "local"):
            raise ExprError(f'allocate: scope must be "global" or "local", not {scope!r}')
        shape = shape if isinstance(shape, (list, tuple)) else (shape,)
        buffer = _core._buffer(shape, dtype, name, scope or "global", None)
        self._blocks[-1].append(buffer)
        return BufferVar(self, buffer)

    @contextmanager
    def for_range(self, begin, end, name="i", dtype="int32", kind="serial"):
        """A loop: ``with ib.for_range(0, n, name="i") as i``. kind: "serial", "parallel", "vectorize" or "unroll"."""
        var = _core._loop_var(name)
        body = self._open()
        yield var if isinstance(begin, int) and begin == 0 else var + begin
        extent = end if isinstance(begin, int) and begin == 0 else end - begin
        self.emit(_core._loop(var, extent, self._close(body), kind))

    @contextmanager
    def if_scope(self, cond):
        """What runs where the condition holds; ``ib.else_scope()`` may follow."""
        body = self._open()
        yield
        then = self._close(body)
        self.emit(_core._if(cond, then, None))
        self._blocks[-1][-1] = _Branch(cond, then)

    @contextmanager
    def else_scope(self):
        """What runs otherwise, directly behind an ``if_scope``."""
        if not self._blocks[-1] or not isinstance(self._blocks[-1][-1], _Branch):
            raise ExprError("else_scope: expected directly behind an if_scope")
        branch = self._blocks[-1].pop()
        body = self._open()
        yield
        self.emit(_core._if(branch.cond, branch.then, self._close(body)))

    def get(self):
        """The statement."""
        if len(self._blocks) != 1:
            raise ExprError("ir_builder: get() inside of a loop or a branch")
        return self._sequence(self._blocks[0])

    def _open(self):
        self._blocks.append([])
        return self._blocks[-1]

    def _close(self, block):
        if self._blocks.pop() is not block:
            raise ExprError("ir_builder: scopes end in the reverse order of their beginning")
        return self._sequence(block)

    @staticmethod
    def _sequence(block):
        done = []
        for item in reversed(block):
            if isinstance(item, _core.Buffer):
                done = [_core._allocate(item, _core._sequence(done[::-1]))]
            else:
                done.append(_core._if(item.cond, item.then, None) if isinstance(item, _Branch) else item)
        return _core._sequence(done[::-1])


class _Branch:
    def __init__(self, cond, then):
        self.cond, self.then = cond, then


def create():
    """A new builder."""
    return IRBuilder()
