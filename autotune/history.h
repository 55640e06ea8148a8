// What a log says about one task.
#pragma once

#include <string>
#include <vector>

#include "autotune/record.h"

namespace tw::autotune {

RecordKey key_of(const Task&, int threads);

// The records of the task for this computation and target: of this thread count if there are any, else of the nearest.
std::vector<const Record*> records_for(const Log&, const Task&, int threads);

}  // namespace tw::autotune
