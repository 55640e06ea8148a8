// What lowering makes of loops that a schedule left plain: src/lower/lanes.h, asked for each stage.
#pragma once

#include <string>
#include <vector>

#include "schedule/machine.h"
#include "tensorwright/schedule.h"

namespace tw::schedule {

struct PlainLanes {
  int leaf = -1;            // the position of the loop that gets lanes; -1: none does
  int64_t elements = 0;     // side by side in one pass of the loops inside
  std::string reason = {};  // why no loop does; empty where the schedule has decided
};

// By stage. Nothing is known where the schedule cannot be lowered as it is.
std::vector<PlainLanes> plain_lanes(const Schedule&, const Machine&);

}  // namespace tw::schedule
