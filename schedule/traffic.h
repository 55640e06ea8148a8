// Bytes: what accesses of a stage touch while some of its loops run, and what moves between the levels of memory.
//
// Estimates from boxes: an access touches all of the box that its subscripts span, each row at least one cache line.
#pragma once

#include <vector>

#include "schedule/nest_view.h"

namespace tw::schedule {

// What the access touches while the root axes range so far (StageView::ranges).
double footprint(const AccessView&, const std::vector<int64_t>& ranges);

// Whether the access moves when the loop takes a step.
bool touches(const AccessView&, const LoopView&);

// What moves into a cache of `capacity` bytes: the working set of the outermost loops whose set fits into three
// quarters of it, once for each iteration around them that touches other data.
double traffic(const StageView&, double capacity);

}  // namespace tw::schedule
