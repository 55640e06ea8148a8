// After a kernel was tuned at several sizes: its schedules are timed between these sizes too.
//
// Of each range, from one tuned size to the next, the fastest few there and the best of all other sizes are timed at
// its beginning, its middle and its end, in turns. log/range_winner.h says which of them is for the range.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorwright/autotune.h"

namespace tw::autotune {

struct TunedSize {
  int64_t value = 0;
  Task task;  // Task::at_size
  TuneResult result;
};

// For each of `tuned`, which ascend, the trial that is for the range up to it. What `options.log` says already is not
// measured again; what is measured is appended to it. Where a tuning was stopped, its best, if it has one.
// `runner` null: this machine.
std::vector<Trial> time_ranges(const std::vector<te::Tensor>& args, const ir::Var& size,
                               const std::vector<std::pair<ir::Var, int64_t>>& others,
                               const std::vector<TunedSize>& tuned, const TuneOptions&, runtime::Runner* runner);

}  // namespace tw::autotune
