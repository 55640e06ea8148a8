// How far apart the neighbours along each index of a stage's memory are, for intrinsics that take addresses.
#pragma once

#include <vector>

#include "schedule/bounds.h"

namespace tw::schedule {

// In elements, one for each index; empty expressions where storage_align decides. `whole`: the stage is kept whole, not
// its region only.
std::vector<ir::Expr> memory_strides(const LoopNest&, const NestBounds&, int stage, bool whole);

// Whether a tile's elements lie as in a compact buffer of the tile's shape. factor[s][d]: by how much index s grows
// with dimension d of the tile.
bool side_by_side(const std::vector<ir::Expr>& strides, const std::vector<ir::Expr>& tile,
                  const std::vector<std::vector<int64_t>>& factor);

}  // namespace tw::schedule
