"""What a template receives: ``cfg.define_split(...)``, ``cfg["tile"].apply(...)``, ``cfg["unroll"].val``."""

from __future__ import annotations

import json
import operator

from .. import _core
from .._checks import is_positive
from ..errors import TuneError
from .entity import ConfigEntity

__all__ = ["Config", "KnobValue", "VirtualAxis"]

_POLICIES = ("factors", "power2", "verbose", "candidate")


class VirtualAxis:
    """An axis that a knob of this template will make: what ``define_split`` returns, for ``define_reorder`` and the like."""

    def __init__(self, name, extent):
        self.name = name
        self.extent = extent

    def __repr__(self):
        return f"VirtualAxis({self.name}, {self.extent})"


def _extent_of(axis):
    """The number of iterations of a te axis, a schedule's axis, a virtual axis, or the number itself."""
    if isinstance(axis, bool):
        raise TuneError(f"define_split: axis must be an axis or its extent, not {axis!r}")
    extent = getattr(axis, "extent", None)
    if extent is None and getattr(axis, "dom", None) is not None:
        extent = axis.dom.extent
    try:
        return operator.index(axis if extent is None else extent)
    except TypeError:
        try:
            return int(extent)
        except TypeError:
            raise TuneError(f"define_split: axis must be an axis or its extent, not {axis!r}") from None


def _label(axis):
    name = getattr(axis, "name", None)
    if name is None and getattr(axis, "var", None) is not None:
        name = axis.var.name
    return name if isinstance(name, str) else str(axis)


class KnobValue(_core.Factor):
    """A number of a knob. As a split factor it stays a reference, and the template's trace fits every candidate. Any other use
    (comparing, computing, ``int()``) makes the template run again for each value that it looks at."""

    def __init__(self, config, knob, part, value):
        super().__init__(knob, part, value)
        self._config = config

    def __index__(self):
        self._config.mark_read(self.knob)
        return self.value

    __int__ = __index__

    def __float__(self):
        return float(int(self))

    def __bool__(self):
        return bool(int(self))

    def __hash__(self):
        return hash(int(self))

    def __str__(self):
        return str(int(self))

    __repr__ = __str__

    def __format__(self, spec):
        return format(int(self), spec)

    def __neg__(self):
        return -int(self)


def _number(other):
    return int(other) if isinstance(other, KnobValue) else other


def _forward(name):
    function = getattr(operator, name)

    def method(self, other):
        return function(int(self), _number(other))

    return method


def _reflected(name):
    function = getattr(operator, name)

    def method(self, other):
        return function(_number(other), int(self))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
    setattr(KnobValue, f"__{_name.rstrip('_')}__", _forward(_name))
    setattr(KnobValue, f"__r{_name.rstrip('_')}__", _reflected(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(KnobValue, f"__{_name}__", _forward(_name))


class _Entity:
    def __init__(self, config, name):
        self._config = config
        self._name = name

    def _mark(self, schedule, first, stage, axes):
        names = [stage._name_of("apply", axis) for axis in axes]
        self._config._core.mark_steps(self._name, first, _step_count(schedule), stage.name, names)


def _step_count(schedule):
    return len(schedule._step_texts())


class SplitEntity(_Entity):
    """A split's chosen extents: ``size`` (outermost first), ``tail``, ``apply(s, C, axis)``."""

    @property
    def size(self):
        """The extents, outermost first; the outermost follows from the others."""
        numbers = self._config._core.numbers(self._name)
        return [KnobValue(self._config._core, self._name, part, n) for part, n in enumerate(numbers)]

    @property
    def tail(self):
        self._config._core.mark_read(self._name)
        return self._config._core.tail(self._name)

    def apply(self, s, op, axis):
        """Split ``axis`` of a stage. Returns the axes, outermost first."""
        stage = s[op]
        first = _step_count(s)
        tail = self._config._core.tail(self._name)
        axes, rest = [], axis
        for factor in reversed(self.size[1:]):
            rest, inner = stage.split(rest, factor=factor, tail=tail)
            axes.insert(0, inner)
        self._mark(s, first, stage, [axis])
        return [rest, *axes] if axes else [axis]

    def __str__(self):
        return self._config._core.value_json(self._name)

    __repr__ = __str__


class OtherEntity(_Entity):
    """A knob's chosen value: ``val``."""

    @property
    def val(self):
        numbers = self._config._core.numbers(self._name)
        if numbers and numbers[0] > 0:
            return KnobValue(self._config._core, self._name, 0, numbers[0])
        return json.loads(self._config._core.value_json(self._name))

    def __str__(self):
        return self._config._core.value_json(self._name)

    __repr__ = __str__


class ReorderEntity(_Entity):
    """A chosen order of axes: ``perm``, ``apply(s, C, axes)``."""

    @property
    def perm(self):
        self._config._core.mark_read(self._name)
        return list(self._config._core.numbers(self._name))

    def apply(self, s, op, axes):
        """Reorder the axes of a stage. Returns them in their new order."""
        axes = list(axes)
        order = self._config._core.numbers(self._name)
        if len(order) != len(axes):
            raise TuneError(f"the knob {self._name!r} is defined for {len(order)} axes and applied to {len(axes)}")
        stage = s[op]
        first = _step_count(s)
        ordered = [axes[i] for i in order]
        if len(axes) > 1:
            stage.reorder(*ordered)
        self._mark(s, first, stage, axes)
        return ordered


class AnnotateEntity(_Entity):
    """Chosen annotations of axes: ``anns``, ``apply(s, C, axes)``."""

    _NAMES = ("none", "unroll", "vec")

    @property
    def anns(self):
        self._config._core.mark_read(self._name)
        return [self._NAMES[n] for n in self._config._core.numbers(self._name)]

    def apply(self, s, op, axes, **unused):
        """Unroll or vectorize the axes of a stage as chosen. Returns the axes."""
        axes = list(axes)
        numbers = self._config._core.numbers(self._name)
        if len(numbers) != len(axes):
            raise TuneError(f"the knob {self._name!r} is defined for {len(numbers)} axes and applied to {len(axes)}")
        stage = s[op]
        first = _step_count(s)
        for axis, number in zip(axes, numbers):
            if number:
                (stage.unroll if number == 1 else stage.vectorize)(axis)
        self._mark(s, first, stage, axes)
        return axes


_ENTITIES = {"split": SplitEntity, "knob": OtherEntity, "reorder": ReorderEntity, "annotate": AnnotateEntity}


class Config:
    """The knobs of a template. ``cfg[name]`` is a knob's chosen value."""

    def __init__(self, core, fallback=False):
        self._core = core
        self._fallback, self._asked = fallback, False
        self._extents = {}  # of what each knob splits

    def define_split(self, name, axis, num_outputs=2, policy="factors", *, max_factor=None, filter=None, tails=("auto",),
                     candidate=None, **unknown):
        """A knob that splits ``axis`` into num_outputs loops.

        Parameters: name; axis, of te, of a schedule, or an extent; policy, where the inner extents come from: "factors"
        (divisors, register-tile sizes and multiples of a vector: they need not divide), "power2", "verbose" (both, and all up
        to 32), "candidate" (those in ``candidate``, lists of num_outputs extents of which the first is derived); max_factor,
        the largest inner extent; filter, called with an object that has ``.size``, keeps those for which it is true; tails,
        strategies to try where an extent does not divide (docs/schedule.md#tails).
        Returns: the new axes, for define_reorder and define_annotate.
        """
        if unknown:
            raise TuneError(f"define_split: there is no option {', '.join(sorted(unknown))}")
        if policy not in _POLICIES:
            raise TuneError(f"define_split: policy must be one of {', '.join(_POLICIES)}, not {policy!r}")
        if (policy == "candidate") != (candidate is not None):
            raise TuneError("define_split: policy=\"candidate\" and candidate=[[...], ...] go together")
        if max_factor is not None and not is_positive(max_factor):
            raise TuneError(f"define_split: max_factor must be a positive integer, not {max_factor!r}")
        tails = [tails] if isinstance(tails, str) else list(tails)
        keep = None if filter is None else (lambda size: bool(filter(_Sizes(size))))
        extent = self._extents[name] = _extent_of(axis)
        self._core.define_split(name, extent, num_outputs, _POLICIES.index(policy), max_factor or 0, keep, tails,
                                [list(c) for c in candidate or []], _label(axis))
        return [VirtualAxis(f"{_label(axis)}.{part}", extent) for part in range(num_outputs)]

    def define_knob(self, name, candidate):
        """A knob with the given values: numbers, strings, bools, None, or lists of them."""
        try:
            texts = [json.dumps(value) for value in candidate]
        except TypeError as e:
            allowed = "numbers, strings, bools, None or lists of them"
            raise TuneError(f"define_knob: values of {name!r} must be {allowed}: {e}") from None
        self._core.define_knob(name, texts)

    def define_reorder(self, name, axes, policy="all", candidate=None):
        """A knob that orders axes: policy "all" (every order), "identity", or "candidate" with a list of orders, each a list of
        positions in ``axes`` or of the axes themselves."""
        axes = list(axes)
        if policy not in ("all", "identity", "candidate"):
            raise TuneError(f"define_reorder: policy must be one of all, identity, candidate, not {policy!r}")
        orders = [list(range(len(axes)))] if policy == "identity" else []
        for order in candidate or []:
            orders.append([i if isinstance(i, int) else _position(i, axes, name) for i in order])
        if policy == "candidate" and not orders:
            raise TuneError("define_reorder: policy=\"candidate\" needs candidate=[[...], ...]")
        self._core.define_reorder(name, [_label(a) for a in axes], orders)

    def define_annotate(self, name, axes, policy="try_unroll_vec", **unused):
        """A knob that unrolls or vectorizes axes: policy "none", "unroll", "unroll_vec", "try_unroll", "try_vec" or
        "try_unroll_vec", from the innermost axis outwards."""
        self._core.define_annotate(name, [_label(a) for a in axes], policy)

    def multi_filter(self, filter):
        """Leave out combinations of knobs: candidates for which ``filter(entity)`` is false are not measured.

        Parameters: filter, of a ConfigEntity: ``lambda e: e["tile_x"].size[-1] * e["tile_y"].size[-1] <= 64``. The space stays the
        product of its knobs; ``space.is_index_valid(i)`` says what is left, and ``space[i].instantiate()`` refuses the rest.
        """
        if not callable(filter):
            raise TuneError(f"multi_filter: filter must be a function of a ConfigEntity, not {filter!r}")
        self._core.multi_filter(lambda knobs: bool(filter(ConfigEntity(json.loads(knobs)))))

    @property
    def is_fallback(self):
        """Whether the template was called outside of ``apply_history_best`` and of tuning, where ``fallback_split`` may choose."""
        self._asked = True
        return self._fallback

    def fallback_split(self, name, constraints):
        """Choose a split by rule: from the innermost loop outwards the largest divisor of what is left that a constraint allows.

        Parameters: name, a knob of define_split; constraints, the largest extent of each loop, outermost first; -1 for any.
        Raises: TuneError where no log is missing (ask ``cfg.is_fallback`` first), and for constraints of another number.
        """
        if not self._fallback:
            raise TuneError("fallback_split: a log or the tuner has chosen already", "if cfg.is_fallback: cfg.fallback_split(...)")
        sizes = list(self._core.numbers(name))
        if len(constraints) != len(sizes):
            raise TuneError(f"fallback_split: {name!r} has {len(sizes)} loops, not {len(constraints)}")
        left = self._extents[name]
        for i in reversed(range(len(sizes))):
            allowed = left if constraints[i] == -1 else constraints[i]
            sizes[i] = max((f for f in range(1, left + 1) if left % f == 0 and f <= allowed), default=0)
            if sizes[i] == 0:
                raise TuneError(f"fallback_split: no split of {name!r} has a loop {i} of at most {constraints[i]}")
            left //= sizes[i]
        self._core.choose_split(name, sizes)

    def __getitem__(self, name):
        return _ENTITIES[self._core.kind(name)](self, name)

    def __contains__(self, name):
        return name in self._core.names()

    def axis(self, axis):
        """The axis itself, or a stand-in with that extent."""
        return VirtualAxis(str(axis), axis) if isinstance(axis, int) else axis

    def add_flop(self, flop):
        """Accepted for templates written for other tuners; the work is counted from the declaration."""

    def mark_opaque(self):
        """Run the template again for every candidate: for templates that look at knobs in a way that cannot be seen."""
        self._core.mark_opaque()

    def __repr__(self):
        return "\n".join(f"{name}: {self._core.value_json(name)}" for name in self._core.names())


class _Sizes:
    """What a filter sees."""

    def __init__(self, size):
        self.size = list(size)

    def __repr__(self):
        return str(self.size)


def _position(axis, axes, name):
    for i, other in enumerate(axes):
        if other is axis:
            return i
    raise TuneError(f"define_reorder: {axis!r} is none of the axes of {name!r}")
