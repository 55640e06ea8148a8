// What is measured how long, for whoever tunes: here, elsewhere, or with a pack. Runs that take too long are given up.
// The fastest few are timed again, in rounds, so that a drift of the machine meets all of them alike and noise does not
// choose.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tw::runtime {

// Above which time a run is given up: twice the best that was known before its batch, for the whole of that: which of
// its runs ends first decides nothing. Where there was none, the first of the batch counts; 0 where there is neither.
// Times that are not known are 0 or infinite.
double give_up_above(double best_before, double first_of_batch);

// What is known of one of them, in seconds.
struct LeaderTimes {
  double first = 0;           // when it was found
  std::vector<double> again;  // since
  size_t rounds = 0;          // that it took part in, also where it gave no time
  bool failed = false;        // ever

  // The second smallest of all: what disturbs a run adds to it, and the smallest was chosen for being so. 0 where it
  // failed or was not timed again.
  double typical() const;
};

// Places of those that the next round times: twice each, and unless runs are long up to four times while more than one
// may have won. Empty once that is known. The fastest comes first.
std::vector<size_t> next_round(std::span<const LeaderTimes> leaders);

}  // namespace tw::runtime
