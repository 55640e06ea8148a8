// Parts of a schedule as people read them; whole Steps and schedules are printed by to_string.
#pragma once

#include <string>

#include "schedule/loop_nest.h"

namespace tw::schedule {

// What a computed stage is and where it stands: "P: computed float32[8, 8], at C's loop i.o, local".
std::string headline(const LoopNest&, const StageNest&);

}  // namespace tw::schedule
