// How far apart the neighbours along each index of a stage's memory are, for intrinsics that take addresses.
#pragma once

#include <vector>

#include "schedule/bounds.h"

namespace tw::schedule {

// Of a stage of that shape, as storage_align asks for; empty when it asks for nothing.
std::vector<ir::Expr> aligned_strides(const StageNest&, const std::vector<ir::Expr>& shape);

// Of what is kept of an output of a stage: in elements, one for each index. `whole`: the stage is kept whole, not
// its region only.
std::vector<ir::Expr> memory_strides(const LoopNest&, const NestBounds&, int stage, size_t output, bool whole);

// Whether a tile's elements lie as in a buffer of the tile's shape and strides: those `wanted`, of which variables are
// as may be, or, where there are none, compact ones. factor[s][d]: by how much index s grows with dimension d of the
// tile.
bool side_by_side(const std::vector<ir::Expr>& strides, const std::vector<ir::Expr>& tile,
                  const std::vector<std::vector<int64_t>>& factor, const std::vector<ir::Expr>& wanted);

}  // namespace tw::schedule
