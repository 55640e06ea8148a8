// Keeps the tile of a reduction in memory of its own while the loops around come back to it, where its rows share sets
// of the first cache.
//
//   C: float32[1024, 1024]                           alloc tile[32, 32] local
//   for i, j: C[io*32+i, jo*32+j] = 0                for i, j: tile[i, j] = 0
//   for ko:                                          for ko:
//     for i:                                   ==>     for i:
//       for ki:                                          for ki:
//         for j vectorized:                                for j vectorized:
//           C[io*32+i, jo*32+j] =                            tile[i, j] = tile[i, j] + x
//             C[io*32+i, jo*32+j] + x                for i, j vectorized: C[io*32+i, jo*32+j] = tile[i, j]
//
// Rows a multiple of 4 KB apart lie in one set of the first cache (all that the known CPUs have hold 64 lines a way)
// and a set holds 8 to 12 lines: each access to a higher tile than that waits for the second cache. Requires: guards
// have left the loops where they can (`tails`, `partition`). Establishes: the tile is read from C first, unless an
// initialisation of it stands right before, which writes the copy instead. The order of operations is unchanged. Leaves
// alone: tiles that fit the vector registers, which `accumulators` keeps there; larger ones than a quarter of the
// cache; those that the loops come back to a few times only; accesses under conditions; extents that are not constant;
// loops around parallel ones.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

// Whether rows of a buffer, or what else lies along one of its dimensions, share sets of the first cache.
bool rows_share_sets(const ir::Buffer&);

ir::Program private_tiles(const ir::Program&, const Target&);

}  // namespace tw::lower
