// Which configuration wins: the fastest few are timed again, in rounds, so that a drift of the machine meets all of
// them alike and noise does not choose.
#pragma once

#include <optional>
#include <vector>

#include "autotune/log/record.h"

namespace tw::autotune {

// What tells configurations apart: their Steps, or, of records that came without (autotvm.h), their knobs.
std::string configuration_of(const Trial&);

// The best configuration among `records`, which have one key; its record, whose time stands for the configuration.
//
// A configuration that was timed again has the second smallest of all its times: what disturbs a run adds to it, and
// the smallest was chosen for being so. One that was not has its first time, which was picked for being small: it wins
// over those that were only where it is clearly faster. One that ever failed wins nothing. Of a size that stands for a
// range, the best all over that (range_winner.h).
const Record* best_record(const std::vector<const Record*>& records);

// The trial of the best configuration of one tuning, of which `confirmed` were timed again; none where all failed.
std::optional<Trial> winner(const std::vector<Trial>&, const std::vector<Record>& confirmed);

// The `count` fastest, by their first times.
std::vector<const Trial*> fastest(const std::vector<Trial>&, size_t count);

// Those of `leaders` that the next round times again (runtime/rounds.h). Follows from the records alone, so that a run
// that was cut off goes on where it was.
std::vector<const Trial*> next_round(const std::vector<const Trial*>& leaders, const std::vector<Record>& confirmed);

}  // namespace tw::autotune
