// A schedule by rules, for expressions that no space can be made from: of sizes that vary, on devices and in scans.
#pragma once

#include "tensorwright/schedule.h"
#include "tensorwright/target.h"

namespace tw::schedule {

Schedule rule_schedule(const std::vector<te::Tensor>& outputs, const Target&);

}  // namespace tw::schedule
