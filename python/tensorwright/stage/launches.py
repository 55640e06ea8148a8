"""What runs on a device: indices of launches, and what the threads of a block, or blocks, do for each other."""

from __future__ import annotations

from .._location import user_line
from ..loops import Split, ThreadAxis
from .arguments import all_or_none, factor_of, integer, pair_of, refuse, word


class LaunchSteps:
    """What ``s[C]`` can do on a device."""

    __slots__ = ()

    def bind(self, ivar, thread_ivar):
        """Make a loop an index of a device: a block of its grid, or a thread of a block.

        Before ``for io: for ii: body(io, ii)``; after, with io bound to blockIdx.x and ii to threadIdx.x, ``body(bx, tx)`` by all
        blocks and threads at once. Each stage at root is a launch of its own, in the order of the stages. Equal indices of the stages
        of one launch are one: the longest loop says how many there are, and the others have a guard. A stage inside the blocks that
        is "shared" is computed by all threads of the block: by those that its own loops are bound to, else its loops are shared
        out; where threads have to wait for each other follows, and nobody says it. The threads that a reduction's loop is bound to
        each have a part of the sum, and join them; by exchanges, without a barrier, where threadIdx.x counts whole warps and 32 are left.
        A local stage whose sum 32 threads along x share is each warp's own.

        A loop that is bound to "vthread" stays with its thread, which goes on with all of its iterations side by side. Before
        ``for v: { P = 0; for k: P = P + A[v, k]; C[v] = P }``; after ``for v: P[v] = 0; for k: for v: P[v] = P[v] + A[v, k];
        for v: C[v] = P[v]``, each ``for v`` unrolled. What is the same for all of them, such as a tile in shared memory, happens once.
        A stage may have several.

        Parameters: ivar, a loop; thread_ivar, a ``te.thread_axis`` or its tag. One with a domain, ``te.thread_axis((0, 32), ..)``, takes loops of
        32 iterations, and those that a split by 32, or in 32 parts, has left shorter.
        Raises: ScheduleError if the loop is vectorized, unrolled, parallel or bound already, if the stage has that index already,
        for the loop of a reduction and a block or a vthread (rfactor it), or for the time of a scan. Judged with the whole nest: a stage at root
        that is not bound; a stage inside another's loops that is bound to blocks; parallel, prefetching, tensorized, double
        buffered, rolling or extern stages beside bound ones, scans inside of launches; an axis of a scan that is bound where updates read the state at other
        places of it; shift_inward of a bound loop; both threads and lanes of one
        reduction; threads, virtual ones too, whose number is not known, or more than 1024 of a block; more than 64 along threadIdx.z, or 65535 blocks along y or z; memory inside of a launch whose size is not known, or shared memory of more than
        232448 bytes; a vthread outside of launches. ``tw.build`` refuses it for targets without a device.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(s[B].fuse(i, j), factor=64)
        >>> s[B].bind(io, te.thread_axis("blockIdx.x"))
        >>> s[B].bind(ii, te.thread_axis("threadIdx.x"))
        """
        tag = thread_ivar.thread_tag if isinstance(thread_ivar, ThreadAxis) else thread_ivar
        name = self._name_of("bind", ivar)
        if isinstance(thread_ivar, ThreadAxis) and thread_ivar.dom is not None and not self._may_have(name, thread_ivar.extent):
            refuse("bind", f"axis must have as many iterations as {thread_ivar!r}, not {self._axis(name).extent}")
        self._schedule._bind(self.name, name, word("bind", "thread_ivar", tag), user_line())

    def _may_have(self, name, threads):
        """Whether a loop has so many iterations, or was split for them and has fewer, as its axis has."""
        axis = self._axis(name)
        if axis.extent == threads:
            return True
        split_for = [(made.inner, made.factor) for made in self.relations if isinstance(made, Split)]
        split_for += [(made.outer, made.nparts) for made in self.relations if isinstance(made, Split)]
        fewer = isinstance(axis.extent, int) and axis.extent < threads
        return fewer and any(loop == axis and isinstance(parts, int) and parts == threads for loop, parts in split_for)

    def env_threads(self, threads):
        """Give the launch of this stage indices that none of its own loops has: stages that are computed inside of it bind theirs to
        them.

        Before ``for t: P[t] = ...; C[t] = ...``; after ``env_threads([te.thread_axis("threadIdx.x")])`` the same in a launch, of as
        many threads as the longest loop that is bound in it; the first of them does what is C's own. It is no Step of its own: for each
        index a loop of one iteration is made, as by ``fuse`` of no loop, and bound.

        Parameters: threads, a ``te.thread_axis`` or its tag, or a list of them.
        Raises: ScheduleError as bind does.

        >>> s = te.create_schedule(B)
        >>> s[B].env_threads([te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")])
        >>> [s[B].iter_var_attrs[axis].iter_type for axis in s[B].leaf_iter_vars]
        ['blockIdx.x', 'threadIdx.x', 'serial', 'serial']
        """
        threads = list(threads) if isinstance(threads, (list, tuple)) else [threads]
        with all_or_none(self._schedule):
            for thread in reversed(threads):
                tag = thread.thread_tag if isinstance(thread, ThreadAxis) else thread
                self._schedule._bind(self.name, self.fuse().name, word("env_threads", "threads", tag), user_line())

    def pipeline(self, axis, stages=2, by="auto"):
        """Compute on a device, ahead of a loop's iterations, what they find in shared memory: rings of ``stages`` slots.

        Before ``for ko: P = part(ko); C += f(P)`` with P shared; after, for 3 stages, ``P[0], P[1] = part(0), part(1)``, then
        ``for ko: wait; P[(ko + 2) % 3] = part(ko + 2); C += f(P[ko % 3])``: while an iteration computes, what later ones need is on
        its way. The slots, what comes before the loop, its end, waits and barriers follow; one barrier an iteration is enough.

        Parameters: axis, a serial loop of this stage, in which stages in shared memory are computed; each becomes a ring that reads
        nothing which is computed in the loop too. stages, slots, 1..8, an int or a knob; 1 leaves the loop as it is. by, how values
        get there: "cp.async", by copies of the device's own of 4, 8 or 16 bytes that lie side by side in global memory and in the
        slot; "ldg", through registers, read before an iteration's work and stored behind it; "auto", the first where it is
        possible and the other where not, but for operands of four warps' products "tma" where it is possible whatever the sizes are. Sums are computed in time, without either. "tma", from sm_90 on: one thread begins each
        slot, a box of a tensor that the device copies by itself. Its rows are multiples of 16 bytes in the slot and in the tensor, it
        has at most 256 elements along a dimension, and slots begin at multiples of 128 bytes or more; what lies outside of the tensor is 0, and
        ``swizzle`` is of rows that are 32, 64 or 128 bytes long, or, of operands of four warps' products, of several such lines, each a box.
        Raises: ScheduleError if stages or by is none of those. Judged with the whole nest: a loop outside of a launch, a loop that is
        not serial or was split, a loop in which nothing shared is computed ahead, "cp.async" or "tma" for what is no such copy.
        TargetError when it is built for a device without "tma". ArgumentError when a kernel is called with an array whose rows are
        no multiples of 16 bytes, where sizes are symbolic.

        ``double_buffer`` of a stage in shared memory is a ring of two slots for that stage.

        >>> k = te.reduce_axis((0, 64), name="k")
        >>> C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * A[j, k], axis=k), name="C")
        >>> s = te.create_schedule(C)
        >>> ko, ki = s[C].split(k, factor=16)
        >>> s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
        >>> s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
        >>> AS = s.cache_read(A, "shared", [C])
        >>> s[AS].compute_at(s[C], ko)
        >>> s[C].pipeline(ko, 3)
        >>> s.check()
        """
        name, count = self._name_of("pipeline", axis), factor_of("pipeline", "stages", stages)
        self._schedule._pipeline(self.name, name, count, word("pipeline", "by", by), user_line())

    def persistent(self, axis, blocks=None):
        """Have as many blocks as a device runs at once, each of which computes one iteration of a loop after the other.

        Before ``for t in range(n)``, bound to blockIdx.x; after ``for b in range(min(n, p))``, bound to blockIdx.x, and in it
        ``for to in range(ceil(n / p)): if to * p + b < n: tile(to * p + b)``. Where ``pipeline`` makes rings of a loop that each tile
        has once, of a known number of iterations, they run on over all tiles of a block: slots, barriers and their phases are made
        once, and the last iterations of a tile begin to fetch what the first ones of the next read, while its results are stored.

        Parameters: axis, a loop of this stage that is bound to blockIdx. blocks, how many there are at most, a positive int or a knob;
        None means as many as the device has multiprocessors that it is built for; 132, those of an H100, where nothing is built.
        Results do not depend on it.
        Returns: (tiles, block), the loop over a block's tiles and the one that is bound now.
        Raises: ScheduleError if axis is not bound to blocks, if the stage is persistent already, or if blocks is not positive. Judged
        with the whole nest: a stage that is bound to another index of blocks too, or whose loop over tiles was split, fused or annotated.

        >>> s = te.create_schedule(B)
        >>> io, ii = s[B].split(i, factor=2)
        >>> s[B].bind(io, te.thread_axis("blockIdx.x"))
        >>> tiles, block = s[B].persistent(io, blocks=8)
        >>> tiles.extent, block.extent
        (4, 8)
        """
        name, count = self._name_of("persistent", axis), factor_of("persistent", "blocks", blocks)
        self._schedule._persistent(self.name, name, count, user_line())
        return self._axis(name + ".o"), self._axis(name + ".i")

    def roles(self, producer=1, consumers=None, registers=None):
        """Have threads of their own fill the rings of this stage's pipeline, while those that are bound compute.

        Before ``for ko: wait for part(ko); C += f(P[ko % 3]); meet; begin part(ko + 2)``, by all 128 or 256 threads; after, of 128 more,
        ``if ty < 2: for ko: wait for part(ko); C += f(P[ko % 3]); say that it is read``, ``else: for ko: wait until P[ko % 3] is read;
        begin part(ko)``, by one thread. Nobody waits for all others: barriers in shared memory count what has come and who has read it, so
        that a slot is filled again as soon as its readers are done, and one four warps may store results while others compute. The
        barriers, their counts, turns and phases follow, and registers that copying needs not go to those who compute.

        Parameters: producer, 1, or 0 to leave the loop as it is; a knob may say which. consumers, how many times 128 threads compute, an int
        that has to agree with what is bound; None counts them. registers, two multiples of 8 from 24 to 256, of a thread that copies
        and of one that computes; None shares them out, as (40, 232) for two consumers. Where those who compute would get no more than
        they begin with, nothing is moved.
        Raises: ScheduleError if producer is another number, if consumers is not positive, or if registers are none of those. Judged
        with the whole nest: a stage that is no product of four warps or has no pipeline by "tma", a ring elsewhere in the launch, a
        block that comes back to the loop but by ``persistent``, anything else for which the block's threads meet, a threadIdx.z, more
        than 1024 threads, other consumers than are bound, and more registers than there are, 512 for a thread of each role.

        >>> A, B = te.placeholder((256, 64), "bfloat16", name="A"), te.placeholder((128, 64), "bfloat16", name="B")
        >>> k = te.reduce_axis((0, 64), name="k")
        >>> C = te.compute((256, 128), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
        >>> s = te.create_schedule(C)
        >>> AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
        >>> io, jo, i, j = s[C].tile(*C.op.axis, 128, 128)
        >>> ig, i = s[C].split(i, factor=64)
        >>> ko, k = s[C].split(C.op.reduce_axis[0], factor=16)
        >>> s[C].reorder(io, jo, ig, ko, i, j, k)
        >>> s[C].bind(s[C].fuse(io, jo), te.thread_axis("blockIdx.x"))
        >>> s[C].bind(ig, te.thread_axis("threadIdx.y"))
        >>> s[C].tensorize(i, "wgmma.m64n128k16.bf16")
        >>> for operand in (AS, BS):
        ...     s[operand].compute_at(s[C], ko)
        ...     s[operand].swizzle()
        >>> s[C].pipeline(ko, 3, by="tma")
        >>> s[C].roles()
        >>> s.check()
        """
        first, second = (0, 0) if registers is None else pair_of("roles", "registers", registers)
        count = None if consumers is None else integer("roles", "consumers", consumers)
        self._schedule._roles(self.name, factor_of("roles", "producer", producer), count, first, second, user_line())

    def cluster(self, axis):
        """Have the blocks along a loop reach each other's shared memory, and copy what all of them read once for all.

        Before ``for by in range(2)``, bound to blockIdx.y, ``for ko: AS = box of A at (bx, by); BS = box of B at bx; C += f(AS, BS)``;
        after, each of both blocks brings one half of B's box, and it comes to both: memory is read once for the cluster. That blocks run
        at once, wait for each other before what others read is written over, and end together, follows; and so do the barriers,
        counts and turns for it. With ``roles``, threads that read say so in all blocks; else all threads of the cluster meet.

        Parameters: axis, a loop of this stage that is bound to blockIdx, of 1 to 8 iterations: all of that index of the launch is a
        cluster. Where it is 1, nothing changes, so that a tuner may choose.
        Raises: ScheduleError if axis is not bound to blocks, if it has more than 8 iterations or nobody knows how many, or if the stage
        is a cluster already. Judged with the whole nest: no pipeline by "tma", a block that comes back to it but by ``persistent``, a loop
        that ``persistent`` shares tiles out to, and boxes none of which is the same for all blocks and can be parted among them, each part a multiple of 128 bytes, and of 8 rows where
        they are swizzled.

        >>> A, B = te.placeholder((256, 64), "bfloat16", name="A"), te.placeholder((128, 64), "bfloat16", name="B")
        >>> k = te.reduce_axis((0, 64), name="k")
        >>> C = te.compute((256, 128), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
        >>> s = te.create_schedule(C)
        >>> AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
        >>> io, jo, i, j = s[C].tile(*C.op.axis, 64, 128)
        >>> io, pair = s[C].split(io, factor=2)
        >>> ko, k = s[C].split(C.op.reduce_axis[0], factor=16)
        >>> s[C].reorder(io, pair, jo, ko, i, j, k)
        >>> s[C].bind(io, te.thread_axis("blockIdx.x"))
        >>> s[C].bind(pair, te.thread_axis("blockIdx.y"))
        >>> s[C].tensorize(i, "wgmma.m64n128k16.bf16")
        >>> for operand in (AS, BS):
        ...     s[operand].compute_at(s[C], ko)
        ...     s[operand].swizzle()
        >>> s[C].pipeline(ko, 3, by="tma")
        >>> s[C].cluster(pair)
        >>> s.check()
        """
        self._schedule._cluster(self.name, self._name_of("cluster", axis), user_line())
