// Stock operators as tasks: by name when they are tuned, and again from what a log says of them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "autotune/log/record.h"

namespace tw::autotune {

// te::ops::make as a task with an automatic space, named and logged as the operator with all its parameters. Throws
// ArgumentError for a name or a parameter that does not exist.
Task stock_task(const std::string& name, const std::map<std::string, std::string>& given, Target target);

// The task that the record is of, if it is a stock operator's and its computation is still the same.
std::optional<Task> recorded_task(const Record&);

// Whether a task's arguments say the size at which a kernel of any was measured, {"n":8}: those of an operator are all
// its parameters, and not all of them numbers.
bool says_size(const std::string& args_json);

}  // namespace tw::autotune
