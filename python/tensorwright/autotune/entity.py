"""Chosen values of a template's knobs, apart from a space: as filters see them, and as AutoTVM's logs hold them."""

from __future__ import annotations

import json

from ..errors import LogError, TuneError

__all__ = ["ConfigEntity"]

_KINDS = {"sp": "size", "ot": "val", "re": "perm", "an": "anns"}


class _Value:
    """A knob's value: ``size`` of a split, ``val``, ``perm`` of an order, ``anns`` of annotations."""

    def __init__(self, value):
        self._value = value

    size = property(lambda self: list(self._value["size"] if isinstance(self._value, dict) else self._value))
    tail = property(lambda self: self._value.get("tail", "auto") if isinstance(self._value, dict) else "auto")
    val = property(lambda self: self._value)
    perm = property(lambda self: list(self._value))
    anns = property(lambda self: ["vec" if name == "vectorize" else name for name in self._value])

    def __repr__(self):
        return json.dumps(self._value)


class ConfigEntity:
    """One choice for each knob: ``entity["tile"].size``, ``entity["unroll"].val``. ``task.instantiate(entity)`` schedules by it.

    >>> entity = ConfigEntity.from_json_dict({"entity": [["tile", "sp", [-1, 16]], ["unroll", "ot", 4]]})
    >>> entity["tile"].size, entity["unroll"].val
    ([-1, 16], 4)
    """

    def __init__(self, knobs, index=None):
        self.knobs = dict(knobs)
        self.index = index

    @classmethod
    def from_json_dict(cls, json_dict):
        """From the ``config`` of a line of AutoTVM's: ``{"index": 7, "entity": [[name, kind, value], ...]}``; an outermost extent of -1
        follows from the others.

        Raises: LogError for anything else.
        """
        try:
            knobs = {}
            for name, kind, value in json_dict["entity"]:
                if kind not in _KINDS:
                    raise LogError(f"ConfigEntity: the kind of {name!r} must be sp, ot, re or an, not {kind!r}")
                knobs[name] = ["vectorize" if word == "vec" else word for word in value] if kind == "an" else value
            return cls(knobs, json_dict.get("index"))
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            if isinstance(e, LogError):
                raise
            raise LogError(f"ConfigEntity: expected {{\"entity\": [[name, kind, value], ...]}}, not {json_dict!r}") from None

    def to_json_dict(self):
        """What ``from_json_dict`` takes."""
        return {"index": self.index, "code_hash": None, "entity": [_entity(name, value) for name, value in self.knobs.items()]}

    def __getitem__(self, name):
        if name not in self.knobs:
            raise TuneError(f"there is no knob {name!r}", f"there are {', '.join(self.knobs) or 'none'}")
        return _Value(self.knobs[name])

    def __contains__(self, name):
        return name in self.knobs

    def __eq__(self, other):
        return isinstance(other, ConfigEntity) and self.knobs == other.knobs

    def __hash__(self):
        return hash(json.dumps(self.knobs, sort_keys=True))

    def __repr__(self):
        return json.dumps(self.knobs)


def _entity(name, value):
    sizes = value.get("size") if isinstance(value, dict) else value
    if isinstance(sizes, list) and sizes and all(isinstance(word, str) for word in sizes):
        return [name, "an", ["vec" if word == "vectorize" else word for word in sizes]]
    if isinstance(sizes, list) and sizes and all(isinstance(n, int) for n in sizes):
        return [name, "re" if sorted(sizes) == list(range(len(sizes))) else "sp", sizes]
    return [name, "ot", value]
