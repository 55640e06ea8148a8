// Matching rules against expressions and building what they promise.

#include "src/ir/simplify_pattern.h"

#include <cmath>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify_context.h"
#include "src/ir/typing.h"

namespace tw::ir {
namespace {

using Kind = Pattern::Kind;

struct Match {
  const Expr* any[3] = {};
  std::optional<int64_t> constants[2];
};

const Expr& without_broadcast(const Expr& e) {
  const auto* b = as<Broadcast>(e);
  return b ? b->value : e;
}

bool is_constant_in_all_lanes(const Expr& e) {
  const Expr& scalar = without_broadcast(e);
  return as<IntImm>(scalar) || as<FloatImm>(scalar);
}

bool is_literal(const Expr& e, int value) {
  const Expr& scalar = without_broadcast(e);
  if (const auto* f = as<FloatImm>(scalar)) return f->value == value && !std::signbit(f->value);
  return is_int(scalar, value);
}

bool matches(const Pattern& p, const Expr& e, Match& m) {
  switch (p->kind) {
    case Kind::kAny:
      if (!m.any[p->value]) {
        m.any[p->value] = &e;
        return true;
      }
      return identical(*m.any[p->value], e);
    case Kind::kConstant: {
      const auto value = as_int(e);
      if (!value || (m.constants[p->value] && m.constants[p->value] != value)) return false;
      m.constants[p->value] = value;
      return true;
    }
    case Kind::kLiteral:
      return is_literal(e, p->value);
    case Kind::kBinary: {
      const auto* b = as<Binary>(e);
      return b && b->op == p->op && matches(p->children[0], b->a, m) && matches(p->children[1], b->b, m);
    }
    case Kind::kNot: {
      const auto* n = as<Not>(e);
      return n && matches(p->children[0], n->a, m);
    }
    case Kind::kSelect: {
      const auto* s = as<Select>(e);
      return s && matches(p->children[0], s->cond, m) && matches(p->children[1], s->yes, m) &&
             matches(p->children[2], s->no, m);
    }
    default:
      return false;  // lo, hi and the predicates stand in conditions only
  }
}

bool is_numeric(const Pattern& p) {
  if (p->kind == Kind::kConstant || p->kind == Kind::kLiteral) return true;
  return p->kind == Kind::kBinary && is_numeric(p->children[0]) && is_numeric(p->children[1]);
}

// The number that a condition or a constant of the right side stands for; none when an end is unknown or 64 bits are
// left.
class Evaluator {
 public:
  Evaluator(const Match& match, Simplifier& simplifier, bool wraps)
      : match_(match), simplifier_(simplifier), wraps_(wraps) {}

  std::optional<int64_t> operator()(const Pattern& p) const {
    switch (p->kind) {
      case Kind::kConstant:
        return match_.constants[p->value];
      case Kind::kLiteral:
        return p->value;
      case Kind::kLow:
        return finite(simplifier_.interval(*match_.any[p->value]).lo);
      case Kind::kHigh:
        return finite(simplifier_.interval(*match_.any[p->value]).hi);
      case Kind::kIsInteger:
        return match_.any[p->value]->type().is_integer();
      case Kind::kIsExact:
        return !match_.any[p->value]->type().is_float();
      case Kind::kIsConstant:
        return is_constant_in_all_lanes(*match_.any[p->value]);
      case Kind::kNot:
        return (*this)(p->children[0]) == 0;
      case Kind::kBinary:
        return evaluate(*p.operator->());
      default:
        return std::nullopt;
    }
  }

 private:
  static std::optional<int64_t> finite(int64_t end) {
    if (end == Interval::kNegInf || end == Interval::kPosInf) return std::nullopt;
    return end;
  }

  std::optional<int64_t> evaluate(const PatternNode& p) const {
    const auto a = (*this)(p.children[0]);
    if (!a) return std::nullopt;
    if (p.op == BinOp::kAnd && *a == 0) return 0;
    const auto b = (*this)(p.children[1]);
    if (!b) return std::nullopt;
    int64_t out = 0;
    switch (p.op) {
      case BinOp::kAdd:
        return __builtin_add_overflow(*a, *b, &out) && !wraps_ ? std::nullopt : std::optional(out);
      case BinOp::kSub:
        return __builtin_sub_overflow(*a, *b, &out) && !wraps_ ? std::nullopt : std::optional(out);
      case BinOp::kMul:
        return __builtin_mul_overflow(*a, *b, &out) && !wraps_ ? std::nullopt : std::optional(out);
      case BinOp::kFloorDiv:
        return floor_div(*a, *b);
      case BinOp::kFloorMod:
        return floor_mod(*a, *b);
      case BinOp::kAnd:
        return *b;
      case BinOp::kLt:
        return *a < *b;
      case BinOp::kLe:
        return *a <= *b;
      case BinOp::kGe:
        return *a >= *b;
      case BinOp::kEq:
        return *a == *b;
      case BinOp::kNe:
        return *a != *b;
      default:
        return std::nullopt;
    }
  }

  const Match& match_;
  Simplifier& simplifier_;
  bool wraps_;
};

Expr instantiate(const Pattern& p, const Match& match, Type type, const Evaluator& number, Simplifier& simplifier) {
  if (is_numeric(p)) {
    const auto value = number(p);
    return value ? type.is_float() ? float_imm(type, static_cast<double>(*value)) : int_imm(type, *value) : Expr();
  }
  if (p->kind == Kind::kAny) return *match.any[p->value];
  // Comparisons of bound expressions have their operands' type, not the result's; those rules bind no constants.
  std::vector<Expr> parts;
  for (const Pattern& child : p->children) {
    parts.push_back(instantiate(child, match, type, number, simplifier));
    if (!parts.back()) return {};
  }
  if (p->kind == Kind::kBinary) return simplifier.make(p->op, parts[0], parts[1]);
  if (p->kind == Kind::kNot) return simplifier.make_not(parts[0]);
  return simplifier.make_select(parts[0], parts[1], parts[2]);
}

Pattern pair(BinOp op, Pattern a, Pattern b) { return Pattern(Kind::kBinary, 0, op, {std::move(a), std::move(b)}); }
Pattern about(Kind kind, const Pattern& wildcard) { return Pattern(kind, wildcard->value); }

}  // namespace

Pattern::Pattern(int literal) : Pattern(Kind::kLiteral, literal) {}
Pattern::Pattern(Kind kind, int slot, BinOp op, std::vector<Pattern> children)
    : node_(std::make_shared<const PatternNode>(PatternNode{kind, slot, op, std::move(children)})) {}

Pattern operator+(Pattern a, Pattern b) { return pair(BinOp::kAdd, a, b); }
Pattern operator-(Pattern a, Pattern b) { return pair(BinOp::kSub, a, b); }
Pattern operator*(Pattern a, Pattern b) { return pair(BinOp::kMul, a, b); }
Pattern operator/(Pattern a, Pattern b) { return pair(BinOp::kFloorDiv, a, b); }
Pattern operator%(Pattern a, Pattern b) { return pair(BinOp::kFloorMod, a, b); }
Pattern operator<(Pattern a, Pattern b) { return pair(BinOp::kLt, a, b); }
Pattern operator<=(Pattern a, Pattern b) { return pair(BinOp::kLe, a, b); }
Pattern operator>(Pattern a, Pattern b) { return pair(BinOp::kGt, a, b); }
Pattern operator>=(Pattern a, Pattern b) { return pair(BinOp::kGe, a, b); }
Pattern operator==(Pattern a, Pattern b) { return pair(BinOp::kEq, a, b); }
Pattern operator!=(Pattern a, Pattern b) { return pair(BinOp::kNe, a, b); }
Pattern operator&&(Pattern a, Pattern b) { return pair(BinOp::kAnd, a, b); }
Pattern operator||(Pattern a, Pattern b) { return pair(BinOp::kOr, a, b); }
Pattern operator!(Pattern a) { return Pattern(Kind::kNot, 0, BinOp::kAdd, {std::move(a)}); }
Pattern binary(BinOp op, Pattern a, Pattern b) { return pair(op, a, b); }
Pattern select(Pattern cond, Pattern yes, Pattern no) {
  return Pattern(Kind::kSelect, 0, BinOp::kAdd, {cond, yes, no});
}
Pattern lo(Pattern x) { return about(Kind::kLow, x); }
Pattern hi(Pattern x) { return about(Kind::kHigh, x); }
Pattern is_integer(Pattern x) { return about(Kind::kIsInteger, x); }
Pattern is_exact(Pattern x) { return about(Kind::kIsExact, x); }

Pattern is_constant(Pattern x) { return about(Kind::kIsConstant, x); }

std::string to_string(const Pattern& p) {
  const auto list = [&](const std::string& head) {
    std::string out = "(" + head;
    for (const Pattern& child : p->children) out += " " + to_string(child);
    return out + ")";
  };
  const std::string wildcard(1, "xyz"[p->kind == Kind::kLiteral ? 0 : p->value]);
  switch (p->kind) {
    case Kind::kAny:
      return wildcard;
    case Kind::kConstant:
      return "c" + std::to_string(p->value + 1);
    case Kind::kLiteral:
      return std::to_string(p->value);
    case Kind::kBinary:
      return list(name_of(p->op));
    case Kind::kNot:
      return list("not");
    case Kind::kSelect:
      return list("select");
    case Kind::kLow:
      return "(lo " + wildcard + ")";
    case Kind::kHigh:
      return "(hi " + wildcard + ")";
    case Kind::kIsInteger:
      return "(is_integer " + wildcard + ")";
    case Kind::kIsExact:
      return "(is_exact " + wildcard + ")";
    case Kind::kIsConstant:
      return "(is_constant " + wildcard + ")";
  }
  return {};
}

Expr apply_first(const std::vector<Rule>& rules, const Expr& e, Simplifier& simplifier) {
  for (const Rule& rule : rules) {
    Match match;
    if (!matches(rule.from, e, match)) continue;
    const Evaluator condition(match, simplifier, false);
    if (condition(rule.when).value_or(0) == 0) continue;
    const Evaluator number(match, simplifier, !e.type().is_index());
    const Expr out = instantiate(rule.to, match, e.type(), number, simplifier);
    if (static_cast<bool>(out) && out.type() == e.type()) return out;
  }
  return {};
}

}  // namespace tw::ir
