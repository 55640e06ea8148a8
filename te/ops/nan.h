// The largest and the smallest of values among which a NaN wins, as in NumPy and PyTorch; te::max and te::min lose it
// where a number comes after.
#pragma once

#include <vector>

#include "tensorwright/te.h"

namespace tw::te::ops {

// The value of a compute. Of integers this is te::max (te::min).
Expr extreme_or_nan(bool largest, Expr source, std::vector<IterVar> over, Expr where = {});

// Of pairs (place, value): the extreme value, and among equal ones, or among NaNs, the first place, so that the order
// of the points does not matter.
Reducer first_extreme(bool largest);

}  // namespace tw::te::ops
