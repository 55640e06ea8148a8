//   for i in 0..n:    # auto_unroll_max_step = 8
//     for j in 0..4:                for i in 0..n:
//       body(i, j)        ==>         body(i, 0) ... body(i, 3)
//
// auto_unroll_max_step: loops at and inside the axis are unrolled as long as that makes at most so many copies of a
// body. unroll_explicit = 0: leave the unrolling that auto_unroll_max_step asks for to the code generator's own
// judgement.

#include <algorithm>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const Pragma& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, leaf(nest.stage(stage), step.kName, step.axis));
  if (step.key != "auto_unroll_max_step" && step.key != "unroll_explicit")
    return with_hint(refuse(step.kName, "key must be auto_unroll_max_step or unroll_explicit, not " + step.key),
                     step.key, {"auto_unroll_max_step", "unroll_explicit"});
  if (step.value < 0) return refuse(step.kName, step.key + " must not be negative, not " + std::to_string(step.value));
  if (step.key == "auto_unroll_max_step" && step.value > max_unroll())
    return refuse(step.kName, "auto_unroll_max_step must be at most " + std::to_string(max_unroll()) + ", not " +
                                  std::to_string(step.value))
           << "TW_MAX_UNROLL lifts the limit";
  LoopNest next = nest;
  std::vector<PragmaNote>& pragmas = next.edit(stage).pragmas;
  std::erase_if(pragmas, [&](const PragmaNote& note) { return note.axis == axis && note.key == step.key; });
  pragmas.push_back({axis, step.key, step.value});
  return next;
}

}  // namespace tw::schedule::primitives
