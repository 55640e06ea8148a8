// Where a loop whose extent is no number can be cut, so that guards inside hold throughout the middle part.
//
//   for i in 0..(n + 15) // 16: if i*16 + ii < n         ==>     holds for 0 <= i < n // 16
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "src/lower/guard.h"

namespace tw::lower {

struct SymbolicSplit {
  ir::Expr first, end;  // the guards hold for first <= var < end; end <= extent, first >= 0
  std::unordered_set<const Guard*> guards;
};

// `guards` are conditions below a loop over `var`; variables bound below it have their ranges in `inner`. Guards over
// the loop's variable, `scalars` (the variables of extents) and inner variables only. Empty when no guard is of that
// kind.
std::optional<SymbolicSplit> find_symbolic_split(const std::vector<const Guard*>& guards, const ir::Var& var,
                                                 const ir::Expr& extent, const Ranges& around, const ir::Bounds& inner,
                                                 const ir::Bounds& scalars);

// The statement with those guards gone from its Ifs, or from its Selects.
ir::Stmt without_guards(const ir::Stmt&, const std::unordered_set<const Guard*>&, GuardReader&, bool of_selects);

}  // namespace tw::lower
