// The rules of the whole nest: what one Step allowed, a later one may undo, so they are judged once all Steps are
// there.
#pragma once

#include "schedule/placement.h"

namespace tw::schedule {

// Placement (every reader inside the loop at which its producer is computed), what may stand inside a vectorized loop,
// tails that visit values again, how much code unrolled loops make, and what blocks of a launch share. Names the Step
// at fault and its line.
Status check(const LoopNest&, const std::vector<Step>& steps);

// The same for the loops of one stage, without placement.
Status check_loops(const StageNest&, const std::vector<Step>& steps);

// Whether every element that is read, of outputs every one, satisfies its stage's store predicate.
Status check_predicates(const LoopNest&, const Placement&, const std::vector<Step>& steps);

// Whether shift_inward may move the last part of this split inwards.
Status check_shift(const StageNest&, const SplitRelation&, const std::vector<Step>& steps);

}  // namespace tw::schedule
