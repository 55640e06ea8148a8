// Which subexpressions of a statement get a name of their own when it is printed.
//
// Expressions are graphs: x = y + y; y = z + z; ... is 100 nodes and 2^100 terms. A statement whose text would be
// longer than kLongest terms names the subexpressions that occur more than once; then its text is as long as its graph
// is large.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

class Sharing {
 public:
  // Plans for a statement that consists of `roots`.
  void plan(const std::vector<Expr>& roots);

  // To be defined before the statement, operands first.
  const std::vector<Expr>& before() const { return before_; }
  // Named; where it holds a variable bound inside the statement (by let or a reduction), its first use defines it.
  bool named(const Expr& e) const { return !named_.empty() && named_.contains(e.get()); }

 private:
  static constexpr uint64_t kLongest = 64, kWorthNaming = 5, kEnough = 1u << 30;
  uint64_t terms(const Expr& e);
  struct Use {
    int times = 0;
    bool local = false;  // holds a variable bound inside the statement
  };
  bool count(const Expr& e);

  std::unordered_map<const ExprNode*, std::pair<Expr, uint64_t>>
      terms_;  // of shared nodes; the handle keeps the address taken
  std::unordered_map<const ExprNode*, Use> uses_;
  std::unordered_set<uint64_t> bound_;
  std::vector<Expr> before_, order_;
  std::unordered_set<const ExprNode*> named_;
};

}  // namespace tw::ir
