//   for i in 0..n:                  for i in 0..n:
//     C[i] = f(A[i, 0..m])   ==>      prefetch A[i + 4, 0..m]          // one line of the cache at a time
//                                     C[i] = f(A[i, 0..m])             // prefetch(A, i, offset=4)
//
//   for i in 0..n:                  for i in 0..n:
//     for j in 0..m:                  for j in 0..m:
//       C[i, j] = f(A[i, j])   ==>      prefetch A[i + 1, j]           // prefetch(A, j, offset=1, from=i)
//                                       C[i, j] = f(A[i, j])
//
// The part of `source` that an iteration of the loop will read `offset` iterations of `from` later is fetched into the
// cache: loops within `from`, which may be one of another stage, in whose loops this one is computed, share out what
// its iteration needs. Into the first cache, or with into="L2" the second. A hint: no value depends on it, and what
// lies outside of the tensor is taken from its edge.
//
//   for i in 0..n:                  for i in 0..n:
//     for j in 0..m:                  for j in 0..m:
//       T[i, j] = f(A[i, j])            prefetch C[i, j] for writing   // of T, computed in a loop of C:
//     for j in 0..m:                    T[i, j] = f(A[i, j])           // prefetch(C, j, offset=0, from=i)
//       C[i, j] = g(T[i, j])          for j in 0..m: C[i, j] = g(T[i, j])
//
// Lines that this stage will write, or the one in whose loops it is computed, where that reads this stage's elements at
// its own indices: a store waits until its line is there.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const Prefetch& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, leaf(nest.stage(stage), step.kName, step.axis));
  const std::string of = step.of.empty() ? step.stage : step.of;
  if (step.from.empty() && of != step.stage)
    return refuse(step.kName, "from must be a loop of stage " + of + ", and none is given");
  TW_TRY(int around, computed_stage(nest, step.kName, of));
  if (!step.from.empty()) {
    TW_TRY([[maybe_unused]] AxisId from, leaf(nest.stage(around), step.kName, step.from));
  }
  TW_TRY(int source, any_stage(nest, step.kName, step.source));
  const bool written = source == stage || source == around;
  if (source >= stage && !written)
    return refuse(step.kName, "source must be computed before " + step.stage + ", which " + step.source + " is not");
  if (step.offset < 0 || step.offset > kFarthestPrefetch)
    return refuse(step.kName, "offset must be in 0.." + std::to_string(kFarthestPrefetch) + " iterations, not " +
                                  std::to_string(step.offset));
  if (!step.into.empty() && step.into != "L1" && step.into != kSecondCache)
    return refuse(step.kName, "into must be \"L1\" or \"L2\", not \"" + step.into + "\"");
  LoopNest next = nest;
  std::vector<PrefetchNote>& notes = next.edit(stage).prefetches;
  std::erase_if(notes, [&](const PrefetchNote& note) { return note.axis == axis && note.source == step.source; });
  notes.push_back({step.source, axis, step.from, of, step.offset, step.into == kSecondCache, nest.steps_applied()});
  return next;
}

}  // namespace tw::schedule::primitives
