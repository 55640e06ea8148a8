// Where a loop can be cut in two or three so that guards inside hold throughout the middle part.
#pragma once

#include <optional>

#include "src/lower/guard.h"

namespace tw::lower {

// Guards hold while first <= atom <= last. The atom is the loop's variable, or a quotient or remainder of it (a fused
// loop).
struct SplitPoint {
  ir::Expr atom;
  int64_t first, last;
  ir::Interval all;  // the values that the atom takes now
};

// `guards` are conditions below a loop over `var`; variables bound below the loop have their ranges in `inner`.
// Empty when no guard becomes true by a cut, or all are decided already.
std::optional<SplitPoint> find_split(const std::vector<const Guard*>& guards, const ir::Var& var, const Ranges& around,
                                     const ir::Bounds& inner);

}  // namespace tw::lower
