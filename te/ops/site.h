// One call of an operator, for what it refuses: the operator, the argument, the rule, what came; then the tensor with
// its shape.
#pragma once

#include <string>
#include <vector>

#include "te/refuse.h"
#include "tensorwright/te.h"

namespace tw::te::ops {

struct Site {
  std::string op;  // "conv2d"
  SourceLine where;

  [[noreturn]] void refuse(ErrorKind kind, const std::string& rule, std::vector<std::string> notes = {}) const;

  void rank(const std::string& argument, const Tensor&, size_t rank) const;
  void rank_at_least(const std::string& argument, const Tensor&, size_t rank) const;
  // Extents that must be one: equal constants, or the same expression. `a_what`: "the columns of a".
  void same(const std::string& a_what, const Expr& a, const std::string& b_what, const Expr& b,
            std::vector<std::string> notes) const;
  int64_t constant(const std::string& what, const Expr&) const;          // an extent that must be known
  Type dtype(const std::string& option, const std::string& name) const;  // of a dtype by name
};

// Sums and products of extents, with constants folded and symbols kept.
Expr plus(Expr a, Expr b);
Expr minus(Expr a, Expr b);
Expr times(Expr a, Expr b);
Expr quotient(Expr a, Expr b);  // rounded down

}  // namespace tw::te::ops
