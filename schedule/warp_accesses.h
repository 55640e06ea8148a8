// Where the lanes of a warp find the elements of a fragment (src/ir/warp_products.h), for what an access takes.
#pragma once

#include <cstdint>
#include <vector>

#include "src/ir/warp_products.h"

namespace tw::schedule {

// How many accesses a lane makes for its fragment, and of how many elements each: of those that stand side by side in
// the matrix it takes all at once where they do so in memory.
struct FragmentAccesses {
  int count, elements;
};
FragmentAccesses fragment_accesses(const ir::WarpProduct&, ir::Fragment, bool side_by_side);

// Of the first of them, by lane, where rows and columns of the matrix lie so far apart.
std::vector<int64_t> lane_addresses(const ir::WarpProduct&, ir::Fragment, double row, double column);

// Of the rows of 16 bytes that ldmatrix reads for a fragment, matrix after matrix; along rows of the left operand and
// columns of the right one, or, `transposed`, along the terms.
std::vector<int64_t> matrix_addresses(const ir::WarpProduct&, ir::Fragment, double row, double column, bool transposed);

// How many pieces of `bytes` these addresses lie in.
int64_t pieces_of(const std::vector<int64_t>& at, int64_t bytes);

}  // namespace tw::schedule
