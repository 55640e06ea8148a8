// Where a loop can be cut at places that are no numbers, so that guards inside hold throughout the middle part: at
// sizes, or where the loops around say.
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
// the loop's variable, `known` ones (of extents, or bound around the loop) and inner variables only. Empty when no
// guard is of that kind.
std::optional<SymbolicSplit> find_symbolic_split(const std::vector<const Guard*>& guards, const ir::Var& var,
                                                 const ir::Expr& extent, const Ranges& around, const ir::Bounds& inner,
                                                 const ir::Bounds& known);

// Of a sum that leaves terms out,  C = select(k <= i, C + t, C):  the iterations outside of which all are left out, the
// conditions by which they are, and the values of variables that are bound in its loop.
struct Terms {
  ir::Expr first, end;
  std::vector<const Guard*> guards = {};
  ir::Bounds inner = {};
};
Terms terms_of(const ir::For&, GuardReader&, const Ranges& around);

// The statement with those guards gone from its Ifs, or from its Selects.
ir::Stmt without_guards(const ir::Stmt&, const std::unordered_set<const Guard*>&, GuardReader&, bool of_selects);

}  // namespace tw::lower
