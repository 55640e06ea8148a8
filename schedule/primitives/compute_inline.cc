//   for i in 0..n:
//     P[i] = A[i] * 2               for i in 0..n:
//   for i in 0..n:        ==>         C[i] = A[i] * 2 + 1
//     C[i] = P[i] + 1
//
// The definition takes the place of every read. A reduction is a loop, which no expression can hold; an output has to
// be written.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const ComputeInline& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  if (nest.stage(stage).output)
    return refuse(step.kName, "stage must not be an output, as " + step.stage + " is")
           << "its values are asked for, so they have to be stored";
  if (nest.stage(stage).op->external())
    return refuse(step.kName, "stage must be elementwise, not extern as " + step.stage + " is")
           << "its statement writes its outputs as a whole";
  if (nest.stage(stage).op->scan())
    return refuse(step.kName, "stage must be elementwise, not a scan as " + step.stage + " is")
           << "each time needs the ones before it, so they have to be stored";
  if (nest.stage(stage).is_reduction())
    return refuse(step.kName, "stage must be elementwise, not a reduction as " + step.stage + " is")
           << describe(nest.stage(stage)) << "compute_at computes it where it is needed";
  LoopNest next = nest;
  next.edit(stage).attach = {AttachKind::kInline, {}, kNone, nest.steps_applied()};
  return next;
}

}  // namespace tw::schedule::primitives
