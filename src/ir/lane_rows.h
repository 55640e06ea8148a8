// Subscripts whose lanes are the rows of a matrix in memory.
#pragma once

#include <optional>

#include "tensorwright/ir.h"

namespace tw::ir {

// Lane r * columns + c is the element base + r * stride + c.
struct LaneRows {
  Expr base, stride;
};
// None where the lanes are not seen to be so: sums and products of ramps, of what is the same for all lanes, and of
// quotients and remainders of lanes that are known are.
std::optional<LaneRows> lane_rows(const Expr& at, int columns);

}  // namespace tw::ir
