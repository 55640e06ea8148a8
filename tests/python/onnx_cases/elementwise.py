"""Functions of single elements, of one tensor or several that are repeated to one shape."""


import tensorwright as tw
from tensorwright import te

from .forms import const, elementwise, extents, select

ops = tw.ops
FLOATS = ("float16", "bfloat16", "float32", "float64")


def unary(function):
    return lambda c: elementwise(function, c[0])


def binary(function):
    return lambda c: elementwise(function, c[0], c[1])


def stock(operator):
    return lambda c: operator(c[0])


def variadic(function):
    def mapped(c):
        if len(c) == 1:
            return elementwise(lambda x: x, c[0])
        result = c[0]
        for i in range(1, len(c)):
            result = elementwise(function, result, c[i])
        return result

    return mapped


def mean(c):
    total = variadic(lambda x, y: x + y)(c)
    return elementwise(lambda x: x / const(len(c), x.dtype), total)


def with_constants(function, **defaults):
    """Attributes of the node as numbers of the element's dtype."""

    def mapped(c):
        numbers = {name: c.attribute(name, default) for name, default in defaults.items()}
        return elementwise(lambda x: function(x, **{name: const(n, x.dtype) for name, n in numbers.items()}), c[0])

    return mapped


def zero(x):
    return const(0, x.dtype)


def one(x):
    return const(1, x.dtype)


def sign(x):
    return select((x > zero(x), one(x)), (x < zero(x), const(-1, x.dtype) if not x.dtype.startswith("u") else one(x)), zero(x))


def divide(x, y):
    return x / y if x.dtype in FLOATS else te.truncdiv(x, y)


def floor_mod(x, y):
    """The remainder with the divisor's sign; of floats, 0 too has it."""
    if x.dtype not in FLOATS:
        return te.floormod(x, y)
    rest = te.fmod(x, y)
    other_side = te.all(rest.equal(rest), rest < zero(x), y > zero(y)) | te.all(rest > zero(x), y < zero(y))
    return te.select(rest.equal(zero(x)), te.copysign(rest, y), te.select(other_side, rest + y, rest))


def mod(c):
    return elementwise(te.fmod if c.attribute("fmod", 0) else floor_mod, c[0], c[1])


def power(x, y):
    if x.dtype not in FLOATS and y.dtype in FLOATS:
        return te.power(x.astype("float64"), y.astype("float64")).astype(x.dtype)
    return te.power(x, y.astype(x.dtype))


def bit_shift(c):
    """An amount beyond the width, or below 0, leaves nothing but the sign."""
    left = c.attribute("direction") == "LEFT"

    def shifted(x, n):
        width = const(8 * c.arrays[0].dtype.itemsize, x.dtype)
        gone = te.select(x < zero(x), const(0 if left else -1, x.dtype), zero(x)) if x.dtype.startswith("int") else zero(x)
        return te.select(te.any(n < zero(x), n >= width), gone, x << n if left else x >> n)

    return elementwise(shifted, c[0], c[1])


def equal(x, y):
    return ~(x ^ y) if x.dtype == "bool" else x.equal(y)


def is_inf(c):
    signs = [(c.attribute("detect_negative", 1), lambda x: x < zero(x)), (c.attribute("detect_positive", 1), lambda x: x > zero(x))]
    wanted = [of for detect, of in signs if detect]
    if not wanted:
        return elementwise(lambda x: te.isinf(x) & (x > x), c[0])
    return elementwise(lambda x: te.isinf(x) & te.any(*(of(x) for of in wanted)), c[0])


def clip(c):
    result = c[0]
    if c.has(1):
        result = elementwise(te.max, result, c[1])
    if c.has(2):
        result = elementwise(te.min, result, c[2])
    return result if c.has(1) or c.has(2) else elementwise(lambda x: x, result)


def clip_by_stock(c):
    """Bounds that are numbers, as the stock operator takes them."""
    bounds = [c.value(i) for i in (1, 2)]
    numbers = [None if b is None else b.item() for b in bounds]
    if None not in numbers and numbers[0] > numbers[1]:
        return clip(c)
    return ops.clip(c[0], *numbers)


def selu(x, alpha, gamma):
    return gamma * te.select(x > zero(x), x, alpha * te.exp(x) - alpha)


def celu(x, alpha):
    return te.max(zero(x), x) + te.min(zero(x), alpha * (te.exp(x / alpha) - one(x)))


def shrink(x, lambd, bias):
    return select((x < -lambd, x + bias), (x > lambd, x - bias), zero(x))


def hard_sigmoid(x, alpha, beta):
    return te.max(zero(x), te.min(one(x), alpha * x + beta))


def swish(x, alpha):
    return x * te.sigmoid(alpha * x)


def thresholded(x, alpha):
    return te.select(x > alpha, x, zero(x))


def prelu(x, slope):
    return te.select(x < zero(x), x * slope, x)


def where(c):
    if c[0].dtype == "bool" and c[1].dtype == c[2].dtype:
        return ops.where(c[0], c[1], c[2])
    return elementwise(te.select, c[0], c[1], c[2])


def hardmax(c):
    axis = c.attribute("axis", -1)
    rank = len(extents(c[0]))
    axis = axis + rank if axis < 0 else axis
    first = ops.argmax(c[0], axis, keepdims=True)
    return te.compute(
        extents(c[0]), lambda *i: te.select(first(*i[:axis], 0, *i[axis + 1 :]).equal(i[axis]), const(1, c[0].dtype), const(0, c[0].dtype))
    )


def binarizer(x, threshold):
    return te.select(x > threshold, one(x), zero(x))


def swiglu(c):
    alpha = c.attribute("alpha", 1.0)
    return elementwise(lambda a, b: swish(a, const(alpha, a.dtype)) * b, c[0], c[1])


OPERATORS = {
    "Abs": unary(te.abs),
    "Acos": unary(te.acos),
    "Acosh": unary(te.acosh),
    "Add": binary(lambda x, y: x + y),
    "And": binary(lambda x, y: x & y),
    "Asin": unary(te.asin),
    "Asinh": unary(te.asinh),
    "Atan": unary(te.atan),
    "Atanh": unary(te.atanh),
    "Binarizer": with_constants(binarizer, threshold=0.0),
    "BitShift": bit_shift,
    "BitwiseAnd": binary(lambda x, y: x & y),
    "BitwiseNot": unary(lambda x: ~x),
    "BitwiseOr": binary(lambda x, y: x | y),
    "BitwiseXor": binary(lambda x, y: x ^ y),
    "Ceil": unary(te.ceil),
    "Celu": with_constants(celu, alpha=1.0),
    "Clip": clip_by_stock,
    "Cos": unary(te.cos),
    "Cosh": unary(te.cosh),
    "Div": binary(divide),
    "Elu": lambda c: ops.elu(c[0], alpha=c.attribute("alpha", 1.0)),
    "Equal": binary(equal),
    "Erf": unary(te.erf),
    "Exp": unary(te.exp),
    "Floor": unary(te.floor),
    "Gelu": lambda c: ops.gelu(c[0], approximate=c.attribute("approximate", "none")),
    "Greater": binary(lambda x, y: x > y),
    "GreaterOrEqual": binary(lambda x, y: x >= y),
    "HardSigmoid": with_constants(hard_sigmoid, alpha=0.2, beta=0.5),
    "HardSwish": stock(ops.hardswish),
    "Hardmax": hardmax,
    "Identity": unary(lambda x: x),
    "IsInf": is_inf,
    "IsNaN": unary(te.isnan),
    "LeakyRelu": lambda c: ops.leaky_relu(c[0], slope=c.attribute("alpha", 0.01)),
    "Less": binary(lambda x, y: x < y),
    "LessOrEqual": binary(lambda x, y: x <= y),
    "Log": unary(te.log),
    "Max": variadic(te.max),
    "Mean": mean,
    "Min": variadic(te.min),
    "Mish": stock(ops.mish),
    "Mod": mod,
    "Mul": binary(lambda x, y: x * y),
    "Neg": unary(lambda x: -x),
    "Not": unary(lambda x: ~x),
    "Or": binary(lambda x, y: x | y),
    "PRelu": binary(prelu),
    "Pow": binary(power),
    "Reciprocal": unary(lambda x: one(x) / x),
    "Relu": stock(ops.relu),
    "Round": unary(te.rint),
    "Selu": with_constants(selu, alpha=1.6732632423543772, gamma=1.0507009873554805),
    "Shrink": with_constants(shrink, lambd=0.5, bias=0.0),
    "Sigmoid": stock(ops.sigmoid),
    "Sign": unary(sign),
    "Sin": unary(te.sin),
    "Sinh": unary(te.sinh),
    "Softplus": stock(ops.softplus),
    "Softsign": unary(lambda x: x / (one(x) + te.abs(x))),
    "Sqrt": unary(te.sqrt),
    "Sub": binary(lambda x, y: x - y),
    "Sum": variadic(lambda x, y: x + y),
    "SwiGLU": swiglu,
    "Swish": with_constants(swish, alpha=1.0),
    "Tan": unary(te.tan),
    "Tanh": stock(ops.tanh),
    "ThresholdedRelu": with_constants(thresholded, alpha=1.0),
    "Where": where,
    "Xor": binary(lambda x, y: x ^ y),
}
