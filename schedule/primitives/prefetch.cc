//   for i in 0..n:                  for i in 0..n:
//     C[i] = f(A[i, 0..m])   ==>      prefetch A[i + 4, 0..m]          // one line of the cache at a time
//                                     C[i] = f(A[i, 0..m])             // prefetch(A, i, offset=4)
//
// The part of `source` that the loop will read `offset` iterations later is fetched into the cache. A hint: no value
// depends on it, and what lies outside of the tensor is taken from its edge.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const Prefetch& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, leaf(nest.stage(stage), step.kName, step.axis));
  TW_TRY(int source, any_stage(nest, step.kName, step.source));
  if (source >= stage)
    return refuse(step.kName, "source must be computed before " + step.stage + ", which " + step.source + " is not");
  if (step.offset < 0 || step.offset > kFarthestPrefetch)
    return refuse(step.kName, "offset must be in 0.." + std::to_string(kFarthestPrefetch) + " iterations, not " +
                                  std::to_string(step.offset));
  LoopNest next = nest;
  std::vector<PrefetchNote>& notes = next.edit(stage).prefetches;
  std::erase_if(notes, [&](const PrefetchNote& note) { return note.axis == axis && note.source == step.source; });
  notes.push_back({step.source, axis, step.offset, nest.steps_applied()});
  return next;
}

}  // namespace tw::schedule::primitives
