// Keeps the tile of a reduction in a private buffer, which becomes registers, while the reduction runs.
//
//   for ii, ji: C[io*6+ii, jo*64+ji] = 0             alloc acc[6, 64] local
//   for k:                                           for ii unrolled, ji: acc[ii, ji] = 0
//     for ii:                                        for k:
//       for ji vectorized:                     ==>     for ii unrolled, ji vectorized: acc[ii, ji] = acc[ii, ji] + x
//         C[io*6+ii, jo*64+ji] =                     for ii unrolled, ji vectorized: C[io*6+ii, jo*64+ji] = acc[ii, ji]
//           C[io*6+ii, jo*64+ji] + x
//
// Requires: guards have left the loops where they can (`tails`).
// Establishes: where the loops inside a reduction loop touch a tile of C that fits the target's vector registers, and C
// is not accessed otherwise there, the reduction loop holds no store to C and the tile's serial loops are unrolled. The
// tile is read from C first, unless an initialisation stands right before: that writes the accumulators instead. Under
// an outer reduction block the tile is read before the inner reduction loops and written after them. The order of
// operations is unchanged. Guards on lanes move from the accumulator, whose dead lanes nobody reads, to the loads
// beside it; from loads that are the same for all lanes to the front of the reduction, as an `if` whether any lane
// counts. Leaves alone: tiles that don't fit, extents that are not constant, reductions around parallel loops.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program accumulators(const ir::Program&, const Target&);

}  // namespace tw::lower
