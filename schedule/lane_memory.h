// Memory of a warp, in the registers of its lanes: of each buffer in scope warp every lane keeps its part, and what it
// reads of another's comes by an exchange (src/ir/warp_products.h).
//
//   for tx in 0..32 threadIdx.x:                        for tx in 0..32 threadIdx.x:
//     alloc W[64] warp                                    alloc W[2] local
//     for o in 0..2: W[o*32 + tx] = x                     for o in 0..2: W[o] = x
//     for o in 0..2:                               ==>    for o in 0..2:
//       if holds(tx): B[..] = W[o*32 + (tx + 1) % 32]       shfl(W.from, W[o], (tx + 1) % 32)
//                                                           if holds(tx): B[..] = W.from
//
// Where the lanes store in steps of m, element m * (32 * n + lane) + y, of y < m, is element m * n + y of that lane.
// Sums of a product of a warp, or of four, are where the instruction has them: each lane keeps four of each 16 x 8, and
// finds its own without an exchange. Lanes of four warps have none.
// All lanes come to an exchange together: a condition in which they differ goes inside, around what follows it.
#pragma once

#include "schedule/loop_nest.h"
#include "schedule/match_intrin.h"

namespace tw::schedule {

// Of a program's body, which has no memory of a warp from then on; the Diagnostic names the stage that no lanes keep.
Result<ir::Stmt> kept_by_lanes(const ir::Stmt& body, const LoopNest&, const std::vector<BoundIntrin>&,
                               const std::vector<Step>&);

}  // namespace tw::schedule
