"""Extents that are numbers."""


class Extent(int):
    """An int that says ``.value`` and ``.dtype`` too, as the extents of ``tvm`` do; its arithmetic gives such numbers again."""

    __slots__ = ()
    value = property(int, doc="The number.")
    dtype = "int32"

    def __repr__(self):
        return int.__repr__(self)

    def __reduce__(self):
        return int, (int(self),)


def _closed(name):
    of_int = getattr(int, name)

    def method(self, *others):
        result = of_int(self, *others)
        return Extent(result) if type(result) is int else result

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Extent, f"__{_name}__", _closed(f"__{_name}__"))
    setattr(Extent, f"__r{_name}__", _closed(f"__r{_name}__"))
Extent.__neg__ = _closed("__neg__")
