// disable_predication: a stage computed in whole parts.
//
//   for io in 0..2: for ii in 0..16:                  for io in 0..2: for ii in 0..16:
//     if io*16 + ii < 30: P[io*16 + ii] = ...   ==>     P[io*16 + ii] = ...        // P has room for 32
#pragma once

#include <string>

#include "schedule/loop_nest.h"
#include "tensorwright/schedule.h"

namespace tw::schedule {

// The schedule with tail pad in the place of auto wherever a split of this stage's data axes leaves a rest.
Result<Schedule> in_whole_parts(const Schedule&, const std::string& stage);

}  // namespace tw::schedule
