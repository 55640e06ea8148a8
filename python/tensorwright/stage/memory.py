"""Where a stage's values are kept, for how long, and in which order."""

from __future__ import annotations

from .. import _core
from .._location import user_line
from .arguments import integer, pad_text, refuse, scope_of


class MemorySteps:
    """What ``s[C]`` can do with its memory."""

    __slots__ = ()

    def set_scope(self, scope):
        """Where the values of this stage live: "local" (registers or stack of one thread), "warp" (registers of the lanes of a
        device's warp), "shared" (memory of a block of a device; "shared.dyn" means the same) or "global" (memory).

        Before ``alloc P: float32[64] global``; after ``alloc P: float32[64] local``. The loops stay as they are. Without it, a stage at
        root is global and one inside another's loops is local; what several threads read is kept in memory in any case. Inside
        loops that are bound to blocks, but not to threads, it is shared.

        Of a stage in scope "warp" each of the 32 lanes along ``threadIdx.x`` keeps what it computes, in steps that all have, and reads
        of what others keep become exchanges of registers (``shfl``): without shared memory and without a barrier. Which of a lane's elements
        it is that is read must not depend on the lane. Sums of a ``tensorize`` by a warp or four are where the instruction has them: lane
        ``4 * (i % 8) + j % 8 // 2`` of warp ``i // 16`` has element ``[i, j]``. Between four warps there are no exchanges.
        Where loops bound to ``threadIdx.y`` give each warp a part of a row, each keeps its own; sums of the row may be of them all.

        Raises: ScheduleError for another scope, or if an output, which lives in the caller's memory, is made local. Judged with the
        whole nest: shared or warp where nothing is bound; in a launch global inside of it, anything else at root, and local of a stage
        whose own loops are bound to threads; warp of a stage that has no loop bound to ``threadIdx.x``, of which there are not 32 lanes, that
        threads of other warps need, or whose elements are computed or read at places that no one lane has.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].set_scope("global")
        """
        self._schedule._set_scope(self.name, scope_of("set_scope", scope), user_line())

    def storage_align(self, axis, factor, offset=0):
        """Lay out this stage in memory so that the stride of a dimension leaves ``offset`` when divided by ``factor``.

        Before ``alloc P: float32[64, 64]``; after ``alloc P: float32[64, 64] strides [80, 1]`` with
        ``storage_align(i, factor=32, offset=16)``: rows of a power of two would fall into the same sets of the cache.

        Parameters: axis, a data axis of the definition; factor, elements, 1..2**20; offset, 0..factor - 1.
        Raises: ScheduleError if axis is not a data axis, the stage is an output (the caller lays it out), or the numbers are out
        of range.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].storage_align(s[B].op.axis[0], factor=32, offset=16)
        """
        factor, offset = integer("storage_align", "factor", factor), integer("storage_align", "offset", offset)
        self._schedule._storage_align(self.name, self._name_of("storage_align", axis), factor, offset, user_line())

    def swizzle(self, bytes="auto"):
        """Let parts of 16 bytes change places within the rows of a stage in shared memory, by the rows' numbers.

        Before ``P[i, j]``; after, for ``swizzle(128)`` of float32, ``P[i, (j // 4 ^ i % 8) * 4 + j % 4]``: threads that go down a
        column find its elements in different banks, and 16 bytes still lie side by side. No memory is left empty, as by
        ``storage_align``. Rows shorter than 128 bytes share a number with those beside them. Operands of four warps' products
        (``tensorize``) whose rows are longer than that lie in panels: ``P[k, n]`` of 16 bits at ``P[n // 64, k, n % 64]``, of which lines are rows.

        Parameters: bytes, within which parts change places: 32, 64, 128, "auto" (the most that divides a row, or none) or "none".
        Raises: ScheduleError for an output or a transformed layout. Judged with the whole nest: a stage that is not in shared memory,
        rows that are no multiple of bytes, storage_align beside it.

        >>> C = te.compute((64, 64), lambda i, j: A[j, i], name="C")
        >>> s = te.create_schedule(C)
        >>> s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
        >>> s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
        >>> AS = s.cache_read(A, "shared", [C])
        >>> s[AS].compute_at(s[C], C.op.axis[0])
        >>> s[AS].swizzle()
        >>> s.check()
        """
        self._schedule._swizzle(self.name, "none" if bytes is None else str(bytes), user_line())

    def transform_layout(self, index_map, *, pad_value=None):
        """Keep this stage, or a parameter, in memory by another map: the element at ``i, j`` stands at ``index_map(i, j)``.

        Before ``P[60, 30]; for i: for j: P[i, j] = ...``; after ``P[4, 30, 16]; for io: for j: for ii: P[io, j, ii] = ...`` for
        ``lambda i, j: [i // 16, j, i % 16]``, and whoever reads P goes through the map. Values don't change.

        The map gives each element a place of its own and leaves none free but by padding: it is made of splits (``//`` and ``%`` by
        numbers), fusions (``i * 30 + j``), permutations and mirrors (``29 - j``), in any order. A dimension that is split is rounded
        up to whole parts, here from 60 to 64, where ``pad_value`` says what the rest holds. A stage computed inside another is laid
        out over what is kept of it there.

        Loops of which no step has spoken are made again in the order of the memory: i.o, j, i.i. Others stay as they are.

        A parameter is a placeholder with ``param=True``: the kernel takes it packed, and ``f.pack`` packs it.

        Parameters: index_map, a function of the data axes of the definition that returns the new indices, or a list of texts over
        their names (of a placeholder ax0, ax1, ...); pad_value, what places without an element hold, None where there are none.
        Returns: the loops over the data, from the outside in; none of a placeholder.
        Raises: ScheduleError for an output and for a placeholder that is no parameter (the caller laid them out: ``cache_write`` or
        ``cache_read`` and transform the copy), for a scan or an extern stage, a stage that has been transformed or aligned
        already, a map that isn't proved to be such a bijection, padding without a pad_value, and a pad_value that the dtype
        doesn't hold. Judged with the whole nest: a region, where the stage is computed inside another, that the map doesn't fit;
        an extern stage that reads it; the stage among the arguments.

        >>> C = te.compute((64, 64), lambda i, j: B[j, i] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> [axis.name for axis in s[B].transform_layout(lambda i, j: [i // 16, j, i % 16])]
        ['i.o', 'j', 'i.i']
        """
        axes = self._schedule._layout_axes(self.name)
        indices = index_map(*[axis for _, axis in axes]) if callable(index_map) else index_map
        if not isinstance(indices, (list, tuple)):
            refuse("transform_layout", f"index_map must return a list of indices, not {indices!r}")
        self._schedule._transform_layout(self.name, list(indices), pad_text(pad_value), user_line())
        return [axis for axis in self.leaf_iter_vars if not axis.reduction]

    def double_buffer(self):
        """Compute the part of this stage that the next iteration reads before this iteration uses its own; two buffers take turns.

        Before ``for x: P = part(x); C[x] = f(P)``; after ``P[0] = part(0)``, then
        ``for x: if x + 1 < n: P[(x + 1) % 2] = part(x + 1); C[x] = f(P[x % 2])``.

        The stage must be computed at a serial loop of its reader, and what it reads must be there before that loop.
        Raises: ScheduleError for an output, a scan or a rolling buffer; the placement is judged with the whole nest.

        >>> C = te.compute((64, 64), lambda i, j: B[i, j] + 1, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_at(s[C], s[C].op.axis[0])
        >>> s[B].double_buffer()
        >>> s.check()
        """
        self._schedule._double_buffer(self.name, user_line())

    def rolling_buffer(self):
        """Keep what earlier iterations computed of this stage: each iteration adds what is new in its region.

        Before ``for y: for r in range(3): P[r] = row(y + r); C[y] = P[0] + P[1] + P[2]``; after the rows stay in a window of three,
        and an iteration but the first computes one: ``if r >= 2 or y == 0: P[(y + r) % 3] = row(y + r)``.

        The stage must be computed at a serial loop of its reader, along which its region moves in one dimension by the same
        distance in each iteration.
        Raises: ScheduleError for an output, a scan or a double buffer; placement and motion are judged with the whole nest.

        >>> C = te.compute((62, 64), lambda i, j: B[i, j] + B[i + 1, j] + B[i + 2, j], name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_at(s[C], s[C].op.axis[0])
        >>> s[B].rolling_buffer()
        >>> s.check()
        """
        self._schedule._rolling_buffer(self.name, user_line())

    def prefetch(self, tensor, axis, offset=1, *, from_=None, into="L1"):
        """Fetch into the cache what a loop will read of a tensor ``offset`` iterations later, or will write.

        Before ``for i: C[i] = f(A[i, 0..m])``; after ``for i: prefetch A[i + offset, 0..m]; C[i] = f(A[i, 0..m])``, one prefetch a
        line of the cache. With ``from_=i``, before ``for i: for j: C[i, j] = f(A[i, j])``; after ``for i: for j: prefetch
        A[i + offset, j]; C[i, j] = f(A[i, j])``: the iterations of ``j`` share out what a later one of ``i`` needs. Nothing past the last
        iteration is fetched. No value depends on it.

        Of what will be written, before ``for i: for j: T[i, j] = f(A[i, j]); for j: C[i, j] = g(T[i, j])``, where ``T`` is computed in
        loops of ``C``; after ``s[T].prefetch(C, j, 0, from_=(s[C], i))`` the first loop begins with ``prefetch C[i, j]``, for writing
        (``prefetchw``): a store waits until its line is there. ``s[C].prefetch(C, j, 1, from_=i)`` fetches the next row's.

        Parameters: tensor, an input or a stage that is computed whole, which the loop reads, or this stage or the one in whose loops it
        is computed, if that reads this stage's elements at its own indices; axis, a loop of this stage, in each iteration of which is
        fetched; offset, iterations, 0..2**20; from_, the loop whose iterations they are: axis itself (None), or one around it, of this
        stage or of the one in whose loops it is computed, also as ``(stage, loop)``; into, "L1" or "L2", the cache where lines come to
        lie: few can be on their way into the first at a time.
        Raises: ScheduleError if the tensor is not read inside the loop or not kept whole, is written at other indices or past the
        caches, a loop is vectorized, from_ is not around axis, into names no such cache, or the stage is in a launch.

        >>> s = te.create_schedule(B)
        >>> s[B].prefetch(A, i, 2)
        >>> s[B].prefetch(A, j, from_=i)
        >>> s[B].prefetch(A, i, 8, into="L2")
        >>> s[B].prefetch(B, j, 1, from_=i)
        """
        source, offset = self._schedule[tensor].name, integer("prefetch", "offset", offset)
        axis, of = self._name_of("prefetch", axis), self.name
        if isinstance(from_, tuple) and len(from_) == 2:
            of, from_ = self._schedule[from_[0]].name, from_[1]
        elif isinstance(from_, _core.IterVar):
            of = self._stage_around(from_)
        else:
            of = getattr(from_, "stage", self.name)
        around = "" if from_ is None else type(self)(self._schedule, of)._name_of("prefetch", from_)
        self._schedule._prefetch(self.name, source, axis, offset, around, "" if of == self.name else of, "" if into == "L1" else str(into),
                                  user_line())

    def _stage_around(self, axis):
        """The stage of an operation's axis, which cache_write gives to two: this one, or the next in whose loops it is computed."""
        stage = self
        while stage and self._schedule._stage_with(stage.name, axis) != stage.name:
            stage = stage.attach_stage
        return stage.name if stage else self._schedule._stage_with(self.name, axis) or self.name

    def nontemporal(self):
        """Store this output past the caches.

        Before ``for i: C[i] = f(A[i])``; after the same loops, whose whole vectors are stored by instructions that write to memory
        and leave the caches to others. No value depends on it. For outputs that are larger than the caches: by other stores each
        line is read from memory before it is written, and displaces what will be read. An output that is read soon afterwards is
        better left in them.

        On x86 these are stores of registers (``vmovntps``) at multiples of their size: each address is asked, so arrays and rows may
        begin anywhere, and those that begin at a multiple of 16 bytes, as NumPy's arrays do, go past the caches. The kernel and
        each of its tasks end with a fence (``sfence``). On AArch64 it is ``stnp``. What is masked or scalar stores as ever, and so
        does ``f.source("c")``: C99 has no words for it.

        Raises: ScheduleError if the stage is no output, or an extern. Judged with the whole nest: a reduction, which
        ``cache_write`` computes elsewhere, a scan, a stage that another one reads, and a stage in a launch.

        >>> s = te.create_schedule(B)
        >>> s[B].vectorize(j)
        >>> s[B].nontemporal()
        """
        self._schedule._nontemporal(self.name, user_line())
