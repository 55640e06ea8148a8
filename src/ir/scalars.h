// What is known about the scalars of a program.
#pragma once

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::ir {

// A dimension of a parameter has no more elements than this: te and check_args see to it.
inline constexpr int64_t kLargestExtent = int64_t{1} << 56;

// The values that variables take where all `extents` are from 0 on: n of [n - 2] is at least 2.
Bounds bounds_of_extents(const std::vector<Expr>& extents);

// Of the index scalars, from the shapes of the parameters.
Bounds scalar_bounds(const Program&);

// can_prove with conditions that hold besides the bounds: a loop variable is below its extent, which is no number.
bool can_prove(const Expr& condition, const Bounds&, const std::vector<Expr>& facts);

}  // namespace tw::ir
