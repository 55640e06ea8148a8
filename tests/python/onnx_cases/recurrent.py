"""Recurrences over time by te.scan: RNN, GRU, LSTM, linear attention."""

import math

from tensorwright import te

from .case import Unmapped
from .forms import cast, const, elementwise, extents, reduced

FUNCTIONS = {"tanh": te.tanh, "sigmoid": te.sigmoid, "relu": lambda x: te.max(x, const(0, x.dtype))}


class Recurrence:
    """One direction: time first inside, states of [time, batch, hidden], gates of a product of the step's input and of the state."""

    def __init__(self, c, gates, default, number):
        self.c, self.gates, self.number = c, gates, number
        self.reverse = c.attribute("direction", "forward") == "reverse" or number == 1
        self.batch_first = c.attribute("layout", 0)
        self.hidden = c.attribute("hidden_size")
        shape = extents(c[0])
        self.batch, self.time = (shape[0], shape[1]) if self.batch_first else (shape[1], shape[0])
        self.width, self.dtype = shape[2], c[0].dtype
        names = [n.decode().lower() for n in c.attribute("activations", [])] or default * 2
        self.functions = [FUNCTIONS[name] for name in names][number * len(default) :]
        if c.has(4) and (c.arrays[4] != self.time).any():
            raise Unmapped("sequences of unequal lengths")

    def x(self, t, b, d):
        t = self.time - 1 - t if self.reverse else t
        return self.c[0](b, t, d) if self.batch_first else self.c[0](t, b, d)

    def initial(self, i, b, h):
        if not self.c.has(i):
            return const(0, self.dtype)
        return self.c[i](b, self.number, h) if self.batch_first else self.c[i](self.number, b, h)

    def row(self, gate, h):
        return gate * self.hidden + h

    def bias(self, gate, h, recurrent):
        if not self.c.has(3):
            return const(0, self.dtype)
        return self.c[3](self.number, self.row(gate, h) + (self.gates * self.hidden if recurrent else 0))

    def whole(self):
        return (self.time + 1, self.batch, self.hidden)

    def start(self, i):
        return te.compute((1, self.batch, self.hidden), lambda _, b, h: self.initial(i, b, h))

    def of_input(self, gate):
        """The input's part of a gate, for all times at once; the scan's first time is the initial state."""
        part = reduced(
            te.sum, (self.time, self.batch, self.hidden), [self.width],
            lambda i, by: self.x(i[0], i[1], by[0]) * self.c[1](self.number, self.row(gate, i[2]), by[0]),
        )  # fmt: skip
        return te.compute(self.whole(), lambda t, b, h: part(te.max(t - 1, 0), b, h) + self.bias(gate, h, False))

    def of_state(self, gate, read):
        k = te.reduce_axis((0, self.hidden), name="k")
        return te.compute(self.whole(), lambda t, b, h: te.sum(read(t, b, k) * self.c[2](self.number, self.row(gate, h), k), axis=k))

    def at(self, state, t, b, h):
        """The result of a time; a reverse recurrence began at the last."""
        return state((self.time - t) if self.reverse else t + 1, b, h)


def both(values, direction):
    """The value of the direction that a subscript names."""
    return values[0] if len(values) == 1 else te.select(direction.equal(0), *values)


def bidirectional(make):
    """Each direction's recurrence, and the node's results: all times, the last state, the last cell."""

    def mapped(c):
        numbers = range(2 if c.attribute("direction", "forward") == "bidirectional" else 1)
        made = [make(c, number) for number in numbers]
        r, count = made[0][0], len(made)
        out = [None] * len(c.expected)
        if c.wants(0):

            def at(t, d, b, h):
                return both([one.at(states[0], t, b, h) for one, *states in made], d)

            if r.batch_first:
                out[0] = te.compute((r.batch, r.time, count, r.hidden), lambda b, t, d, h: at(t, d, b, h))
            else:
                out[0] = te.compute((r.time, count, r.batch, r.hidden), at)
        for i in (1, 2):
            if c.wants(i):
                ends = [states[i - 1] for _, *states in made]
                out[i] = last(r, ends)
        return out

    return mapped


def last(r, ends):
    if r.batch_first:
        return te.compute((r.batch, len(ends), r.hidden), lambda b, d, h: both([end(r.time, b, h) for end in ends], d))
    return te.compute((len(ends), r.batch, r.hidden), lambda d, b, h: both([end(r.time, b, h) for end in ends], d))


def state_placeholder(r, name):
    return te.placeholder(r.whole(), r.dtype, name)


def rnn(c, number):
    r = Recurrence(c, 1, ["tanh"], number)
    (f,) = r.functions[:1]
    given = r.of_input(0)
    state = state_placeholder(r, "state")
    part = r.of_state(0, lambda t, b, k: state(t - 1, b, k))
    update = te.compute(r.whole(), lambda t, b, h: f(given(t, b, h) + part(t, b, h) + r.bias(0, h, True)))
    return r, te.scan(r.start(5), update, state)


def gru(c, number):
    r = Recurrence(c, 3, ["sigmoid", "tanh"], number)
    f, g = r.functions[:2]
    given = [r.of_input(gate) for gate in range(3)]
    state = state_placeholder(r, "state")

    def gate(which):
        part = r.of_state(which, lambda t, b, k: state(t - 1, b, k))
        return te.compute(r.whole(), lambda t, b, h: f(given[which](t, b, h) + part(t, b, h) + r.bias(which, h, True)))

    z, reset = gate(0), gate(1)
    if c.attribute("linear_before_reset", 0):
        part = r.of_state(2, lambda t, b, k: state(t - 1, b, k))
        new = te.compute(r.whole(), lambda t, b, h: g(given[2](t, b, h) + reset(t, b, h) * (part(t, b, h) + r.bias(2, h, True))))
    else:
        part = r.of_state(2, lambda t, b, k: reset(t, b, k) * state(t - 1, b, k))
        new = te.compute(r.whole(), lambda t, b, h: g(given[2](t, b, h) + part(t, b, h) + r.bias(2, h, True)))
    one = const(1, r.dtype)
    update = te.compute(r.whole(), lambda t, b, h: (one - z(t, b, h)) * new(t, b, h) + z(t, b, h) * state(t - 1, b, h))
    return r, te.scan(r.start(5), update, state)


def lstm(c, number):
    """Gates in ONNX's order: input, output, forget, cell; peepholes in the order input, output, forget."""
    r = Recurrence(c, 4, ["sigmoid", "tanh", "tanh"], number)
    f, g, last = r.functions[:3]
    given = [r.of_input(gate) for gate in range(4)]
    state, cell = state_placeholder(r, "state"), state_placeholder(r, "cell")
    parts = [r.of_state(gate, lambda t, b, k: state(t - 1, b, k)) for gate in range(4)]

    def peep(gate, value, h):
        return c[7](number, gate * r.hidden + h) * value if c.has(7) else const(0, r.dtype)

    def total(gate, t, b, h):
        return given[gate](t, b, h) + parts[gate](t, b, h) + r.bias(gate, h, True)

    forget = te.compute(r.whole(), lambda t, b, h: f(total(2, t, b, h) + peep(2, cell(t - 1, b, h), h)))
    take = te.compute(r.whole(), lambda t, b, h: f(total(0, t, b, h) + peep(0, cell(t - 1, b, h), h)))
    new_cell = te.compute(r.whole(), lambda t, b, h: forget(t, b, h) * cell(t - 1, b, h) + take(t, b, h) * g(total(3, t, b, h)))
    give = te.compute(r.whole(), lambda t, b, h: f(total(1, t, b, h) + peep(1, new_cell(t, b, h), h)))
    new_state = te.compute(r.whole(), lambda t, b, h: give(t, b, h) * last(new_cell(t, b, h)))
    return r, *te.scan([r.start(5), r.start(6)], [new_state, new_cell], [state, cell])


def linear_attention(c):
    """A state for each head, of keys by values, that fades, and takes in what it does not yet say of a key."""
    heads, shared, rule = c.attribute("q_num_heads"), c.attribute("kv_num_heads"), c.attribute("update_rule", "gated_delta")
    batch, time, width = extents(c[0])
    keys, values = extents(c[1])[2] // shared, extents(c[2])[2] // shared
    scale = c.attribute("scale", 0.0) or 1 / math.sqrt(width // heads)
    q, k, v = (cast(c[i], "float32") for i in range(3))
    shape = (time + 1, batch, shared, keys, values)

    def fade(t, b, h, d):
        each = extents(c[4])[2] == shared * keys
        return te.exp(c[4](b, te.max(t - 1, 0), h * keys + d if each else h).astype("float32"))

    state = te.placeholder(shape, "float32", "state")
    faded = te.compute(shape, lambda t, b, h, d, e: state(t - 1, b, h, d, e) * (fade(t, b, h, d) if "gated" in rule else 1.0))
    by = te.reduce_axis((0, keys), name="by")
    said = te.compute(
        (time + 1, batch, shared, values), lambda t, b, h, e: te.sum(faded(t, b, h, by, e) * k(b, te.max(t - 1, 0), h * keys + by), axis=by)
    )

    def change(t, b, h, d, e):
        new = v(b, te.max(t - 1, 0), h * values + e)
        if "delta" in rule:
            rate = c[5](b, te.max(t - 1, 0), h if extents(c[5])[2] == shared else 0).astype("float32")
            new = (new - said(t, b, h, e)) * rate
        return faded(t, b, h, d, e) + k(b, te.max(t - 1, 0), h * keys + d) * new

    first = te.compute(
        (1, *shape[1:]), lambda _, b, h, d, e: c[3](b, h, d, e).astype("float32") if c.has(3) else const(0, "float32")
    )
    states = te.scan(first, te.compute(shape, change), state)
    group = heads // shared

    def read(i, by):
        b, t, at = i
        return q(b, t, at // values * keys + by[0]) * states(t + 1, b, at // values // group, by[0], at % values)

    out = reduced(te.sum, (batch, time, heads * values), [keys], read)
    out = elementwise(lambda x: (x * const(scale, "float32")).astype(c[0].dtype), out)
    return [out, te.compute(shape[1:], lambda b, h, d, e: states(time, b, h, d, e).astype(str(c.expected[1].dtype)))]


OPERATORS = {
    "GRU": bidirectional(gru),
    "LSTM": bidirectional(lstm),
    "LinearAttention": linear_attention,
    "RNN": bidirectional(rnn),
}
