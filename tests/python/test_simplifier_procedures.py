"""What the simplifier's procedures make of sums, quotients and conditions is proved case by case.

Normal forms, quotients of sums, minima by ranges and what conditions imply are no rules: programs of one loop nest per case are
simplified, and z3 proves that the same iterations store the same values.
"""

import ast
import pathlib
import random
import re
import subprocess

import pytest

import tensorwright as tw

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: python/requirements-dev.txt")
TW_OPT = pathlib.Path(tw.__file__).parent / "tw-opt"
pytestmark = pytest.mark.skipif(not TW_OPT.exists(), reason="tw-opt is not built: it needs CLI11")

from simplifier_domains import INTEGERS  # noqa: E402 (which needs z3)


class Nests:
    """Random nests over a, b, c: `for ..: if condition: C[n] = int64(value)`."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def atom(self):
        return self.pick("a", "b", "c", "a", "b", f"({self.pick('a', 'b', 'c')} {self.pick('//', '%')} {self.pick(2, 3, 4, 8, 12)})")

    def sum(self, terms=3):
        out = str(self.pick(0, 1, -1, 7, 16, -24))
        for _ in range(self.random.randint(1, terms)):
            out = f"({out} {self.pick('+', '-')} {self.atom()} * {self.pick(1, 1, 2, 3, 4, 6, 8, 12, 16, -4)})"
        return out

    def split(self):
        """Quotients and remainders of one number, to be put together again."""
        x, d, e = self.sum(2), self.pick(2, 3, 4, 8), self.pick(2, 3, 5)
        return self.pick(
            f"({x} // {d} * {d} + {x} % {d})",
            f"({x} // {d} % {e} * {d} + {x} % {d})",
            f"({x} % {d} * 3 + {x} // {d} * {3 * d})",
            f"(({x} % {d * e}) // {d} * {d} + {x} % {d})",
        )

    def index(self, depth=2):
        if depth == 0:
            return self.sum()
        kind = self.random.randrange(8)
        inner = self.index(depth - 1)
        if kind < 2:
            return f"({inner} {self.pick('//', '%')} {self.pick(0, 1, 2, 3, 4, 6, 8, 16, -1, -4)})"
        if kind == 2:
            return f"{self.pick('truncdiv', 'truncmod')}({inner}, {self.pick(1, 2, 3, 8, -3)})"
        if kind == 3:
            return self.split()
        if kind < 6:
            return f"{self.pick('min', 'max')}({inner}, {self.index(depth - 1)})"
        if kind == 6:
            return f"select({self.condition(1)}, {inner}, {self.index(depth - 1)})"
        return f"({inner} {self.pick('+', '-')} {self.index(depth - 1)})"

    def condition(self, depth=2):
        if depth > 0 and self.random.random() < 0.5:
            kind = self.pick("and", "and", "or", "not")
            inner = self.condition(depth - 1)
            return f"(not {inner})" if kind == "not" else f"({inner} {kind} {self.condition(depth - 1)})"
        return f"({self.index(self.pick(0, 0, 1))} {self.pick('==', '!=', '<', '<=', '>', '>=')} {self.sum()})"

    def nest(self, n):
        wide = self.pick(1, 2, 5, 16, 48, 1 << 20, 1 << 40)
        lines = [f"for a in 0..{wide}:", f"for b in 0..{self.pick(1, 3, 7, 8, 64)}:", f"for c in 0..{self.pick('4', '24', 'a + 1', 'max(b - 1, 0)')}:"]
        if self.random.random() < 0.7:
            lines.append(f"if {self.condition()}:")
        lines.append(f"C[{n}] = int64({self.index()})")
        rename = {v: f"{v}{n}" for v in "abc"}
        return [re.sub(r"\b[abc]\b", lambda m: rename[m.group()], "  " * (k + 1) + line) for k, line in enumerate(lines)]


class Reader:
    """Expressions of the text form, whose syntax Python's parser takes, as terms of z3."""

    OPS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
    COMPARES = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}

    def read(self, text):
        return self.term(ast.parse(re.sub(r"(?<=\d)i64\b", "", text.strip()), mode="eval").body)

    def term(self, e):
        match e:
            case ast.Constant():
                return z3.IntVal(e.value)
            case ast.Name():
                return z3.BoolVal(e.id == "true") if e.id in ("true", "false") else z3.Int(e.id)
            case ast.BinOp():
                return INTEGERS.apply(self.OPS[type(e.op)], self.term(e.left), self.term(e.right))
            case ast.UnaryOp(op=ast.USub()):
                return -self.term(e.operand)
            case ast.UnaryOp(op=ast.Not()):
                return z3.Not(self.term(e.operand))
            case ast.BoolOp():
                return (z3.And if isinstance(e.op, ast.And) else z3.Or)(*map(self.term, e.values))
            case ast.Compare(ops=[op], comparators=[right]):
                return INTEGERS.apply(self.COMPARES[type(op)], self.term(e.left), self.term(right))
            case ast.Call():
                args = [self.term(arg) for arg in e.args]
                if e.func.id in ("int64", "select"):
                    return args[0] if len(args) == 1 else z3.If(*args)
                return INTEGERS.apply(e.func.id, *args)
        raise AssertionError(ast.dump(e))


def stores(text):
    """C[n] -> (the condition under which it is stored to, the value)."""
    out, around, shared = {}, [], {}
    for line in text.splitlines()[1:]:
        indent, line = len(line) - len(line.lstrip()), re.sub(r"(?<!^)%\d+", lambda m: shared[m.group()], line.strip())
        around = [(at, holds) for at, holds in around if at < indent]
        if loop := re.fullmatch(r"for (\w+) in 0\.\.(.*):", line):
            var = z3.Int(loop[1])
            around.append((indent, z3.And(var >= 0, var < Reader().read(loop[2]))))
        elif branch := re.fullmatch(r"if (.*):", line):
            around.append((indent, Reader().read(branch[1])))
        elif store := re.fullmatch(r"C\[(\d+)\] = (.*)", line):
            out[int(store[1])] = (z3.And(*(holds for _, holds in around)), Reader().read(store[2]))
        elif define := re.fullmatch(r"(%\d+) = (.*)", line):
            shared[define[1]] = f"({define[2]})"
        else:
            assert line == "pass", line
    return out


def simplified(text):
    done = subprocess.run([TW_OPT, "--pass", "simplify"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + text
    return done.stdout


@pytest.mark.parametrize("seed", range(6))
def test_procedures_keep_values_and_conditions(seed):
    count, unknown = 50, 0
    nests = Nests(seed)
    lines = [nests.nest(n) for n in range(count)]
    text = "\n".join(["kernel f(C: out int64[%d]):" % count, *(line for nest in lines for line in nest)]) + "\n"
    before, after = stores(text), stores(simplified(text))
    for n in range(count):
        runs, value = before[n]
        still_runs, new_value = after.get(n, (z3.BoolVal(False), value))
        # A loop over one value is gone, and its variable with it: it is 0, as `runs` says.
        ranges = stores("\n".join(["", *lines[n][:3], " " * 8 + f"C[{n}] = 0"]))[n][0]
        solver = z3.Solver()
        solver.set("timeout", 5_000)
        solver.add(ranges, z3.Or(runs != still_runs, z3.And(runs, value != new_value)))
        outcome = solver.check()
        assert outcome != z3.sat, "\n".join(lines[n]) + f"\nat {solver.model()} became\n{after.get(n)}"
        unknown += outcome == z3.unknown
    assert unknown <= count // 10, f"{unknown} of {count} cases are too hard for z3"
