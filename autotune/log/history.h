// What a log says about one task.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autotune/log/record.h"

namespace tw::autotune {

// dense(257, 513), matmul(M=257, N=513): a task as people write it.
std::string call_text(const std::string& name, const std::string& args_json);

// The task's name as a kernel can have it: other characters than letters, digits and _ become _.
std::string kernel_name(const Task&);

RecordKey key_of(const Task&, const MachineDescription&);

// Why a log has nothing for a task: what it does have comes first, since a wrong target or shape is the usual reason.
[[noreturn]] void no_record(const Task&, const std::string& path, const Log&);

// What a tuning begins with: trials of the task on a machine that lie in its space, the first of each configuration,
// with their numbers and in the order in which they were measured, however the log was merged; and those timed again.
struct Known {
  std::vector<std::pair<int64_t, Trial>> trials;
  std::vector<Record> confirmed;
};
Known known_trials(std::vector<Record>, const Task&, const MachineDescription&);

}  // namespace tw::autotune
