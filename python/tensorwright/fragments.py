"""Stages of TVM's in ``wmma.*`` scopes. A product of a warp has its fragments in registers by itself, so none of them is a stage here:
copies of operands are read through, and what is said of the sums is said of the stage that stores them.

    AF = s.cache_read(AS, "wmma.matrix_a", [C])          nothing
    CF = s.cache_write(C, "wmma.accumulator")            nothing
    CS = s.cache_read(CF, "shared", [C])          ==>    CS = s.cache_write(C, "shared"), and C below is CS
    s[CF].compute_at(s[C], j)                            the loops of C inside of j are those of CF
    s[CF].reorder(ko, *CF.op.axis, ki)            ==>    s[C].reorder(ko, i.i, j.i, ki)
    s[AF].compute_at(s[CF], ko)                          nothing
    s[AF].tensorize(row, "wmma.load_matrix_a")           nothing
    s[CF].tensorize(i, "wmma.gemm")                      a product of 16 columns as two of 8, "mma.m16n8k16.f16"
    s[C].tensorize(i, "wmma.store_matrix")               nothing
"""

from __future__ import annotations

from ._location import user_line
from .stage import Stage
from .stage.arguments import refuse

__all__ = ["Accumulator", "Fragment", "accumulator", "fragment"]

LOADS = {"wmma.matrix_a": "wmma.load_matrix_a", "wmma.matrix_b": "wmma.load_matrix_b"}
GEMM = "wmma.gemm"
_SIDE = 16
_PRODUCTS = {"float16": "mma.m16n8k16.f16", "bfloat16": "mma.m16n8k16.bf16"}


def expect_intrin(stage, intrin, expected):
    if getattr(intrin, "key", intrin) != expected:
        refuse("tensorize", f"intrin of {stage.name} must be {expected}, not {getattr(intrin, 'key', intrin)}")


def expect_sum(step, scope, stage):
    if not stage.op.reduce_axis:
        refuse(step, f"what {scope} is part of must be a sum of products, and {stage.name} is none")


class FragmentAxis:
    """An axis of a fragment; of an accumulator the loop over it in the stage that stores the sums."""

    __slots__ = ("dimension", "name", "stage")
    __tw_loop__ = True

    def __init__(self, stage, dimension, name):
        self.stage, self.dimension, self.name = stage, dimension, name

    def __repr__(self):
        return f"Axis({self.stage.name}: {self.name} of a fragment)"


class FragmentOp:
    """What ``AF.op`` says of a fragment."""

    __slots__ = ("axis", "input_tensors", "name", "reduce_axis")

    def __init__(self, stage, axes, reduce_axis, reads):
        self.axis = [FragmentAxis(stage, d, name) for d, name in enumerate(axes)]
        self.name, self.reduce_axis, self.input_tensors = stage.name, reduce_axis, reads


class Fragment:
    """A copy of an operand, which is read through: ``s.cache_read(AS, "wmma.matrix_a", [C])`` and ``s[..]`` of that."""

    __slots__ = ("_of", "name", "op", "scope")

    def __init__(self, schedule, tensor, scope, readers):
        self._of, read = schedule[tensor], schedule._outputs(schedule[tensor].name)
        self.name, self.scope = f"{self._of.name}.{scope}", scope
        self.op = FragmentOp(self, [f"ax{d}" for d in range(len(read.shape))], [], [read])
        for reader in readers:
            expect_sum("cache_read", scope, reader)
        schedule.copy()._cache_read(self._of.name, "local", [reader.name for reader in readers], [], user_line())  # whether they read it

    def compute_at(self, parent, scope):
        """Fragments are loaded where a product needs them, and again where that is cheaper than to keep them."""
        if not isinstance(parent, Stage):
            parent = self._of._schedule[parent]
        parent._name_of("compute_at", scope)

    def tensorize(self, axis, intrin):
        if not isinstance(axis, FragmentAxis) or axis.stage is not self:
            refuse("tensorize", f"axis must be an axis of {self.name}, not {axis!r}")
        expect_intrin(self, intrin, LOADS[self.scope])

    def __getattr__(self, step):
        if not hasattr(Stage, step) or step.startswith("_"):
            raise AttributeError(step)
        return refuse(step, f"{self.name} must be left as it is: which lane has which element of a fragment, the product says")

    def __repr__(self):
        return f"Fragment({self.name})"


class Accumulator(Stage):
    """The sums of a stage, in registers of a warp until the last term is there: ``s.cache_write(C, "wmma.accumulator")``."""

    __slots__ = ("_loops", "_sums")

    def __init__(self, schedule, name):
        super().__init__(schedule, name)
        expect_sum("cache_write", "wmma.accumulator", self)
        if name in schedule._accumulated:
            refuse("cache_write", f"the sums of {name} must be in wmma.accumulator once")
        self._follow(name)

    def _follow(self, name):
        self.name, self._loops = name, None
        self._schedule._accumulated.add(name)
        op = Stage.op.__get__(self)
        self._sums = FragmentOp(self, [axis.var.name for axis in op.axis], op.reduce_axis, op.input_tensors)

    def stored_to(self, scope, readers):
        """A tile of the results, from which the stage copies them: ``CS = s.cache_read(CF, "shared", [C])``, the stage that stores now."""
        if [reader.name for reader in readers] != [self.name]:
            refuse("cache_read", f"readers must be {self.name}, which stores its sums, not " + ", ".join(reader.name for reader in readers))
        schedule = self._schedule
        tile = schedule.cache_write(schedule._outputs(self.name), scope)
        schedule._accumulated.remove(self.name)
        self._follow(schedule[tile].name)
        return tile

    op = property(lambda self: getattr(self, "_sums", None) or Stage.op.__get__(self))

    def compute_at(self, parent, scope):
        """The loops of the stage that stores, inside of that one, are those of the sums."""
        if not isinstance(parent, Stage):
            parent = self._schedule[parent]
        if parent.name != self.name:
            refuse("compute_at", f"the sums of {self.name} must be computed inside of a loop of it, not of {parent.name}")
        last = parent._name_of("compute_at", scope)
        leaves = [axis.name for axis in self.leaf_iter_vars if not axis.reduction]
        if last not in leaves:
            refuse("compute_at", f"scope must be a loop over the dimensions of {self.name}, not {last}")
        roots = self._roots()
        loops = {}
        for name in leaves[leaves.index(last) + 1:]:
            for root in roots[name]:
                if root in loops or len(roots[name]) > 1:
                    refuse("compute_at", f"inside of {last} a dimension of {self.name} must be one loop, and {name} is not the only one of {root}")
                loops[root] = name
        self._loops = [loops.get(axis.var.name) for axis in Stage.op.__get__(self).axis]

    # Of which axes of the definition each loop is.
    def _roots(self):
        op = Stage.op.__get__(self)
        roots = {self._schedule._axis_named(self.name, axis): {axis.var.name} for axis in [*op.axis, *op.reduce_axis]}
        for relation in self.relations:
            if hasattr(relation, "fused"):
                roots[relation.fused.name] = roots[relation.outer.name] | roots[relation.inner.name]
            elif hasattr(relation, "parent"):
                roots[relation.outer.name] = roots[relation.inner.name] = roots[relation.parent.name]
        return roots

    def _name_of(self, step, axis):
        if not isinstance(axis, FragmentAxis):
            return super()._name_of(step, axis)
        if axis.stage is not self:
            return refuse(step, f"axis must be an axis of stage {self.name}, not {axis!r}")
        if self._loops is None:
            return refuse(step, f"the sums of {self.name} have loops once they are computed in a loop of it: compute_at comes first")
        return self._loops[axis.dimension] or refuse(step, f"{axis.name} of the sums of {self.name} is one iteration, and no loop")

    def reorder(self, *axes):
        absent = [axis for axis in axes if isinstance(axis, FragmentAxis) and self._loops is not None and self._loops[axis.dimension] is None]
        super().reorder(*[axis for axis in axes if axis not in absent])

    def tensorize(self, axis, intrin):
        expect_intrin(self, intrin, GEMM)
        types = {str(read.dtype) for read in self.op.input_tensors}
        product = _PRODUCTS.get(types.pop()) if len(types) == 1 else None
        if product is None:
            refuse("tensorize", f"{GEMM} must be of operands of {' or '.join(_PRODUCTS)}, and {self.name} is not; "
                   "others have products of their own, as mma.m16n8k32.s8")
        loops = self.leaf_iter_vars[-3:]
        if self._name_of("tensorize", axis) != loops[0].name or any(loop.extent != _SIDE for loop in loops) or [loop.reduction for loop in loops] != [False, False, True]:
            refuse("tensorize", f"{GEMM} must stand for the innermost loops, {_SIDE} rows, {_SIDE} columns and {_SIDE} terms, and those of {self.name} are "
                   + ", ".join(f"{loop.name} of {loop.extent}" for loop in loops))
        row, column, term = loops
        half, column = self.split(column, factor=8)
        self.reorder(half, row, column, term)
        super().tensorize(row, product)


def fragment(schedule, tensor, scope, readers):
    return Fragment(schedule, tensor, scope, readers) if scope in LOADS else None


def accumulator(schedule, tensor, scope):
    return Accumulator(schedule, schedule[tensor].name) if scope == "wmma.accumulator" else None
