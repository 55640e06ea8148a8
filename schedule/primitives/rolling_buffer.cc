//   for y in 0..n:                        alloc P: [3, ..]
//     alloc P: [3, ..]                    for y in 0..n:
//     for r in 0..3:              ==>       for r in 0..3:
//       P[r] = row(y + r)                     if r >= 2 or y == 0: P[(y + r) % 3] = row(y + r)
//     C[y] = P[0] + P[1] + P[2]             C[y] = P[y % 3] + P[(y + 1) % 3] + P[(y + 2) % 3]
//
// A stencil reads rows that its last iteration has read too: they stay in a window that rolls on, and each row is
// computed once. Whether the region moves along one dimension, as it must, is judged with the whole nest.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const RollingBuffer& step) {
  TW_TRY(int stage, stage_in_turns(nest, step.kName, step.stage));
  if (nest.stage(stage).double_buffered != kNone)
    return refuse(step.kName, "stage must not be double-buffered, as " + step.stage + " is")
           << "a rolling buffer keeps what earlier iterations computed; two buffers that take turns do not";
  LoopNest next = nest;
  next.edit(stage).rolling = nest.steps_applied();
  return next;
}

}  // namespace tw::schedule::primitives
