"""Elements by indices that are data: gathers, scatters, one-hot, the largest k."""

import numpy as np

import tensorwright as tw
from tensorwright import te

from .forms import axis_of, const, elementwise, extents, reduced

ops = tw.ops


def from_the_front(index, n):
    """ONNX counts negative indices from the end."""
    return te.select(index < 0, index + n, index)


def wrapped(indices, n):
    return elementwise(lambda i: from_the_front(i, te.const(n, i.dtype)), indices)


def gather(c):
    axis = axis_of(c.attribute("axis", 0), len(extents(c[0])))
    return ops.take(c[0], wrapped(c[1], extents(c[0])[axis]), axis)


def gather_elements(c):
    axis = axis_of(c.attribute("axis", 0), len(extents(c[0])))
    return ops.gather(c[0], wrapped(c[1], extents(c[0])[axis]), axis)


def gather_nd(c):
    x, indices, batch = c[0], c[1], c.attribute("batch_dims", 0)
    depth, lead = extents(indices)[-1], len(extents(indices)) - 1

    def source(*i):
        at = [from_the_front(indices(*i[:lead], d), extents(x)[batch + d]) for d in range(depth)]
        return x(*i[:batch], *at, *i[lead:])

    return te.compute(c.expected[0].shape, source)


COMBINED = {"add": (te.sum, lambda x, y: x + y), "mul": (te.prod, lambda x, y: x * y), "max": (te.max, te.max), "min": (te.min, te.min)}


def scattered(c, points, hits, update):
    """Where the result takes updates: the last that hits, or all of them combined with what was there.

    ``hits(i, by)`` says whether update ``by`` goes to element i, ``update(i, by)`` is its value.
    """
    x, how = c[0], c.attribute("reduction", "none")
    shape = extents(x)
    by = [te.reduce_axis((0, int(n)), name=f"r{d}") for d, n in enumerate(points)]
    if how == "none":
        latest = te.comm_reducer(
            lambda a, b: (te.select(b[0], b[0], a[0]), te.select(b[0], b[1], a[1])),
            lambda hit, value: (const(False, hit), const(0, value)),
            name="latest",
        )
        hit, value = te.compute(shape, lambda *i: latest((hits(i, by), update(i, by)), axis=by))
        return te.compute(shape, lambda *i: te.select(hit(*i), value(*i), x(*i)))
    reduce, combine = COMBINED[how]
    change = te.compute(shape, lambda *i: reduce(update(i, by), axis=by, where=hits(i, by)))
    return te.compute(shape, lambda *i: combine(x(*i), change(*i)))


def scatter_elements(c):
    x, indices, updates = c[0], c[1], c[2]
    rank = len(extents(x))
    axis = axis_of(c.attribute("axis", 0), rank)
    inside = extents(indices)

    def place(i, by):
        return [by[0] if d == axis else i[d] for d in range(rank)]

    def hits(i, by):
        near = [i[d] < inside[d] for d in range(rank) if d != axis and inside[d] < extents(x)[d]]
        return te.all(*near, from_the_front(indices(*place(i, by)), extents(x)[axis]).equal(i[axis]))

    return scattered(c, [inside[axis]], hits, lambda i, by: updates(*place(i, by)))


def scatter_nd(c):
    x, indices, updates = c[0], c[1], c[2]
    depth, points = extents(indices)[-1], extents(indices)[:-1]

    def hits(i, by):
        return te.all(*(from_the_front(indices(*by, d), extents(x)[d]).equal(i[d]) for d in range(depth)))

    return scattered(c, points, hits, lambda i, by: updates(*by, *i[depth:]))


def one_hot(c):
    depth = int(np.asarray(c.value(1)).reshape(()))
    axis, dtype = c.attribute("axis", -1), c[2].dtype
    indices = c[0]
    if not indices.dtype.startswith(("int", "uint")):
        indices = elementwise(lambda i: i.astype("int64"), indices)
    indices = elementwise(lambda i: from_the_front(i, te.const(depth, i.dtype)), indices)
    rank = len(extents(indices))
    axis = axis + rank + 1 if axis < 0 else axis
    hot = ops.one_hot(indices, depth, axis=axis, dtype="bool", on=True, off=False)
    return te.compute(c.expected[0].shape, lambda *i: te.select(hot(*i), c[2](1), c[2](0)).astype(dtype))


def top_k(c):
    """The rank of an element is how many stand before it; the k-th of the result is the one of rank k."""
    x = c[0]
    axis = axis_of(c.attribute("axis", -1), len(extents(x)))
    n, largest = extents(x)[axis], c.attribute("largest", 1)

    def at(i, k):
        return (*i[:axis], k, *i[axis + 1 :])

    def before(i, by):
        own, other = x(*i), x(*at(i, by[0]))
        first = other > own if largest else other < own
        return te.any(first, te.all(other.equal(own), by[0] < i[axis])).astype("int64")

    ranks = reduced(te.sum, extents(x), [n], before)
    shape = c.expected[0].shape

    def of_rank(value):
        return reduced(te.sum, shape, [n], lambda i, by: te.select(ranks(*at(i, by[0])).equal(i[axis]), value(i, by[0]), 0))

    index = of_rank(lambda i, k: k.astype("int64"))
    return [te.compute(shape, lambda *i: x(*at(i, index(*i)))), index]


def tensor_scatter(c):
    """Updates along one axis from a place that each sample names."""
    past, update = c[0], c[1]
    rank = len(extents(past))
    axis = axis_of(c.attribute("axis", -2), rank)
    n, count = extents(past)[axis], extents(update)[axis]
    circular = c.attribute("mode", "linear") == "circular"

    def value(*i):
        begin = c[2](i[0]) if c.has(2) else te.const(0, "int64")
        back = i[axis] - begin
        back = back % n if circular else back
        return te.select(te.all(back >= 0, back < count), update(*i[:axis], back, *i[axis + 1 :]), past(*i))

    return te.compute(extents(past), value)


def feature_extractor(c):
    """The columns that the indices name."""
    x = c[0]
    return te.compute(c.expected[0].shape, lambda *i: x(*i[:-1], c[1](*([0] * (len(extents(c[1])) - 1)), i[-1])))


OPERATORS = {
    "ArrayFeatureExtractor": feature_extractor,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "OneHot": one_hot,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "TopK": top_k,
}
