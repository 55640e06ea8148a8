"""What the simplifier's rules are about, as terms of z3: integers without bounds, words that wrap, bools and floats."""

import z3


class Integers:
    """Index arithmetic: integers without bounds. x // 0 and x % 0 are 0."""

    name = "integers"
    is_integer = is_exact = True

    def wildcard(self, name):
        return z3.Int(name)

    constant = wildcard

    def literal(self, value):
        return z3.IntVal(value)

    def number(self, value):
        return value  # of a condition

    @staticmethod
    def floordiv(a, b):
        if z3.is_int_value(b) and b.as_long() > 0:
            return a / b
        return z3.If(b == 0, 0, z3.If(b > 0, a / b, (-a) / (-b)))

    @staticmethod
    def truncdiv(a, b):
        magnitude = z3.If(a < 0, -a, a) / z3.If(b < 0, -b, b)
        return z3.If(b == 0, 0, z3.If((a < 0) == (b < 0), magnitude, -magnitude))

    def apply(self, op, a, b):
        simple = {
            "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b,
            "//": lambda: self.floordiv(a, b), "%": lambda: z3.If(b == 0, 0, a - b * self.floordiv(a, b)),
            "truncdiv": lambda: self.truncdiv(a, b), "truncmod": lambda: z3.If(b == 0, 0, a - b * self.truncdiv(a, b)),
            "min": lambda: z3.If(a < b, a, b), "max": lambda: z3.If(a > b, a, b),
            "==": lambda: a == b, "!=": lambda: a != b, "<": lambda: a < b, "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b,
        }  # fmt: skip
        return simple[op]()


class Words:
    """Data arithmetic on integers: wraps; a shift counts modulo the width; MIN / -1 is MIN."""

    is_integer = is_exact = True
    WIDE = 66  # for conditions, which are about the numbers themselves

    def __init__(self, bits, signed):
        self.bits, self.signed = bits, signed
        self.name = f"{'int' if signed else 'uint'}{bits}"

    def wildcard(self, name):
        return z3.BitVec(name, self.bits)

    constant = wildcard

    def literal(self, value):
        return z3.BitVecVal(value, self.bits)

    def number(self, value):
        return (z3.SignExt if self.signed else z3.ZeroExt)(self.WIDE - self.bits, value)

    def less(self, a, b):
        return a < b if self.signed else z3.ULT(a, b)

    def truncdiv(self, a, b):
        return z3.If(b == 0, self.literal(0), a / b if self.signed else z3.UDiv(a, b))

    def truncmod(self, a, b):
        return z3.If(b == 0, self.literal(0), z3.SRem(a, b) if self.signed else z3.URem(a, b))

    def floormod(self, a, b):
        rest = self.truncmod(a, b)
        return z3.If(z3.And(rest != 0, (rest < 0) != (b < 0)), rest + b, rest) if self.signed else rest

    def floordiv(self, a, b):
        quotient, rest = self.truncdiv(a, b), self.truncmod(a, b)
        return z3.If(z3.And(rest != 0, (rest < 0) != (b < 0)), quotient - 1, quotient) if self.signed else quotient

    def apply(self, op, a, b):
        simple = {
            "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b,
            "//": lambda: self.floordiv(a, b), "%": lambda: self.floormod(a, b),
            "truncdiv": lambda: self.truncdiv(a, b), "truncmod": lambda: self.truncmod(a, b),
            "min": lambda: z3.If(self.less(a, b), a, b), "max": lambda: z3.If(self.less(b, a), a, b),
            "&": lambda: a & b, "|": lambda: a | b, "^": lambda: a ^ b,
            "<<": lambda: a << (b % self.bits if self.signed else z3.URem(b, self.literal(self.bits))),
            ">>": lambda: a >> b if self.signed else z3.LShR(a, b),
            "==": lambda: a == b, "!=": lambda: a != b, "<": lambda: self.less(a, b), "<=": lambda: z3.Not(self.less(b, a)),
            ">": lambda: self.less(b, a), ">=": lambda: z3.Not(self.less(a, b)),
        }  # fmt: skip
        return simple[op]()


class Bools:
    name, is_integer, is_exact = "bool", False, True

    def wildcard(self, name):
        return z3.Bool(name)

    def literal(self, value):
        return z3.BoolVal(bool(value))

    def apply(self, op, a, b):
        simple = {
            "==": lambda: a == b, "!=": lambda: a != b, "<": lambda: z3.And(z3.Not(a), b), "<=": lambda: z3.Or(z3.Not(a), b),
            ">": lambda: z3.And(a, z3.Not(b)), ">=": lambda: z3.Or(a, z3.Not(b)),
        }  # fmt: skip
        return simple[op]()


class Floats:
    """IEEE 754, to nearest even; the signs of zeros tell apart, NaNs do not. min is `a < b ? a : b`.

    The standard defines all widths alike; z3 is quick for narrow ones.
    """

    is_integer = is_exact = False

    def __init__(self, sort, name):
        self.sort, self.name = sort, name

    def wildcard(self, name):
        return z3.FP(name, self.sort)

    def literal(self, value):
        return z3.FPVal(value, self.sort)

    def apply(self, op, a, b):
        nearest = z3.RNE()
        simple = {
            "+": lambda: z3.fpAdd(nearest, a, b), "-": lambda: z3.fpSub(nearest, a, b), "*": lambda: z3.fpMul(nearest, a, b),
            "/": lambda: z3.fpDiv(nearest, a, b), "min": lambda: z3.If(z3.fpLT(a, b), a, b), "max": lambda: z3.If(z3.fpGT(a, b), a, b),
            "==": lambda: z3.fpEQ(a, b), "!=": lambda: z3.Not(z3.fpEQ(a, b)), "<": lambda: z3.fpLT(a, b), "<=": lambda: z3.fpLEQ(a, b),
            ">": lambda: z3.fpGT(a, b), ">=": lambda: z3.fpGEQ(a, b),
        }  # fmt: skip
        return simple[op]()


INTEGERS = Integers()
DATA = [Words(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)] + [
    Bools(), Floats(z3.FPSort(4, 4), "float8"), Floats(z3.Float16(), "float16"), Floats(z3.FPSort(8, 8), "bfloat16"),
]  # fmt: skip
