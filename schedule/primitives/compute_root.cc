//   for i in 0..n:                  for i in 0..n:
//     P[0] = ...                      P[i] = ...
//     C[i] = f(P[0])      ==>       for i in 0..n:
//                                     C[i] = f(P[i])
//
// The stage is computed whole, before everything that reads it: the opposite of compute_at and compute_inline.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const ComputeRoot& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  LoopNest next = nest;
  next.edit(stage).attach = {AttachKind::kRoot, {}, kNone, nest.steps_applied()};
  return next;
}

}  // namespace tw::schedule::primitives
