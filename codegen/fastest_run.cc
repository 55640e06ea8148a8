#include "codegen/fastest_run.h"

#include <time.h>

#include <algorithm>
#include <limits>

namespace tw::codegen {

namespace {

constexpr int kRounds = 7;         // of which the fastest counts
constexpr double kPatience = 0.1;  // seconds
constexpr double kWhole = 0.97;    // of a core's time

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Clocks process_clocks() {
  return {[] { return seconds_of(CLOCK_MONOTONIC); }, [] { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }};
}

double fastest_run(int64_t tasks, const std::function<void()>& run, const Clocks& clocks) {
  const double end = clocks.wall() + kPatience;
  double best = std::numeric_limits<double>::infinity();
  bool undisturbed = false;
  for (int round = 0; round <= kRounds || (!undisturbed && clocks.wall() < end); ++round) {
    const double start = clocks.wall(), used = clocks.used();
    run();
    const double seconds = clocks.wall() - start;
    if (round == 0) continue;  // it warms up
    best = std::min(best, seconds);
    undisturbed |= clocks.used() - used >= kWhole * static_cast<double>(tasks) * seconds;
  }
  return best;
}

}  // namespace tw::codegen
