// Guards: conditions that are an affine form of loop variables compared with zero, and what is known about such forms.
#pragma once

#include <optional>
#include <unordered_map>

#include "src/ir/interval.h"
#include "src/ir/simplify_linear.h"
#include "tensorwright/ir.h"

namespace tw::lower {

// A comparison of index expressions without loads, as `form < 0`.
struct Guard {
  ir::Linear form;
};

// The values of variables, and of whole atoms (f / 9 of a fused loop f) where more is known than follows from the
// variables.
class Ranges {
 public:
  // Until the returned scope ends.
  void set(const ir::Var& var, ir::Interval values) { vars_[var.id()] = values; }
  void set(const ir::Bounds& all) { vars_.insert(all.begin(), all.end()); }
  void set_atom(const ir::Expr& atom, ir::Interval values) { atoms_.emplace_back(atom, values); }
  void forget_last_atom() { atoms_.pop_back(); }
  // Whole atoms as variables of their values, for who knows ranges of variables alone.
  ir::Expr named(const ir::Expr&, ir::Bounds& of_names) const;
  ir::Interval of(const ir::Expr& atom) const;
  ir::Interval of(const ir::Linear& form) const;
  const ir::Bounds& vars() const { return vars_; }

 private:
  ir::Bounds vars_;
  std::vector<std::pair<ir::Expr, ir::Interval>> atoms_;
};

// Reads conditions as guards, each node once.
class GuardReader {
 public:
  // Null when the condition is not an ordering of two index expressions.
  const Guard* read(const ir::Expr& condition);

 private:
  struct Entry {
    ir::Expr condition;  // keeps the key alive
    std::optional<Guard> guard;
  };
  std::unordered_map<const ir::ExprNode*, Entry> read_;
};

// true or false where the ranges decide the condition.
std::optional<bool> decide(const ir::Expr& condition, GuardReader&, const Ranges&);

}  // namespace tw::lower
