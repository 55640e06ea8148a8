// Gives lanes to data loops that the schedule left plain.
//
//   for i in 0..128:                      for i.o in 0..32:
//     for j in 0..128:                      for j.o in 0..2:
//       C[i, j] = 0                  ==>      for i.i in 0..4: for j.i in 0..64 vectorized: C[..] = 0
//       for k: C[i, j] = C[i, j] + x          for k: for i.i in 0..4: for j.i in 0..64 vectorized: C[..] = C[..] + x
//
// Requires: nothing. Stands before `tails`: what is left over of the split loops is cut off there, and `accumulators`
// takes the tile to registers.
// Establishes: of loops that stand one in the other with nothing between, whose iterations are independent, one is
// vectorized where that is worth it (lane_cost.h); where sums run inside, the nearest other one is repeated in the
// tile, so that as many sums grow side by side as hide the latency of an addition. The order in which a sum is taken
// stays.
// Leaves alone: loops around or inside one that the schedule vectorized, loops around parallel ones and around calls,
// and parallel and unrolled loops themselves.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program lanes(const ir::Program&, const Target&);

// What became of a band of plain loops.
struct LaneChoice {
  ir::Var loop;                          // has the lanes; without lanes the outermost loop
  int64_t elements = 0;                  // along the lanes of one tile; 0: no lanes
  ir::Var repeated = {};                 // the loop that is repeated in the tile, if one is,
  int64_t times = 1;                     // so often
  std::vector<ir::Buffer> written = {};  // by the band
  std::string reason = {};               // why there are no lanes
};
std::vector<LaneChoice> lane_choices(const ir::Program&, const Target&);

}  // namespace tw::lower
