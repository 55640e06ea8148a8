// What earlier logs teach: their trials with features, whatever their tasks, as samples for a cost model.
#pragma once

#include <string>
#include <vector>

#include "autotune/log/record.h"
#include "autotune/model/cost_model.h"

namespace tw::autotune {

// Groups by key (a task, a target, threads and a machine), in the order of the first record of each. Trials without
// features of this release are left out, and so are groups of too few.
Samples samples_of(const std::vector<Record>&);

// Of all these logs. Throws LogError.
Samples samples_of_logs(const std::vector<std::string>& paths);

}  // namespace tw::autotune
