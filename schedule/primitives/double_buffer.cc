//   for x in 0..n:                  alloc P: [2, ..]
//     alloc P: [..]                 P[0] = part(0)
//     P = part(x)          ==>      for x in 0..n:
//     C[x] = f(P)                     if x + 1 < n: P[(x + 1) % 2] = part(x + 1)
//                                     C[x] = f(P[x % 2])
//
// The part that the next iteration reads is computed before this one uses its own: two buffers take turns. What the
// stage reads must be there before the loop. Where the stage is computed, and in which loop, is judged with the whole
// nest.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<int> stage_in_turns(const LoopNest& nest, const char* step, const std::string& name) {
  TW_TRY(int stage, computed_stage(nest, step, name));
  if (nest.stage(stage).op->scan())
    return refuse(step, "stage must not be a scan, as " + name + " is")
           << "a scan keeps the states that later times need";
  if (nest.stage(stage).output)
    return refuse(step, "stage must be computed inside a loop of its reader, not be an output, as " + name + " is");
  return stage;
}

Result<LoopNest> apply(const LoopNest& nest, const DoubleBuffer& step) {
  TW_TRY(int stage, stage_in_turns(nest, step.kName, step.stage));
  if (nest.stage(stage).rolling != kNone)
    return refuse(step.kName, "stage must not be a rolling buffer, as " + step.stage + " is")
           << "a rolling buffer keeps what earlier iterations computed; two buffers that take turns do not";
  LoopNest next = nest;
  next.edit(stage).double_buffered = nest.steps_applied();
  return next;
}

}  // namespace tw::schedule::primitives
