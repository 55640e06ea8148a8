"""Attributes that code written for tvm asks for and that are not here: the error says what is there instead."""

import difflib


def say_missing(cls, hints):
    """Let ``cls`` answer for attributes that it lacks: with the hint of that name, or the nearest name that it has."""

    def __getattr__(self, name):
        if not name.startswith("__"):
            raise AttributeError(_text(cls.__name__, name, hints, dir(cls)), name=name, obj=self)
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=self)

    cls.__getattr__ = __getattr__


def of_module(module, hints, names):
    """The ``__getattr__`` of a module."""

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise AttributeError(_text(module, name, hints, names))

    return __getattr__


def _text(owner, name, hints, names):
    text = f"{owner} has no attribute {name!r}"
    if name in hints:
        return f"{text}: {hints[name]}"
    near = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 1)
    return f"{text}; did you mean {near[0]!r}?" if near else text
