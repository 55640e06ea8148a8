// The part of rule_schedule that is a device's: every stage at root becomes a launch.
#pragma once

#include "schedule/loop_nest.h"
#include "tensorwright/schedule.h"

namespace tw::schedule {

// Whether neighbouring values of the variable read neighbouring elements.
bool contiguous_along(const ir::Load&, const ir::Var&);

// Binds the loops of all stages at root; of a schedule in which nothing but inlining has been done.
Schedule bind_by_rules(Schedule);

}  // namespace tw::schedule
