// The rules of launches: what a device's blocks and threads may compute, and what they see of each other.
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

// A program of a device is a sequence of launches: every stage at root is one. What a block computes only its own
// threads see, what a thread keeps for itself no other one does. Names the Step at fault.
Status check_launches(const LoopNest&, const Placement&, const std::vector<Step>& steps);

// Threads have numbers that are known, as many as a block may have.
Status check_launch_extents(const LoopNest&, const Placement&, const NestBounds&, const std::vector<Step>& steps);

}  // namespace tw::schedule
