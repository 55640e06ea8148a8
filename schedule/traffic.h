// Bytes: what accesses of a stage touch while some of its loops run, and what moves between the levels of memory.
//
// Estimates from boxes: an access touches all of the box that its subscripts span.
#pragma once

#include <vector>

#include "schedule/machine.h"
#include "schedule/nest_view.h"

namespace tw::schedule {

// Bytes of arguments: where there are fewer, an output is in the last cache again when it is written the next time.
inline constexpr double kMoreThanCaches = 64 << 20;

// What the access touches while the root axes range so far (StageView::ranges); a row counts at least `line`.
double footprint(const AccessView&, const std::vector<int64_t>& ranges, double line = kCacheLineBytes);

// Whether the access moves when the loop takes a step.
bool touches(const AccessView&, const LoopView&);

// Lines whose distance is a multiple of `way` bytes share a set, which holds `bytes / way` of them; 0 where a hash
// spreads the lines over all sets.
struct Cache {
  double bytes = 0;
  int64_t way = 0;
};
Cache l1_of(const Machine&);
Cache l2_of(const Machine&);

// What moves into a cache: the working set of the outermost loops, the consumers' among them, whose set fits into three
// quarters of it, once for each iteration around them that touches other data. An access of whose lines too many share
// a set, as rows do that lie a power of two apart, stays in L1 during fewer loops, and in L2 a share of it.
double traffic(const StageView&, const Cache&);

// Pages whose translation comes into the nearest buffer for it, in the same way.
double page_translations(const StageView&);

// Lines that a core asks for one by one, of what moves into a cache: the first ones of each run of bytes that lie side
// by side, or so little apart that a core follows them. Of more than a few runs at a time none is read on: a column of
// vectors is as many runs as it has rows, where these are longer than a core follows.
double lines_before_streams(const StageView&, const Cache&);

// What moves into registers of `capacity` bytes: what the innermost loops that are repeated in the code (vectorized,
// unrolled) hold, or as many of them as fit, stays while the loops around leave it alone.
double register_traffic(const StageView&, double capacity);

}  // namespace tw::schedule
