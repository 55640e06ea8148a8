// Rules of algebra as data: `from` becomes `to` where `when` holds. simplify_rules.cc is written in this notation.
//
//   x y z      any expression (twice the same letter: equal expressions)
//   c1 c2      integer constants (a vector constant counts when all lanes are equal)
//   lo(x)      the smallest value of x as far as it is known: a condition on an unknown end does not hold
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::ir {

class Simplifier;
struct PatternNode;

class Pattern {
 public:
  enum class Kind : uint8_t {
    kAny,
    kConstant,
    kLiteral,
    kBinary,
    kNot,
    kSelect,
    kLow,
    kHigh,
    kIsInteger,
    kIsExact,
    kIsConstant
  };
  Pattern(int literal);  // also matches the float of that value; 0 is +0.0, not -0.0
  Pattern(Kind kind, int slot, BinOp op = BinOp::kAdd, std::vector<Pattern> children = {});
  Pattern(const Pattern&) = default;
  const PatternNode* operator->() const { return node_.get(); }

 private:
  std::shared_ptr<const PatternNode> node_;
};

struct PatternNode {
  Pattern::Kind kind;
  int value;  // the slot of a wildcard, the number of a literal
  BinOp op;
  std::vector<Pattern> children;
};

Pattern operator+(Pattern, Pattern);
Pattern operator-(Pattern, Pattern);
Pattern operator*(Pattern, Pattern);
Pattern operator/(Pattern, Pattern);  // floordiv
Pattern operator%(Pattern, Pattern);  // floormod
Pattern operator<(Pattern, Pattern);
Pattern operator<=(Pattern, Pattern);
Pattern operator>(Pattern, Pattern);
Pattern operator>=(Pattern, Pattern);
Pattern operator==(Pattern, Pattern);
Pattern operator!=(Pattern, Pattern);
Pattern operator&&(Pattern, Pattern);
Pattern operator||(Pattern, Pattern);
Pattern operator!(Pattern);
Pattern binary(BinOp, Pattern, Pattern);
Pattern select(Pattern cond, Pattern yes, Pattern no);
Pattern lo(Pattern x);
Pattern hi(Pattern x);
Pattern is_integer(Pattern x);  // wraps or does not overflow
Pattern is_exact(Pattern x);    // not a float: x == x, and the order is total
Pattern is_constant(Pattern x);

struct Rule {
  const char* name;
  Pattern from, to;
  Pattern when = 1;
};

// The rules whose `from` has this node at its root, in the order in which they stand in the table.
const std::vector<Rule>& index_rules(const ExprNode& root);
const std::vector<Rule>& data_rules(const ExprNode& root);

// The whole tables, for their proof; and a pattern in prefix form: (floordiv (floordiv x c1) c2).
std::vector<Rule> all_index_rules();
std::vector<Rule> all_data_rules();
std::string to_string(const Pattern&);

// `e` with the first rule that fits applied and the result simplified; empty when none fits. The operands of `e` are
// simplified.
Expr apply_first(const std::vector<Rule>& rules, const Expr& e, Simplifier& simplifier);

}  // namespace tw::ir
