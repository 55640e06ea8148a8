"""Casts."""

import ml_dtypes
import numpy as np
import onnx

from tensorwright import te

from .case import DTYPES, Unmapped
from .forms import const, elementwise

EIGHT_BITS = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def target(number):
    dtype = str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)))
    if dtype not in DTYPES:
        raise Unmapped("te has no strings" if dtype == "object" else f"te has no {dtype}")
    return dtype


def saturated(x, dtype):
    """Numbers beyond the dtype's end as the end; NaN stays."""
    end = float(ml_dtypes.finfo(EIGHT_BITS[dtype]).max)
    low, high = const(-end, x.dtype), const(end, x.dtype)
    return te.select(te.isnan(x), x, te.min(te.max(x, low), high)).astype(dtype)


def converted(c, dtype):
    source = c[0].dtype
    if dtype in EIGHT_BITS and c.attribute("saturate", 1) and source not in EIGHT_BITS:
        return elementwise(lambda x: saturated(x.astype("float32") if source in ("float16", "bfloat16") else x, dtype), c[0])
    if dtype in EIGHT_BITS and c.attribute("saturate", 1):
        return elementwise(lambda x: saturated(x.astype("float32"), dtype), c[0])
    return elementwise(lambda x: x.astype(dtype), c[0])


def like(c):
    dtype = str(c.arrays[1].dtype)
    if dtype not in DTYPES:
        raise Unmapped("te has no strings" if dtype == "object" else f"te has no {dtype}")
    return converted(c, dtype)


def bits(c):
    dtype = target(c.attribute("to"))
    if dtype == "bool" or c[0].dtype == "bool":
        raise Unmapped("te.reinterpret takes no bool")
    return elementwise(lambda x: te.reinterpret(dtype, x), c[0])


OPERATORS = {
    "BitCast": bits,
    "Cast": lambda c: converted(c, target(c.attribute("to"))),
    "CastLike": like,
}
