// split(tail="pad") of a reduction axis: a sum takes terms past its end, which are zeros.
//
//   for k.o in 0..33:                                   for k.o in 0..33:
//     for k.i in 0..32:                                   for k.i in 0..32:
//       if k.o*32 + k.i < 1025:                  ==>        C += A.global[k.o*32 + k.i] * B.global[k.o*32 + k.i]
//         C += A.global[..] * B.global[..]
//
// Both factors are then read from copies that hold zeros from the last term on: a layout, or a split of the copy's own,
// rounds them up. Zeros of both: where the other factor were infinite, or no number, so would the sum be. A sum begins
// with +0, to which +0 adds nothing; one with init= may begin with -0. Where it is not proved, the condition stays, as
// tail="guard" has it.
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

// Whether all terms that the loops of this split, of a reduction axis, take past its end are zeros.
bool adds_zeros(const LoopNest&, const Placement&, const NestBounds&, int stage, const SplitRelation&);

}  // namespace tw::schedule
