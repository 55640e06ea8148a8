// How much memory a launch takes.
#pragma once

#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/schedule.h"

namespace tw::schedule {

// The memory of a block and of its threads has a size that is known, and what a block shares fits. Names the Step
// that places most of it. REQUIRES: the loops of a legal nest.
Status check_launch_memory(const ir::Stmt& body, const std::vector<Step>& steps);

}  // namespace tw::schedule
