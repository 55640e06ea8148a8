// The partial results of a reduction one of whose loops is vectorized: one for each lane of that loop, at each
// iteration of the data loops inside the reduction.
//
//   for i.i: for k.i: C.lanes[i.i, k.i] = identity
//   for k.o: for i.i: for k.i: C.lanes[i.i, k.i] = C.lanes[i.i, k.i] op x
//   for i.i: join the lanes (te/lane_joins.h); C[i.i] = init op C.lanes[i.i, 0]
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

struct PartialResults {
  int position = kNone;             // of the lanes' loop among the leaves; kNone: there is none
  int64_t lanes = 1;                // its extent
  std::vector<ir::Buffer> buffers;  // one for each output
  std::vector<ir::Expr> at;         // over the data loops, then the lanes' loop
  ir::Expr counts;                  // which lanes have a term; empty: all
};

// Of a stage whose outermost reduction loop is at `outermost`; the results themselves go to `to`. In a launch they are
// a thread's own whatever their size, which check_launches.h then judges.
PartialResults partial_results(const StageNest&, const StageBounds&, int outermost, const std::vector<ir::Buffer>& to,
                               bool in_launch);

// The values of lane 0 in the place of the lanes' loop.
std::vector<ir::Expr> first_lane(const PartialResults&);

// Joins the lanes, after which lane 0 holds the result.
ir::Stmt joined(const PartialResults&, const ir::Reduce&, ir::ForKind lanes);

}  // namespace tw::schedule
