// A size that was tuned stands for a range of sizes, from the one before it: which configuration is for all of them.
#pragma once

#include <vector>

#include "autotune/log/record.h"

namespace tw::autotune {

// `own`: the best record of the size itself; null where that was pruned. `records` are of its key; those of kind
// `range` say how long configurations take at other sizes of the range. The one that loses least where it loses most,
// against the fastest at each of these sizes, wins, by its record at the size itself; `own` where it loses hardly more,
// or was not timed there.
const Record* best_in_range(const std::vector<const Record*>& records, const Record* own);

}  // namespace tw::autotune
