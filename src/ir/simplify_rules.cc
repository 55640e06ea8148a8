// The rules of the simplifier, one a line. Each is proved over all small values in ir_simplify_rules_test.cc.
//
// index_rule: integers that do not overflow. Sums, multiples, and sums under / and % are not here: simplify_linear.h
// puts them into normal form before any rule is asked. data_rule: two's-complement integers that wrap, IEEE floats,
// bools. What holds for floats as well has no is_integer.

#include <array>

#include "src/ir/simplify_pattern.h"

namespace tw::ir {
namespace {

using Kind = Pattern::Kind;

struct Table {
  static constexpr size_t kOps = static_cast<size_t>(BinOp::kShr) + 1;
  std::array<std::vector<Rule>, kOps + 2> by_root;
  std::vector<Rule> none;

  explicit Table(const std::vector<Rule>& rules) {
    for (const Rule& r : rules) {
      const size_t slot = r.from->kind == Kind::kNot      ? kOps
                          : r.from->kind == Kind::kSelect ? kOps + 1
                                                          : static_cast<size_t>(r.from->op);
      by_root[slot].push_back(r);
    }
  }
  std::vector<Rule> all() const {
    std::vector<Rule> out;
    for (const auto& rules : by_root) out.insert(out.end(), rules.begin(), rules.end());
    return out;
  }
  const std::vector<Rule>& of(const ExprNode& root) const {
    if (const auto* b = std::get_if<Binary>(&root.kind)) return by_root[static_cast<size_t>(b->op)];
    if (std::holds_alternative<Not>(root.kind)) return by_root[kOps];
    if (std::holds_alternative<Select>(root.kind)) return by_root[kOps + 1];
    return none;
  }
};

const Pattern x(Kind::kAny, 0), y(Kind::kAny, 1), z(Kind::kAny, 2);
const Pattern c1(Kind::kConstant, 0), c2(Kind::kConstant, 1);

Pattern min(Pattern a, Pattern b) { return binary(BinOp::kMin, a, b); }
Pattern max(Pattern a, Pattern b) { return binary(BinOp::kMax, a, b); }
Pattern trunc_div(Pattern a, Pattern b) { return binary(BinOp::kTruncDiv, a, b); }
Pattern trunc_mod(Pattern a, Pattern b) { return binary(BinOp::kTruncMod, a, b); }
Pattern float_div(Pattern a, Pattern b) { return binary(BinOp::kDiv, a, b); }
Pattern bit_and(Pattern a, Pattern b) { return binary(BinOp::kBitAnd, a, b); }
Pattern bit_or(Pattern a, Pattern b) { return binary(BinOp::kBitOr, a, b); }
Pattern bit_xor(Pattern a, Pattern b) { return binary(BinOp::kBitXor, a, b); }
Pattern shl(Pattern a, Pattern b) { return binary(BinOp::kShl, a, b); }
Pattern shr(Pattern a, Pattern b) { return binary(BinOp::kShr, a, b); }

Rule index_rule(const char* name, Pattern from, Pattern to, Pattern when = 1) { return {name, from, to, when}; }
Rule data_rule(const char* name, Pattern from, Pattern to, Pattern when = 1) { return {name, from, to, when}; }

const Table& index_table() {
  static const Table table({
      index_rule("quotient of a quotient", (x / c1) / c2, x / (c1 * c2), c1 >= 1 && c2 >= 1),
      index_rule("quotient of a remainder", (x % c1) / c2, (x / c2) % (c1 / c2), c1 >= 1 && c2 >= 1 && c1 % c2 == 0),
      index_rule("remainder of a remainder", (x % c1) % c2, x % c2, c1 >= 1 && c2 >= 1 && c1 % c2 == 0),
      index_rule("quotient by zero", x / 0, 0),
      index_rule("quotient by one", x / 1, x),
      index_rule("quotient by a negative number", x / c1, (0 - x) / (0 - c1), c1 < 0),
      index_rule("remainder by zero", x % 0, 0),
      index_rule("remainder by one", x % 1, 0),
      index_rule("remainder by a negative number", x % c1, 0 - (0 - x) % (0 - c1), c1 < 0),
      index_rule("truncated quotient by zero", trunc_div(x, 0), 0),
      index_rule("truncated quotient by one", trunc_div(x, 1), x),
      index_rule("truncated remainder by zero", trunc_mod(x, 0), 0),
      index_rule("truncated remainder by one", trunc_mod(x, 1), 0),
      index_rule("truncated quotient of naturals", trunc_div(x, y), x / y, lo(x) >= 0 && lo(y) >= 1),
      index_rule("truncated remainder of naturals", trunc_mod(x, y), x % y, lo(x) >= 0 && lo(y) >= 1),
      index_rule("quotient of equals", x / x, 1, lo(x) >= 1),
      index_rule("remainder of equals", x % x, 0),
      index_rule("quotient of a small number", x / y, 0, lo(x) >= 0 && lo(y) >= hi(x) + 1),
      index_rule("remainder of a small number", x % y, x, lo(x) >= 0 && lo(y) >= hi(x) + 1),

      index_rule("min of one", min(x, x), x),
      index_rule("max of one", max(x, x), x),
      index_rule("min of a min, inner larger", min(min(x, c1), c2), min(x, c2), c2 < c1),
      index_rule("min of a min, inner smaller", min(min(x, c1), c2), min(x, c1), c1 <= c2),
      index_rule("max of a max, inner larger", max(max(x, c1), c2), max(x, c1), c2 < c1),
      index_rule("max of a max, inner smaller", max(max(x, c1), c2), max(x, c2), c1 <= c2),
      index_rule("min with its left operand", min(min(x, y), x), min(x, y)),
      index_rule("min with its right operand", min(min(x, y), y), min(x, y)),
      index_rule("max with its left operand", max(max(x, y), x), max(x, y)),
      index_rule("max with its right operand", max(max(x, y), y), max(x, y)),
      index_rule("min absorbs max, left", min(max(x, y), x), x),
      index_rule("min absorbs max, right", min(max(x, y), y), y),
      index_rule("max absorbs min, left", max(min(x, y), x), x),
      index_rule("max absorbs min, right", max(min(x, y), y), y),

      index_rule("select of true", select(1, x, y), x),
      index_rule("select of false", select(0, x, y), y),
      index_rule("select of one", select(x, y, y), y),
      index_rule("select of a negation", select(!x, y, z), select(x, z, y)),
  });
  return table;
}

const Table& data_table() {
  static const Table table({
      data_rule("constants last in a sum", x + y, y + x, is_constant(x) && !is_constant(y)),
      data_rule("constants last in a product", x * y, y * x, is_constant(x) && !is_constant(y)),
      data_rule("constants last in a min", min(x, y), min(y, x), is_exact(x) && is_constant(x) && !is_constant(y)),
      data_rule("constants last in a max", max(x, y), max(y, x), is_exact(x) && is_constant(x) && !is_constant(y)),
      data_rule("constants last in bits and", bit_and(x, y), bit_and(y, x), is_constant(x) && !is_constant(y)),
      data_rule("constants last in bits or", bit_or(x, y), bit_or(y, x), is_constant(x) && !is_constant(y)),
      data_rule("constants last in bits xor", bit_xor(x, y), bit_xor(y, x), is_constant(x) && !is_constant(y)),
      data_rule("constants last in equal", x == y, y == x, is_constant(x) && !is_constant(y)),
      data_rule("constants last in unequal", x != y, y != x, is_constant(x) && !is_constant(y)),

      data_rule("add zero", x + 0, x, is_integer(x)),
      data_rule("subtract zero", x - 0, x),  // of floats too: -0.0 - +0.0 is -0.0
      data_rule("multiply by one", x * 1, x),
      data_rule("multiply by zero", x * 0, 0, is_integer(x)),
      data_rule("difference of one", x - x, 0, is_integer(x)),
      data_rule("constants of a sum", (x + c1) + c2, x + (c1 + c2), is_integer(x)),
      data_rule("constants of a product", (x * c1) * c2, x * (c1 * c2), is_integer(x)),
      data_rule("divide by one", float_div(x, 1), x),
      data_rule("quotient by one", x / 1, x),
      data_rule("quotient by zero", x / 0, 0),
      data_rule("remainder by one", x % 1, 0),
      data_rule("remainder by zero", x % 0, 0),
      data_rule("remainder of a small number", x % c1, x, lo(x) >= 0 && hi(x) < c1),
      data_rule("truncated quotient by one", trunc_div(x, 1), x),
      data_rule("truncated quotient by zero", trunc_div(x, 0), 0),
      data_rule("truncated remainder by one", trunc_mod(x, 1), 0),
      data_rule("truncated remainder by zero", trunc_mod(x, 0), 0),
      data_rule("truncated remainder of a small number", trunc_mod(x, c1), x, lo(x) >= 0 && hi(x) < c1),

      data_rule("min of one", min(x, x), x),
      data_rule("max of one", max(x, x), x),
      data_rule("min is left by range", min(x, y), x, hi(x) <= lo(y)),
      data_rule("min is right by range", min(x, y), y, hi(y) <= lo(x)),
      data_rule("max is left by range", max(x, y), x, lo(x) >= hi(y)),
      data_rule("max is right by range", max(x, y), y, lo(y) >= hi(x)),

      data_rule("bits and itself", bit_and(x, x), x),
      data_rule("bits and none", bit_and(x, 0), 0),
      data_rule("bits and all", bit_and(x, -1), x),
      data_rule("bits or itself", bit_or(x, x), x),
      data_rule("bits or none", bit_or(x, 0), x),
      data_rule("bits or all", bit_or(x, -1), -1),
      data_rule("bits xor itself", bit_xor(x, x), 0),
      data_rule("bits xor none", bit_xor(x, 0), x),
      data_rule("shift left by none", shl(x, 0), x),
      data_rule("shift right by none", shr(x, 0), x),

      data_rule("less than itself", x < x, 0),
      data_rule("at most itself", x <= x, 1, is_exact(x)),
      data_rule("equals itself", x == x, 1, is_exact(x)),
      data_rule("differs from itself", x != x, 0, is_exact(x)),

      data_rule("greater", x > y, y < x),
      data_rule("at least", x >= y, y <= x),
      data_rule("less by range", x < y, 1, is_integer(x) && hi(x) < lo(y)),
      data_rule("not less by range", x < y, 0, is_integer(x) && hi(y) <= lo(x)),
      data_rule("at most by range", x <= y, 1, is_integer(x) && hi(x) <= lo(y)),
      data_rule("not at most by range", x <= y, 0, is_integer(x) && hi(y) < lo(x)),
      data_rule("below, so not equal", x == y, 0, is_integer(x) && hi(x) < lo(y)),
      data_rule("above, so not equal", x == y, 0, is_integer(x) && hi(y) < lo(x)),
      data_rule("equal points", x == y, 1, is_integer(x) && hi(x) <= lo(y) && hi(y) <= lo(x)),
      data_rule("below, so unequal", x != y, 1, is_integer(x) && hi(x) < lo(y)),
      data_rule("above, so unequal", x != y, 1, is_integer(x) && hi(y) < lo(x)),
      data_rule("not unequal points", x != y, 0, is_integer(x) && hi(x) <= lo(y) && hi(y) <= lo(x)),

      data_rule("and of one", x && x, x),
      data_rule("and true", x && 1, x),
      data_rule("true and", 1 && x, x),
      data_rule("and false", x && 0, 0),
      data_rule("false and", 0 && x, 0),
      data_rule("and its negation", x && !x, 0),
      data_rule("negation and itself", !x && x, 0),
      data_rule("and with its left operand", (x && y) && x, x && y),
      data_rule("and with its right operand", (x && y) && y, x && y),
      data_rule("or of one", x || x, x),
      data_rule("or false", x || 0, x),
      data_rule("false or", 0 || x, x),
      data_rule("or true", x || 1, 1),
      data_rule("true or", 1 || x, 1),
      data_rule("or its negation", x || !x, 1),
      data_rule("negation or itself", !x || x, 1),
      data_rule("not true", !Pattern(1), 0),
      data_rule("not false", !Pattern(0), 1),
      data_rule("double negation", !(!x), x),
      data_rule("not equal", !(x == y), x != y),
      data_rule("not unequal", !(x != y), x == y),
      data_rule("not less", !(x < y), y <= x, is_exact(x)),
      data_rule("not at most", !(x <= y), y < x, is_exact(x)),

      data_rule("select of true", select(1, x, y), x),
      data_rule("select of false", select(0, x, y), y),
      data_rule("select of one", select(x, y, y), y),
      data_rule("select of true and false", select(x, 1, 0), x),  // bools only: the types of both sides of a rule agree
      data_rule("select of a negation", select(!x, y, z), select(x, z, y)),
  });
  return table;
}

}  // namespace

const std::vector<Rule>& index_rules(const ExprNode& root) { return index_table().of(root); }
const std::vector<Rule>& data_rules(const ExprNode& root) { return data_table().of(root); }

std::vector<Rule> all_index_rules() { return index_table().all(); }
std::vector<Rule> all_data_rules() { return data_table().all(); }

}  // namespace tw::ir
