// How many times to run something until its median is known.
#pragma once

#include <functional>
#include <vector>

#include "tensorwright/runtime.h"

namespace tw::runtime {

struct TimingPolicy {
  int number = 0;  // calls per repeat; 0: as many as make a repeat last `repeat_s`
  int repeat = 0;  // 0: until the confidence interval of the median is tight, or `budget_s` is spent
  double repeat_s = 200e-6;
  double budget_s = 15e-3;    // of an adaptive measurement, once it has a few repeats
  double slow_above_s = 0;    // a call that keeps taking longer needs no tight median; 0: none does
  int fewest_repeats = 3;     // whatever the budget is; one less shows that a call is slow
  double stop_after_s = 1e9;  // whatever else was asked for
  double tightness = 0.01;    // half-width of the 95 % interval, relative to the median
};

double seconds_now();

// Throws kArgument for what no timing is, and kTune under TW_MEASURE=forbid.
void check_timing(const TimingOptions&);

// Fills in median and spread from runs.
void summarise(Timing&);
double median(std::vector<double> values);
// Half the width of the 95 % confidence interval of the median, from order statistics, relative to the median.
double median_uncertainty(std::vector<double> runs);

// Seconds that so many calls take together; negative to stop early.
using TimedCalls = std::function<double(int calls)>;
// `one` is roughly what one call takes.
Timing measure(const TimedCalls&, double one, const TimingPolicy&);

}  // namespace tw::runtime
