// Conditions that hold for all lanes of a vector or for none of them.
#pragma once

#include "src/ir/interval.h"

namespace tw::lower {

// Of a condition over `lane`, which counts 0 .. lanes - 1: the same of the first lane, where it is that of all; else
// empty. a < b is where the multiple of `lanes` that a - b lies behind is the same for all of them.
ir::Expr of_all_lanes(const ir::Expr& condition, const ir::Var& lane, int64_t lanes, ir::Bounds ranges);

}  // namespace tw::lower
