//   for i in 0..n:                  body(i over 0..n at once)
//     body(i)             ==>
//
// All values of the loop are computed together, in the lanes of vectors. Lanes are independent for a data axis; the
// lanes of a reduction would race for one element. Serial and unrolled loops may stand inside; check.h refuses the
// others.

#include <algorithm>
#include <cstdlib>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

int64_t max_lanes() {
  const char* text = std::getenv("TW_MAX_LANES");
  int64_t limit = text ? std::atoll(text) : 0;
  return limit > 0 ? std::min<int64_t>(limit, 65535) : 1024;
}

Result<LoopNest> apply(const LoopNest& nest, const Vectorize& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, free_leaf(nest.stage(stage), step.kName, step.axis));
  const Axis& loop = nest.stage(stage).axes[axis];
  if (loop.reduction)
    return refuse(step.kName, "axis must be a data axis, not the reduction axis " + loop.name)
           << describe(nest.stage(stage), axis)
           << "the lanes would all add to one element; vectorize a data axis inside the reduction";
  if (!loop.extent.known())
    return refuse(step.kName, "axis must have a known number of iterations, not " + to_string(loop.extent))
           << describe(nest.stage(stage), axis)
           << "a vector has a fixed number of lanes: split the axis and vectorize the inner part";
  if (loop.extent.value() > max_lanes())
    return refuse(step.kName, "axis must have at most " + std::to_string(max_lanes()) + " iterations, not " +
                                  to_string(loop.extent))
           << describe(nest.stage(stage), axis)
           << "split it and vectorize the inner part; TW_MAX_LANES lifts the limit";
  LoopNest next = nest;
  Axis& changed = next.edit(stage).axes[axis];
  changed.annotation = Annotation::kVectorized;
  changed.annotated_by = nest.steps_applied();
  return next;
}

}  // namespace tw::schedule::primitives
