// What a stage is made of: the parts of its definition that stay the same along some of its axes.
#pragma once

#include <vector>

#include "schedule/loop_nest.h"

namespace tw::schedule {

// Parts of the stage's bodies that read memory and do not depend on all of its axes, as large as can be, each once, in
// the order in which they stand: of te.sum(te.exp(A[i, k]) * B[k, j]) the exp and the read of B. What is computed
// under a condition only is none, nor is a float product that is added to something: apart, it would be rounded
// (src/lower/fma.h).
std::vector<ir::Expr> operands_of(const StageNest&);

// The subscript that is the variable itself, where no other one uses it; kNone: there is none.
int place_of(const std::vector<ir::Expr>& at, const ir::Var&);

}  // namespace tw::schedule
