"""Attention, by the stock operator where it gives all results, else by its stages; rotary embeddings."""

import math

import tensorwright as tw
from tensorwright import te

from .forms import cast, const, element, elementwise, extents, reduced

ops = tw.ops


def heads_in_front(x, heads):
    """[batch, place, heads * size] as [batch, head, place, size]."""
    if len(extents(x)) == 4:
        return x
    batch, length, width = extents(x)
    size = width // heads
    return te.compute((batch, heads, length, size), lambda b, h, t, d: x(b, t, h * size + d))


def merged(y):
    batch, heads, length, size = extents(y)
    return te.compute((batch, length, heads * size), lambda b, t, d: y(b, d // size, t, d % size))


def joined(past, x):
    if past is None:
        return elementwise(lambda v: v, x)
    return ops.concat([past, x], axis=2)


def added(c, total, q):
    """The mask as numbers that are added, or as bools, over all places; what it does not reach is left out."""
    mask = c[3]
    if mask is None:
        return None
    own = extents(mask)
    if own[-1] == total:
        return mask
    least = const(False, "bool") if mask.dtype == "bool" else const(-math.inf, mask.dtype)
    return te.compute((*own[:-1], total), lambda *i: te.select(i[-1] < own[-1], mask(*i), least))


def attention(c):
    q = heads_in_front(c[0], c.attribute("q_num_heads"))
    k = heads_in_front(c[1], c.attribute("kv_num_heads"))
    v = heads_in_front(c[2], c.attribute("kv_num_heads"))
    k, v = joined(c[4], k), joined(c[5], v)
    past = extents(c[4])[2] if c.has(4) else 0
    out = by_stock(c, q, k, v, past) if not c.wants(3) and not c.has(6) else None
    scores = None
    if out is None:
        out, scores = by_stages(c, q, k, v, past)
    results = [cast(out if len(c.expected[0].shape) == 4 else merged(out), str(c.expected[0].dtype))]
    for i, tensor in ((1, k), (2, v), (3, scores)):
        if i < len(c.expected):
            results.append(tensor if c.wants(i) else None)
    return results


def window(c):
    sides = c.attribute("left_window_size", -1), c.attribute("right_window_size", -1)
    return None if sides == (-1, -1) else sides


def by_stock(c, q, k, v, past):
    cap, scale = c.attribute("softcap", 0.0), c.attribute("scale")
    wide = "float32" if "bfloat16" not in (q.dtype, k.dtype) else q.dtype
    if len({q.dtype, k.dtype, v.dtype}) > 1:
        q, k, v = (cast(x, wide) for x in (q, k, v))
    mask = added(c, extents(k)[2], q)
    return ops.attention(
        q, k, v, mask=mask, causal=bool(c.attribute("is_causal", 0)), past=past, window=window(c),
        softcap=cap if cap else None, scale=scale,
    )


def by_stages(c, q, k, v, past):
    """With the scores as a result: as they are, with the mask, with the cap, or after the softmax."""
    batch, heads, length, size = extents(q)
    total, group = extents(k)[2], heads // extents(k)[1]
    scale = c.attribute("scale") or 1 / math.sqrt(size)
    cap, mask = c.attribute("softcap", 0.0), added(c, total, q)
    shape = (batch, heads, length, total)
    plain = reduced(
        te.sum, shape, [size],
        lambda i, by: q(*i[:3], by[0]).astype("float32") * k(i[0], i[1] // group, i[3], by[0]).astype("float32"),
    )  # fmt: skip
    plain = elementwise(lambda x: x * const(scale, "float32"), plain)
    capped = elementwise(lambda x: const(cap, "float32") * te.tanh(x / const(cap, "float32")), plain) if cap else plain

    def seen(i, x):
        if mask is not None:
            m = element(mask, i, shape)
            x = te.select(m, x, const(-math.inf, "float32")) if mask.dtype == "bool" else x + m.astype("float32")
        if c.has(6):
            x = te.select(i[3] < c[6](i[0]), x, const(-math.inf, "float32"))
        begin = c[6](i[0]) - length if c.has(6) else past
        left, right = window(c) or (-1, -1)
        reach = [i[3] <= i[2] + begin] if c.attribute("is_causal", 0) else []
        reach += [i[3] >= i[2] + begin - left] if left >= 0 else []
        reach += [i[3] <= i[2] + begin + right] if right >= 0 else []
        return te.select(te.all(*reach), x, const(-math.inf, "float32")) if reach else x

    masked = te.compute(shape, lambda *i: seen(i, capped(*i)))
    largest = ops.max(masked, 3, keepdims=True)
    finite = elementwise(lambda m: te.select(te.isinf(m), const(0, "float32"), m), largest)
    powers = elementwise(lambda x, m: te.exp(x - m), masked, finite)
    sums = ops.sum(powers, 3, keepdims=True)
    weights = elementwise(lambda e, s: te.select(s.equal(const(0, "float32")), const(0, "float32"), e / s), powers, sums)
    out = reduced(
        te.sum, (batch, heads, length, extents(v)[3]), [total],
        lambda i, by: weights(*i[:3], by[0]) * v(i[0], i[1] // group, by[0], i[3]).astype("float32"),
    )  # fmt: skip
    shown = [plain, capped, masked, weights][c.attribute("qk_matmul_output_mode", 0)]
    return out, cast(elementwise(lambda x: x, shown), str(c.expected[3].dtype)) if c.wants(3) else None


def rotary(c):
    """The first numbers of each head turned by an angle of their place, in pairs of halves or of neighbours."""
    x, cosine, sine = c[0], c[1], c[2]
    own = extents(x)
    if len(own) == 3:
        heads = c.attribute("num_heads")
        y = heads_in_front(x, heads)
    else:
        y = x
    batch, heads, length, size = extents(y)
    turned = c.attribute("rotary_embedding_dim", 0) or size
    half, near = turned // 2, c.attribute("interleaved", 0)

    def angle(table, b, t, d):
        return table(c[3](b, t), d) if c.has(3) else table(b, t, d)

    def value(b, h, t, d):
        pair = d // 2 if near else d % half
        first, second = (pair * 2, pair * 2 + 1) if near else (pair, pair + half)
        is_first = (d % 2).equal(0) if near else d < half
        p, s = angle(cosine, b, t, pair), angle(sine, b, t, pair)
        one, two = y(b, h, t, first), y(b, h, t, second)
        changed = te.select(is_first, p * one - s * two, s * one + p * two)
        return te.select(d < turned, changed, y(b, h, t, d)) if turned < size else changed

    out = te.compute((batch, heads, length, size), value)
    return merged(out) if len(own) == 3 else out


OPERATORS = {
    "Attention": attention,
    "RotaryEmbedding": rotary,
}
