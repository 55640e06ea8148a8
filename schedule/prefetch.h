// The loops that fetch into the cache what a later iteration reads.
//
//   for x: ... A[x, j] over j in 0..m ...     ==>     for r in 0..ceil(m / 16): prefetch(address(in A[x + 4, r * 16]))
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

struct PrefetchSite {
  int stage, level;  // the loop at whose beginning it stands
  int source;        // what is fetched: a placeholder, or a stage that is computed whole
  int64_t offset;    // how many iterations of the loop ahead
};

ir::Stmt prefetch(const LoopNest&, const Placement&, const NestBounds&, const PrefetchSite&,
                  const std::vector<ir::Buffer>& from);

Status check_prefetches(const LoopNest&, const Placement&, const std::vector<Step>& steps);

}  // namespace tw::schedule
