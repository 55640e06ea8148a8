// The loops that fetch into the cache what a later iteration reads, or will write: of the loop, or of one around it.
//
//   for x: ... A[x, j] over j in 0..m ...     ==>     for r in 0..ceil(m / 16): prefetch(address(in A[x + 4, r * 16]))
//   for x: C[x, j] = ... over j in 0..m       ==>     for r in 0..ceil(m / 16): prefetch(address(out C[x + 1, r * 16]))
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

struct PrefetchSite {
  int stage, level;  // the loop at whose beginning it stands
  int source;        // what is fetched: a placeholder, or a stage that is kept whole; `stage` or `of`: to be written
  int of;            // the stage with the loop `from`, whose iterations are counted: it is around, or the same
  AxisId from;
  int64_t offset;  // how many of them ahead
  bool second;     // into the second cache, past the first
};

// The loop whose iterations are counted, of the stage that the note names.
AxisId from_of(const LoopNest&, const PrefetchNote&);

ir::Stmt prefetch(const LoopNest&, const Placement&, const NestBounds&, const PrefetchSite&,
                  const std::vector<ir::Buffer>& from);

Status check_prefetches(const LoopNest&, const Placement&, const std::vector<Step>& steps);

}  // namespace tw::schedule
