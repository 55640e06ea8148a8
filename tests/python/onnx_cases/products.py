"""Products of matrices."""

import tensorwright as tw
from tensorwright import te

from .forms import const, elementwise, extents, reduced, reshape

ops = tw.ops


def multiplied(a, b, out_dtype):
    """NumPy's ``a @ b``: a vector is a row on the left and a column on the right, and its axis leaves the result."""
    left, right = extents(a), extents(b)
    if len(left) == 1:
        a = reshape(a, (1, *left))
    if len(right) == 1:
        b = reshape(b, (*right, 1))
    out = ops.matmul(a, b, out_dtype=out_dtype)
    shape = list(extents(out))
    if len(right) == 1:
        del shape[-1]
    if len(left) == 1:
        del shape[-1 if len(right) == 1 else -2]
    return out if tuple(shape) == extents(out) else reshape(out, shape)


def matmul(c):
    return multiplied(c[0], c[1], c[0].dtype)


def gemm(c):
    alpha, beta = c.attribute("alpha", 1.0), c.attribute("beta", 1.0)
    product = ops.matmul(c[0], c[1], transpose_a=bool(c.attribute("transA", 0)), transpose_b=bool(c.attribute("transB", 0)))
    if not c.has(2):
        return elementwise(lambda x: x * const(alpha, x.dtype), product)
    return elementwise(lambda x, b: x * const(alpha, x.dtype) + b * const(beta, x.dtype), product, c[2])


def einsum(c):
    """Letters that the result lacks are summed over; an ellipsis stands for the axes that no letter names."""
    left, _, result = c.attribute("equation").replace(" ", "").partition("->")
    terms = left.split(",")
    given = [extents(c[i]) for i in range(len(c))]
    free = max((len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, given, strict=True) if "..." in term), default=0)
    dots = [f"${d}" for d in range(free)]

    def letters(term, rank=None):
        before, ellipsis, behind = term.partition("...")
        own = dots if rank is None else dots[free - (rank - len(before) - len(behind)) :]
        return [*before, *(own if ellipsis else []), *behind]

    read = [letters(term, len(shape)) for term, shape in zip(terms, given, strict=True)]
    size = {}
    for names, shape in zip(read, given, strict=True):
        for name, n in zip(names, shape, strict=True):
            size[name] = max(size.get(name, 1), n)
    if "->" not in c.attribute("equation"):
        all_letters = [name for names in read for name in names]
        out = dots + sorted(name for name in set(all_letters) - set(dots) if all_letters.count(name) == 1)
    else:
        out = letters(result)
    summed = [name for name in size if name not in out]

    def term(i, by):
        at = dict(zip(out, i, strict=True)) | dict(zip(summed, by, strict=True))
        value = None
        for k, names in enumerate(read):
            one = c[k](*(0 if n == 1 else at[name] for name, n in zip(names, given[k], strict=True)))
            value = one if value is None else value * one
        return value

    return reduced(te.sum, [size[name] for name in out], [size[name] for name in summed], term)


def determinant(c):
    """By rows of the adjugate, for the small matrices of the cases."""
    x, *batch = c[0], *extents(c[0])[:-2]
    n = extents(x)[-1]

    def minor(i, rows, columns):
        if not rows:
            return const(1, x.dtype)
        total = None
        for place, column in enumerate(columns):
            part = x(*i, rows[0], column) * minor(i, rows[1:], columns[:place] + columns[place + 1 :])
            total = part if total is None else (total - part if place % 2 else total + part)
        return total

    return te.compute(tuple(batch), lambda *i: minor(i, tuple(range(n)), tuple(range(n))))


OPERATORS = {
    "Det": determinant,
    "Einsum": einsum,
    "Gemm": gemm,
    "MatMul": matmul,
}
