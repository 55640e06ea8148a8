//   for i in 0..n:                  for i in 0..n:
//     P[i] = ...                      P[0] = ...            // the part of P that this iteration reads
//   for i in 0..n:        ==>         C[i] = f(P[0])
//     C[i] = f(P[i])
//
// The stage is computed inside a loop of another one, each time only the region that is read there. Whether the loop
// encloses all consumers is a question to the whole nest, which check.h answers.

#include "schedule/placement.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "te/scan.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const ComputeAt& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(int consumer, computed_stage(nest, step.kName, step.consumer));
  TW_TRY(AxisId axis, leaf(nest.stage(consumer), step.kName, step.axis));
  if (stage == consumer)
    return refuse(step.kName, "parent must be another stage, not " + step.stage + " itself")
           << describe(nest.stage(stage));
  if (nest.stage(stage).op->external())
    return refuse(step.kName, "stage must not be extern, as " + step.stage + " is")
           << "its statement writes its outputs as a whole, at root";
  if (const te::Scan* scan = nest.stage(stage).op->scan(); scan && !te::have_one_shape(*scan))
    return refuse(step.kName,
                  "stage must not be a scan whose states differ in shape, as those of " + step.stage + " do")
           << "it is computed whole, at root";
  if (nest.stage(stage).output)
    return refuse(step.kName, "stage must not be an output, as " + step.stage + " is")
           << "an output is computed whole, at root; compute its producers inside its loops instead";
  if (const int scan = scan_around(nest, stage);
      scan != kNone && consumer != scan && scan_around(nest, consumer) != scan)
    return refuse(step.kName, "consumer must be the scan " + nest.stage(scan).name +
                                  " or be computed inside of it, as " + step.stage + " is, not " + step.consumer)
           << step.stage + " depends on the state of " + nest.stage(scan).name + ", which has a value at each time";
  LoopNest next = nest;
  next.edit(stage).attach = {AttachKind::kAt, step.consumer, axis, nest.steps_applied()};
  return next;
}

}  // namespace tw::schedule::primitives
