class Extent(int):
    @property
    def value(self) -> int: ...
    dtype: str
