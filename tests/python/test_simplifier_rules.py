"""Every rule of the simplifier is proved by z3 for its own domain.

Index rules hold for all integers; data rules for bit vectors of 8 to 64 bits with and without a sign, for bools, and for floats where
they are not restricted to integers. lo(x) and hi(x) are any numbers that x is not below, not above.
"""

import functools
import pathlib
import re
import subprocess

import pytest

import tensorwright as tw

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: python/requirements-dev.txt")
TW_OPT = pathlib.Path(tw.__file__).parent / "tw-opt"
pytestmark = pytest.mark.skipif(not TW_OPT.exists(), reason="tw-opt is not built: it needs CLI11")

from simplifier_domains import DATA, INTEGERS, Bools, Floats, Words  # noqa: E402 (which needs z3)

TIMEOUT_MS = 300_000  # of the clock: on a machine that is busy with other things a proof of seconds takes a minute


# ---------------------------------------------------------------------------------------------------- rules as trees


def tree(text):
    """(// (// x c1) c2) as nested lists."""
    words = re.findall(r"[()]|[^\s()]+", text)

    def read(at):
        if words[at] != "(":
            return words[at], at + 1
        out, at = [], at + 1
        while words[at] != ")":
            child, at = read(at)
            out.append(child)
        return out, at + 1

    return read(0)[0]


class Rule:
    def __init__(self, line):
        self.table, self.name, *parts = line.split("\t")
        self.source, self.target, self.when = (tree(part) for part in parts)

    def __repr__(self):
        return f"{self.table}: {self.name}"

    def heads(self, node=None):
        node = self.source if node is None else node
        return {node[0]}.union(*(self.heads(child) for child in node[1:])) if isinstance(node, list) else set()

    def asks(self, *heads):
        def found(node):
            return isinstance(node, list) and (node[0] in heads or any(map(found, node[1:])))

        return found(self.when)

    def uses_constants(self):
        return "c1" in str(self.source)


@functools.cache
def rules():
    out = subprocess.run([TW_OPT, "--rules"], capture_output=True, text=True, check=True).stdout
    return [Rule(line) for line in out.splitlines()]


LOGIC = {"and", "or", "not"}
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}


def bools_of(node, needs_bool=False):
    """Wildcards that stand where only a bool can."""
    if isinstance(node, str):
        return {node} if needs_bool and node in "xyz" else set()
    out = set()
    for n, child in enumerate(node[1:]):
        plain = isinstance(child, str) or child[0] in LOGIC
        out |= bools_of(child, plain and (node[0] in LOGIC or (node[0] == "select" and n == 0)))
    return out


def applies(rule, domain):
    """Whether the operators of the rule exist in the domain, and its condition can hold there."""
    heads = rule.heads() - LOGIC - {"select"}
    if isinstance(domain, Floats):
        integers = {"//", "%", "truncdiv", "truncmod", "&", "|", "^", "<<", ">>"}
        return not heads & integers and not rule.uses_constants() and not rule.asks("lo", "hi")
    if isinstance(domain, Bools):
        return heads <= COMPARISONS and not rule.uses_constants() and not rule.asks("lo", "hi")
    return "/" not in heads


# ---------------------------------------------------------------------------------------------------- proofs


class Proof:
    """One rule in one domain: its terms, and what is assumed about the ends that its condition names."""

    def __init__(self, rule, domain):
        self.rule, self.domain = rule, domain
        self.bools = bools_of(rule.source)
        self.known = []

    def leaf(self, word):
        if word in ("x", "y", "z"):
            return z3.Bool(word) if word in self.bools else self.domain.wildcard(word)
        if word in ("c1", "c2"):
            return self.domain.constant(word)
        return self.domain.literal(int(word))

    def term(self, node, wants_bool=False):
        if isinstance(node, str):
            is_number = re.fullmatch(r"-?\d+", node)
            return z3.BoolVal(bool(int(node))) if wants_bool and is_number else self.leaf(node)
        head, *children = node
        if head in LOGIC:
            parts = [self.term(child, True) for child in children]
            return {"and": z3.And, "or": z3.Or, "not": z3.Not}[head](*parts)
        if head == "select":
            cond, yes, no = children
            return z3.If(self.term(cond, True), self.term(yes, wants_bool), self.term(no, wants_bool))
        a, b = (self.term(child) for child in children)
        return self.domain.apply(head, a, b)

    def end(self, kind, name):
        value = self.domain.number(self.leaf(name))
        end = z3.Const(f"{kind}_{name}", value.sort())
        self.known.append(end <= value if kind == "lo" else value <= end)
        return end

    def condition(self, node):
        """Over numbers, as the simplifier evaluates it."""
        if isinstance(node, str):
            if node in ("c1", "c2"):
                # A constant of 64 bits is its bit pattern with a sign.
                wide = isinstance(self.domain, Words) and self.domain.bits == 64
                return Words(64, True).number(self.leaf(node)) if wide else self.domain.number(self.leaf(node))
            return z3.BitVecVal(int(node), Words.WIDE) if isinstance(self.domain, Words) else z3.IntVal(int(node))
        head, *children = node
        if head in ("lo", "hi"):
            return self.end(head, children[0])
        if head in ("is_integer", "is_exact"):
            return z3.BoolVal(getattr(self.domain, head))
        if head == "is_constant" or (head == "not" and children[0][0] == "is_constant"):
            return z3.BoolVal(True)  # of the form of an operand: says nothing about values
        if head == "and":
            return z3.And(*(self.condition(child) for child in children))
        a, b = (self.condition(child) for child in children)
        return (Words(Words.WIDE, True) if isinstance(self.domain, Words) else INTEGERS).apply(head, a, b)

    def hypotheses(self):
        when = z3.BoolVal(True) if self.rule.when == "1" else self.condition(self.rule.when)
        return [when, *self.known]

    def goal(self):
        """None when the two sides have different types: no such term is rewritten."""
        source = self.term(self.rule.source)
        target = self.term(self.rule.target, z3.is_bool(source))
        return source == target if source.sort() == target.sort() else None


def follows(hypotheses, goal):
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MS)
    solver.add(*hypotheses, z3.Not(goal))
    return solver.check() == z3.unsat


def lemmas(rule):
    """Steps that z3 does not find by itself; each is proved before it is used. d, q, r: x = d*q + r with 0 <= r < d."""
    x, c1, c2 = z3.Ints("x c1 c2")
    k, q, r = c1 / c2, x / c1, x % c1
    split = [c1 == c2 * k, x == c1 * q + r, 0 <= r, r < c1, x == c2 * (k * q) + r]
    low, high = r % c2, r / c2
    parts = [r == c2 * high + low, 0 <= low, low < c2, x == c2 * (k * q + high) + low]
    if rule.name == "remainder of a remainder":
        return [*split, *parts, x / c2 == k * q + high, x % c2 == low]
    if rule.name == "quotient of a remainder":
        return [*split, *parts, x / c2 == k * q + high, k >= 1, 0 <= high, c2 * high < c2 * k, high < k, (k * q + high) / k == q, (k * q + high) % k == high]
    return []


def prove(rule, domain):
    """True, False, or None when the rule says nothing about the domain."""
    if not applies(rule, domain):
        return None
    proof = Proof(rule, domain)
    hypotheses, goal = proof.hypotheses(), proof.goal()
    if goal is None:
        return None
    possible = z3.Solver()
    possible.set("timeout", TIMEOUT_MS)
    possible.add(*hypotheses)
    if possible.check() == z3.unsat:
        return None
    for lemma in lemmas(rule):
        if not follows(hypotheses, lemma):
            return False
        hypotheses.append(lemma)
    return follows(hypotheses, goal)


def proved(rule):
    """The domains in which the rule was proved; raises where it does not hold."""
    out = []
    for domain in [INTEGERS] if rule.table == "index" else DATA:
        outcome = prove(rule, domain)
        assert outcome is not False, f"{rule} is not proved over {domain.name}"
        if outcome:
            out.append(domain.name)
    return out


def test_every_rule_is_proved():
    assert len(rules()) > 80 and {rule.table for rule in rules()} == {"index", "data"}
    for rule in rules():
        assert proved(rule), f"{rule} has no proof: it applies to no domain"


WRONG = [
    "index\tquotients add up\t(// (+ x y) c1)\t(+ (// x c1) (// y c1))\t(>= c1 1)",
    "index\tremainder of a remainder\t(% (% x c1) c2)\t(% x c2)\t(and (>= c1 1) (>= c2 1))",
    "index\tmin by a bound that is off by one\t(min x y)\tx\t(< (lo x) (hi y))",
    "index\tquotient by a negative number\t(// x c1)\t(- 0 (// x (- 0 c1)))\t(< c1 0)",
    "data\tmultiply and divide\t(// (* x c1) c1)\tx\t(and (is_integer x) (>= c1 1))",
    "data\tadd zero to a float\t(+ x 0)\tx\t1",
    "data\tequals itself\t(== x x)\t1\t1",
    "data\tnot less\t(not (< x y))\t(<= y x)\t1",
    "data\tmin of floats in any order\t(min x y)\t(min y x)\t1",
    "data\tmore is less\t(< (+ x 1) y)\t(< x y)\t(is_integer x)",
]


@pytest.mark.parametrize("line", WRONG, ids=lambda line: line.split("\t")[1])
def test_a_wrong_rule_is_found(line):
    with pytest.raises(AssertionError, match="is not proved over"):
        proved(Rule(line))
