// What a log says about one task.
#pragma once

#include <string>
#include <vector>

#include "autotune/record.h"

namespace tw::autotune {

// dense(257, 513), matmul(M=257, N=513): a task as people write it.
std::string call_text(const std::string& name, const std::string& args_json);

// The task's name as a kernel can have it: other characters than letters, digits and _ become _.
std::string kernel_name(const Task&);

RecordKey key_of(const Task&, int threads, const std::string& hardware);

// The records of the task for this computation and target that say most about `wanted`: of this hardware if there are
// any, and of those the ones with this thread count, else with the nearest.
std::vector<const Record*> records_for(const Log&, const RecordKey& wanted);

}  // namespace tw::autotune
