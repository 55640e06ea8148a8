// Bytes: what accesses of a stage touch while some of its loops run, and what moves between the levels of memory.
//
// Estimates from boxes: an access touches all of the box that its subscripts span.
#pragma once

#include <vector>

#include "schedule/nest_view.h"

namespace tw::schedule {

inline constexpr double kCacheLine = 64;

// What the access touches while the root axes range so far (StageView::ranges); a row counts at least `line`.
double footprint(const AccessView&, const std::vector<int64_t>& ranges, double line = kCacheLine);

// Whether the access moves when the loop takes a step.
bool touches(const AccessView&, const LoopView&);

// What moves into a cache of `capacity` bytes: the working set of the outermost loops, the consumers' among them, whose
// set fits into three quarters of it, once for each iteration around them that touches other data.
double traffic(const StageView&, double capacity);

// What moves into registers of `capacity` bytes: what the innermost loops that are repeated in the code (vectorized,
// unrolled) hold, or as many of them as fit, stays while the loops around leave it alone.
double register_traffic(const StageView&, double capacity);

}  // namespace tw::schedule
