// How long something takes on a machine that others use too.
#pragma once

#include <cstdint>
#include <functional>

namespace tw::codegen {

// Seconds that went by, and those for which this process had a core, of all its threads together.
struct Clocks {
  std::function<double()> wall, used;
};
Clocks process_clocks();

// The least of several runs of so many tasks, each of which keeps a core busy, in seconds. Where others use the cores,
// of so many more that in one of them all tasks had theirs, for as long as there is patience.
double fastest_run(int64_t tasks, const std::function<void()>& run, const Clocks& = process_clocks());

}  // namespace tw::codegen
