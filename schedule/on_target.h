// A schedule as it stands on a device: persistent stages that do not say how many blocks they have get as many as it
// has processors.
#pragma once

#include "tensorwright/schedule.h"
#include "tensorwright/target.h"

namespace tw::schedule {

Schedule on_target(const Schedule&, const Target&);

}  // namespace tw::schedule
