// What a tuning has measured so far: its trials in order, the best of them, and how long that has stood.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tensorwright/autotune.h"

namespace tw::autotune {

class Account {
 public:
  // Keeps the trials, the failures and the curve of `result`, which outlives it.
  explicit Account(TuneResult& result) : result_(result) {}

  // `number` orders the trials of one log.
  void note(Trial, int64_t number);
  // Trials from `first` on, where several slots noted them out of order.
  void put_in_order(size_t first);

  double best_seconds() const { return best_seconds_; }  // infinite where no trial has a time
  size_t since_best() const { return result_.trials.size() - best_at_; }

  // Above which time a run is given up in the batch that begins with trial `first` (runtime/rounds.h).
  double give_up_above(size_t first) const;

 private:
  TuneResult& result_;
  std::vector<int64_t> numbers_;  // of its trials
  size_t best_at_ = 0;
  double best_seconds_ = INFINITY;
};

}  // namespace tw::autotune
