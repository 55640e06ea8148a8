// Conditions in a definition narrow what is read below them.
//
//   if_then_else(i >= 2, P[i - 2], Q[i]):   of P only where i - 2 >= 0, of Q only where 1 - i >= 0
#pragma once

#include <vector>

#include "src/ir/interval.h"

namespace tw::schedule {

struct GuardedLoad {
  ir::Expr load;
  std::vector<ir::Expr> holds;  // none of these is negative where the value of the load is used; empty: it always is
};

// The loads of a definition, each once.
std::vector<GuardedLoad> guarded_loads(const ir::Expr& definition);

// Ends of `at` that follow from forms that are not negative, while `running` variables run; over the others alone.
struct Narrowed {
  std::vector<ir::Expr> from, to;
};
Narrowed narrowed(const ir::Expr& at, const std::vector<ir::Expr>& not_negative,
                  const std::unordered_map<uint64_t, ir::Expr>& running, const ir::Bounds& ranges);

}  // namespace tw::schedule
