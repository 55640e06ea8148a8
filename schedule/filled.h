// Operands of warps' products whose tiles reach past the end of what is summed.
//
//   C of 257 rows, in tiles of 128 by products of 16:       for k.o:
//                                                             for i in 0..128, k in 0..32, shared:
//   A.shared, read by C alone, computed at k.o       ==>        A.shared[i, k] = select(i.o*128 + i < 257 && .., A[..],
//   0)
//                                                             products of all of A.shared
//                                                           C[i.o*128 + i, ..] where i.o*128 + i < 257
//
// No lane of a warp can leave out its part of a product, so the operands in shared memory are whole tiles with zeros
// past the end, and only what is stored of the sums is left out. Terms that a sum leaves out itself because their
// sources end there, as the last part of an rfactor does, are such zeros too. Zeros of both operands: where one of them
// were anything else, it could be no number, and so would the sum be.
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

// Whether the stage holds, in shared memory and for nobody else, what a product of warps reads past the end. The
// bounds of its reader are known.
bool is_to_be_filled(const LoopNest&, const Placement&, const NestBounds&, int stage);

// Whether the terms that the reduction leaves out, where it does, are those past the end of all that it reads, as those
// of the last part of an uneven split are.
bool leaves_out_ends(const LoopNest&, const Placement&, int stage);

// Whether all operands of the stage, which is a product of warps, are filled: it is computed in whole tiles.
bool takes_whole_tiles(const LoopNest&, const Placement&, const NestBounds&, int stage);

}  // namespace tw::schedule
