// Each rule of the two tables, proved by trying: data rules over all 8-bit integers and over the floats that matter,
// index rules over small integers. lo(x) and hi(x) are taken as x itself, the most that a condition can know.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify_fold.h"
#include "src/ir/simplify_pattern.h"

namespace tw::ir {
namespace {

using Kind = Pattern::Kind;

struct Values {
  Expr any[3];
  int64_t constants[2];
};

bool is_logic(BinOp op) { return op == BinOp::kAnd || op == BinOp::kOr; }

bool is_wildcard_or_logic(const Pattern& p) {
  return p->kind == Kind::kAny || p->kind == Kind::kNot || (p->kind == Kind::kBinary && is_logic(p->op));
}

// Wildcards that stand where only a bool can.
void find_bools(const Pattern& p, bool needs_bool, bool (&is_bool)[3]) {
  if (p->kind == Kind::kAny) is_bool[p->value] |= needs_bool;
  const bool logic = (p->kind == Kind::kBinary && is_logic(p->op)) || p->kind == Kind::kNot;
  for (size_t i = 0; i < p->children.size(); ++i) {
    const bool here = logic || (p->kind == Kind::kSelect && i == 0);
    find_bools(p->children[i], here && is_wildcard_or_logic(p->children[i]), is_bool);
  }
}

bool mentions(const Pattern& p, Kind kind, int slot) {
  if (p->kind == kind && p->value == slot) return true;
  for (const Pattern& child : p->children)
    if (mentions(child, kind, slot)) return true;
  return false;
}

// The constant that `p` stands for; literals and constants take the type `t`.
Expr value_of(const Pattern& p, const Values& v, Type t) {
  switch (p->kind) {
    case Kind::kAny:
      return v.any[p->value];
    case Kind::kConstant:
      return int_imm(t, v.constants[p->value]);
    case Kind::kLiteral:
      return imm(t, p->value);
    case Kind::kNot:
      return boolean(!*as_int(value_of(p->children[0], v, Type::boolean())));
    case Kind::kSelect: {
      const Expr cond = value_of(p->children[0], v, Type::boolean());
      return value_of(p->children[*as_int(cond) ? 1 : 2], v, t);
    }
    case Kind::kBinary: {
      const Type operand = is_logic(p->op) ? Type::boolean() : t;
      const Expr a = value_of(p->children[0], v, operand), b = value_of(p->children[1], v, operand);
      return fold(p->op, a, b);
    }
    default:
      TW_CHECK(false, "a condition");
      return {};
  }
}

// The condition over exact integers; false for anything that is asked of a float.
int64_t holds(const Pattern& p, const Values& v) {
  const auto number = [&](int slot) { return as_int(v.any[slot]).value_or(0); };
  switch (p->kind) {
    case Kind::kConstant:
      return v.constants[p->value];
    case Kind::kLiteral:
      return p->value;
    case Kind::kLow:
    case Kind::kHigh:
      return number(p->value);
    case Kind::kIsInteger:
      return v.any[p->value].type().is_integer();
    case Kind::kIsExact:
      return !v.any[p->value].type().is_float();
    case Kind::kIsConstant:  // of the form, which decides nothing about values
    case Kind::kNot:
      return 1;
    default:
      break;
  }
  const int64_t a = holds(p->children[0], v);
  if (p->op == BinOp::kAnd && !a) return 0;
  const int64_t b = holds(p->children[1], v);
  const Type t = is_logic(p->op) ? Type::boolean() : Type::i(64);
  return *as_int(fold(p->op, int_imm(t, a), int_imm(t, b)));
}

bool asks_for_ends(const Pattern& p) {
  if (p->kind == Kind::kLow || p->kind == Kind::kHigh) return true;
  for (const Pattern& child : p->children)
    if (asks_for_ends(child)) return true;
  return false;
}

bool has_op(const Pattern& p, BinOp op) {
  if (p->kind == Kind::kBinary && p->op == op) return true;
  for (const Pattern& child : p->children)
    if (has_op(child, op)) return true;
  return false;
}

// Whether the operators of the rule exist for the type.
bool applies(const Rule& rule, Type t) {
  bool only_bools[3] = {};
  find_bools(rule.from, false, only_bools);
  const BinOp integers[] = {BinOp::kFloorDiv, BinOp::kFloorMod, BinOp::kTruncDiv, BinOp::kTruncMod, BinOp::kBitAnd,
                            BinOp::kBitOr,    BinOp::kBitXor,   BinOp::kShl,      BinOp::kShr};
  for (const BinOp op : integers)
    if (t.is_float() && has_op(rule.from, op)) return false;
  if (t.is_float() && asks_for_ends(rule.when)) return false;
  if (t.is_bool()) return rule.from->kind == Kind::kSelect;
  return !has_op(rule.from, BinOp::kDiv) || t.is_float();
}

size_t prove(const Rule& rule, Type t, const std::vector<Expr>& domain, const std::vector<int64_t>& constants) {
  bool is_bool[3] = {};
  find_bools(rule.from, false, is_bool);
  const std::vector<Expr> bools = {boolean(false), boolean(true)}, none = {boolean(false)};
  const auto domain_of = [&](int slot) -> const std::vector<Expr>& {
    if (!mentions(rule.from, Kind::kAny, slot)) return none;
    return is_bool[slot] ? bools : domain;
  };
  const std::vector<int64_t> one = {0};
  size_t proved = 0;
  Values v;
  for (const Expr& x : domain_of(0))
    for (const Expr& y : domain_of(1))
      for (const Expr& z : domain_of(2))
        for (int64_t c1 : mentions(rule.from, Kind::kConstant, 0) ? constants : one)
          for (int64_t c2 : mentions(rule.from, Kind::kConstant, 1) ? constants : one) {
            v = {{x, y, z}, {c1, c2}};
            if (!holds(rule.when, v)) continue;
            const Expr from = value_of(rule.from, v, t);
            if (!from) continue;  // left 64 bits
            const Expr to = value_of(rule.to, v, rule.to->kind == Kind::kLiteral ? from.type() : t);
            if (from.type() != to.type()) continue;  // nor does apply_first
            EXPECT_TRUE(equal(from, to)) << "rule " << to_string(from) << " -> " << to_string(to)
                                         << " with x = " << to_string(x) << ", y = " << to_string(y) << ", c1 = " << c1
                                         << ", c2 = " << c2;
            if (!equal(from, to)) return 0;
            ++proved;
          }
  return proved;
}

TEST(Rules, HaveOneNameEach) {
  std::set<std::string> names;
  for (const Rule& rule : all_index_rules()) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  names.clear();
  for (const Rule& rule : all_data_rules()) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
}

TEST(Rules, IndexRulesHoldForSmallIntegers) {
  std::vector<Expr> domain;
  std::vector<int64_t> constants;
  for (int64_t n = -13; n <= 13; ++n) domain.push_back(Expr(n)), constants.push_back(n);
  for (const Rule& rule : all_index_rules()) {
    SCOPED_TRACE(rule.name);
    EXPECT_GT(prove(rule, Type::index(), domain, constants), 0u);
  }
}

TEST(Rules, DataRulesHoldForAllBytes) {
  const std::vector<Rule> rules = all_data_rules();
  std::vector<size_t> proved(rules.size(), 0);
  for (const Type t : {Type::i(8), Type::u(8), Type::boolean()}) {
    std::vector<Expr> all, few;
    const Interval range = range_of(t);
    for (int64_t n = range.lo; n <= range.hi; ++n) all.push_back(int_imm(t, n));
    std::vector<int64_t> constants;
    for (int64_t n : {-128, -127, -2, -1, 0, 1, 2, 3, 7, 100, 127}) {
      few.push_back(int_imm(t, n));
      constants.push_back(*as_int(few.back()));
    }
    for (size_t n = 0; n < rules.size(); ++n) {
      SCOPED_TRACE(to_string(t) + " " + rules[n].name);
      if (applies(rules[n], t))
        proved[n] += prove(rules[n], t, mentions(rules[n].from, Kind::kAny, 2) ? few : all, constants);
    }
  }
  for (size_t n = 0; n < rules.size(); ++n)
    EXPECT_TRUE(proved[n] > 0 || has_op(rules[n].from, BinOp::kDiv)) << rules[n].name;
}

TEST(Rules, DataRulesHoldForFloats) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Type t : {Type::f(16), Type::f(32), Type::f(64)}) {
    std::vector<Expr> domain;
    for (double v : {0.0, -0.0, 1.0, -1.0, 2.5, 1e-7, -6e-8, 60000.0, infinity, -infinity, std::nan("")})
      domain.push_back(float_imm(t, v));
    for (const Rule& rule : all_data_rules()) {
      SCOPED_TRACE(to_string(t) + " " + rule.name);
      const bool constants = mentions(rule.from, Kind::kConstant, 0);  // integers only
      if (applies(rule, t) && !constants) prove(rule, t, domain, {});
    }
  }
}

}  // namespace
}  // namespace tw::ir
