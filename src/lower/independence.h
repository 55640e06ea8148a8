// Whether the iterations of a loop may run in any order, and side by side.
#pragma once

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::lower {

// True if what one iteration writes no other one reads or writes: each buffer that is stored to in `body`, and not
// allocated there, is told apart by one dimension of all its subscripts. In it they are  a * var + x + y  with one a,
// one x that `body` does not change, and of any two y that differ by less than a, or by all that var reaches in its
// `extent` iterations. Else each store and each other access by a dimension of their own, in which x may differ where a
// is 0. False where that can't be seen, and for calls that have effects. `sizes`: of the variables of
// extents.
bool independent(const ir::Var& var, const ir::Expr& extent, const ir::Stmt& body, const ir::Bounds& sizes = {});

}  // namespace tw::lower
