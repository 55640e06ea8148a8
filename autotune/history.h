// What a log says about one task.
#pragma once

#include <string>
#include <vector>

#include "autotune/record.h"

namespace tw::autotune {

// dense(257, 513): a task as people write it.
std::string call_text(const std::string& name, const std::string& args_json);

RecordKey key_of(const Task&, int threads);

// The records of the task for this computation and target: of this thread count if there are any, else of the nearest.
std::vector<const Record*> records_for(const Log&, const Task&, int threads);

}  // namespace tw::autotune
