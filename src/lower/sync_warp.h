// The threads of a block as the lanes of its warps: 32 that follow each other, x counting fastest; or of groups of four
// warps, 128.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "src/ir/walk.h"
#include "src/lower/sync_access.h"

namespace tw::lower {

struct WarpIndices {
  ir::Substitution threads;         // the indices of the launch's threads, of a lane and of what its warp has in common
  LaunchIndices indices;            // the lane is the only thread; the rest is as a block's
  std::vector<OwnVariable> ranges;  // of both
};

// `axis`: 0 for the index that counts fastest. None where the numbers of threads are not known to make whole warps.
std::optional<WarpIndices> warp_indices(const LaunchIndices& launch, const std::unordered_map<uint64_t, int>& axis,
                                        int64_t lanes);

}  // namespace tw::lower
