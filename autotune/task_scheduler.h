// Which task gets the next batch.
#pragma once

#include <cstddef>
#include <vector>

namespace tw::autotune {

// What is known of a task's tuning: all of it from its trials, so that the same log gives the same decisions.
struct TuningState {
  double weight = 1;
  std::vector<double> curve;     // best seconds after each trial; infinity while there is none
  double seconds_per_trial = 0;  // of measuring
  bool finished = false;         // its space is exhausted, or it stopped early
  int begun = 0;                 // trials, those whose result does not count yet included
};

// The task with the largest expected gain, of equals the one with the fewest trials begun, then the first; -1 when all
// have finished.
int next_task(const std::vector<TuningState>&, size_t batch);

}  // namespace tw::autotune
