//   for i in 0..n:                  for i in 0..n at the same time:     // over the threads of the pool
//     body(i)             ==>         body(i)
//
// Iterations of a data axis write different elements. Those of a reduction would race for one; those of a loop whose
// tail revisits values too, which check.h refuses. What is computed inside the loop is private to its iteration.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const Parallel& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, free_leaf(nest.stage(stage), step.kName, step.axis));
  TW_TRY([[maybe_unused]] Unit plain, not_bound(nest.stage(stage), step.kName, axis));
  if (nest.stage(stage).axes[axis].reduction)
    return refuse(step.kName, "axis must be a data axis, not the reduction axis " + step.axis)
           << describe(nest.stage(stage), axis) << "the threads would race for one element; make a data axis parallel";
  LoopNest next = nest;
  Axis& changed = next.edit(stage).axes[axis];
  changed.annotation = Annotation::kParallel;
  changed.annotated_by = nest.steps_applied();
  return next;
}

}  // namespace tw::schedule::primitives
