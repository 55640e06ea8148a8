//   for i in 0..3:                  body(0)
//     body(i)             ==>       body(1)
//                                   body(2)
//
// Any axis may be unrolled; the order of the iterations stays. How many copies all unrolled loops of a stage make
// together is limited (TW_MAX_UNROLL), by check.h: it depends on where the stage is computed. So does how often the
// loop of a stage runs that is computed inside of another one.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Diagnostic unknown_iterations(const StageNest& stage, AxisId axis, const Extent& times) {
  return refuse(Unroll::kName, "axis must have a known number of iterations, not " + to_string(times))
         << describe(stage, axis) << "each iteration is written out: split the axis and unroll the inner part";
}

Result<LoopNest> apply(const LoopNest& nest, const Unroll& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, leaf(nest.stage(stage), step.kName, step.axis));
  TW_TRY([[maybe_unused]] Unit plain, not_bound(nest.stage(stage), step.kName, axis));
  const Extent& times = nest.stage(stage).axes[axis].extent;
  if (!times.known() && nest.stage(stage).attach.kind != AttachKind::kAt)
    return unknown_iterations(nest.stage(stage), axis, times);
  LoopNest next = nest;
  Axis& changed = next.edit(stage).axes[axis];
  changed.annotation = Annotation::kUnrolled;
  changed.annotated_by = nest.steps_applied();
  return next;
}

}  // namespace tw::schedule::primitives
