//   for i in 0..n:                  body(i over 0..n at once)
//     body(i)             ==>
//
//   for i:                          for i:
//     B[i] = identity                 B.lanes[0..f] = identity
//     for k.o, k.i in 0..f:           for k.o:
//       B[i] += A[i, k]     ==>         B.lanes[0..f] += A[i, k.o*f .. k.o*f + f]     // where k < n
//                                     B[i] = the lanes joined: 0..f/2 with f/2..f, and so on
//
// All values of the loop are computed together, in the lanes of vectors. Lanes are independent for a data axis; of a
// reduction each has a partial result of its own, and they are joined in one order whatever a register holds
// (te/lane_joins.h): one of the Steps that reassociate (docs/semantics.md). Serial and unrolled loops may stand inside;
// check.h refuses the others.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/support/environment.h"

namespace tw::schedule::primitives {

int64_t max_lanes() {
  constexpr int64_t kUsual = 1024, kMost = 65535;
  return support::number_of_environment("TW_MAX_LANES", kUsual, kMost);
}

Result<LoopNest> apply(const LoopNest& nest, const Vectorize& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, free_leaf(nest.stage(stage), step.kName, step.axis));
  TW_TRY([[maybe_unused]] Unit plain, not_bound(nest.stage(stage), step.kName, axis));
  const Axis& loop = nest.stage(stage).axes[axis];
  for (const AxisId leaf : nest.stage(stage).leaves) {
    const Axis& other = nest.stage(stage).axes[leaf];
    if (loop.reduction && other.reduction && other.annotation == Annotation::kVectorized)
      return refuse(step.kName, "only one loop of a reduction may be vectorized, and " + other.name + " is already")
             << describe(nest.stage(stage), axis)
             << "its lanes hold the partial results; fuse both loops before, or leave " + loop.name + " serial";
  }
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
