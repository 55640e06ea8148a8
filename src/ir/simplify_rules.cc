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

Rule index_rule(Pattern from, Pattern to, Pattern when = 1) { return {from, to, when}; }
Rule data_rule(Pattern from, Pattern to, Pattern when = 1) { return {from, to, when}; }

const Table& index_table() {
  static const Table table({
      index_rule((x / c1) / c2, x / (c1 * c2), c1 >= 1 && c2 >= 1),
      index_rule((x % c1) / c2, (x / c2) % (c1 / c2), c1 >= 1 && c2 >= 1 && c1 % c2 == 0),
      index_rule((x % c1) % c2, x % c2, c1 >= 1 && c2 >= 1 && c1 % c2 == 0),
      index_rule(trunc_div(x, y), x / y, lo(x) >= 0 && lo(y) >= 1),
      index_rule(trunc_mod(x, y), x % y, lo(x) >= 0 && lo(y) >= 1),
      index_rule(x / y, 0, lo(x) >= 0 && lo(y) >= hi(x) + 1),
      index_rule(x % y, x, lo(x) >= 0 && lo(y) >= hi(x) + 1),

      index_rule(min(x, x), x),
      index_rule(max(x, x), x),
      index_rule(min(min(x, c1), c2), min(x, c2), c2 < c1),
      index_rule(min(min(x, c1), c2), min(x, c1), c1 <= c2),
      index_rule(max(max(x, c1), c2), max(x, c1), c2 < c1),
      index_rule(max(max(x, c1), c2), max(x, c2), c1 <= c2),
      index_rule(min(min(x, y), x), min(x, y)),
      index_rule(min(min(x, y), y), min(x, y)),
      index_rule(max(max(x, y), x), max(x, y)),
      index_rule(max(max(x, y), y), max(x, y)),
      index_rule(min(max(x, y), x), x),
      index_rule(min(max(x, y), y), y),
      index_rule(max(min(x, y), x), x),
      index_rule(max(min(x, y), y), y),

      index_rule(select(1, x, y), x),
      index_rule(select(0, x, y), y),
      index_rule(select(x, y, y), y),
      index_rule(select(!x, y, z), select(x, z, y)),
  });
  return table;
}

const Table& data_table() {
  static const Table table({
      data_rule(x + 0, x, is_integer(x)),
      data_rule(x - 0, x),  // of floats too: -0.0 - +0.0 is -0.0
      data_rule(x * 1, x),
      data_rule(x * 0, 0, is_integer(x)),
      data_rule(x - x, 0, is_integer(x)),
      data_rule((x + c1) + c2, x + (c1 + c2), is_integer(x)),
      data_rule((x * c1) * c2, x * (c1 * c2), is_integer(x)),
      data_rule(float_div(x, 1), x),
      data_rule(x / 1, x),
      data_rule(x / 0, 0),
      data_rule(x % 1, 0),
      data_rule(x % 0, 0),
      data_rule(x % c1, x, lo(x) >= 0 && hi(x) < c1),
      data_rule(trunc_div(x, 1), x),
      data_rule(trunc_div(x, 0), 0),
      data_rule(trunc_mod(x, 1), 0),
      data_rule(trunc_mod(x, 0), 0),
      data_rule(trunc_mod(x, c1), x, lo(x) >= 0 && hi(x) < c1),

      data_rule(min(x, x), x),
      data_rule(max(x, x), x),
      data_rule(min(x, y), x, hi(x) <= lo(y)),
      data_rule(min(x, y), y, hi(y) <= lo(x)),
      data_rule(max(x, y), x, lo(x) >= hi(y)),
      data_rule(max(x, y), y, lo(y) >= hi(x)),

      data_rule(bit_and(x, x), x),
      data_rule(bit_and(x, 0), 0),
      data_rule(bit_and(x, -1), x),
      data_rule(bit_or(x, x), x),
      data_rule(bit_or(x, 0), x),
      data_rule(bit_or(x, -1), -1),
      data_rule(bit_xor(x, x), 0),
      data_rule(bit_xor(x, 0), x),
      data_rule(shl(x, 0), x),
      data_rule(shr(x, 0), x),

      data_rule(x < x, 0),
      data_rule(x <= x, 1, is_exact(x)),
      data_rule(x == x, 1, is_exact(x)),
      data_rule(x != x, 0, is_exact(x)),

      data_rule(x && x, x),
      data_rule(x && 1, x),
      data_rule(1 && x, x),
      data_rule(x && 0, 0),
      data_rule(0 && x, 0),
      data_rule(x && !x, 0),
      data_rule(!x && x, 0),
      data_rule((x && y) && x, x && y),
      data_rule((x && y) && y, x && y),
      data_rule(x || x, x),
      data_rule(x || 0, x),
      data_rule(0 || x, x),
      data_rule(x || 1, 1),
      data_rule(1 || x, 1),
      data_rule(x || !x, 1),
      data_rule(!x || x, 1),
      data_rule(!(!x), x),
      data_rule(!(x == y), x != y),
      data_rule(!(x != y), x == y),
      data_rule(!(x < y), y <= x, is_exact(x)),
      data_rule(!(x <= y), y < x, is_exact(x)),

      data_rule(select(1, x, y), x),
      data_rule(select(0, x, y), y),
      data_rule(select(x, y, y), y),
      data_rule(select(x, 1, 0), x),  // bools only: the types of both sides of a rule agree
      data_rule(select(!x, y, z), select(x, z, y)),
  });
  return table;
}

}  // namespace

const std::vector<Rule>& index_rules(const ExprNode& root) { return index_table().of(root); }
const std::vector<Rule>& data_rules(const ExprNode& root) { return data_table().of(root); }

std::vector<Rule> all_index_rules() { return index_table().all(); }
std::vector<Rule> all_data_rules() { return data_table().all(); }

}  // namespace tw::ir
