// A schedule by rules, for expressions that no space can be made from: extents that are variables, above all.
#pragma once

#include "tensorwright/schedule.h"
#include "tensorwright/target.h"

namespace tw::schedule {

Schedule rule_schedule(const std::vector<te::Tensor>& outputs, const Target&);

}  // namespace tw::schedule
