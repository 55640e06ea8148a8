// Which outputs may be stored past the caches: those that the kernel writes once and never reads.
#pragma once

#include "schedule/placement.h"

namespace tw::schedule {

Status check_nontemporal(const LoopNest&, const Placement&, const std::vector<Step>& steps);

}  // namespace tw::schedule
