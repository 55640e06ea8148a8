// Products of whole tiles, where the target has no registers for them, row by row.
//
//   C[16 x 16] = tile_u8i8(C[..], A[..], B[..])   ==>   for i in 0..16:
//                                                         row = C[i]
//                                                         for k in 0..16: row = dot_u8i8(row, A[i, k], B[k])
//                                                         C[i] = row
//
// Requires: flat subscripts; bfloat16 that is computed in float32 has left (`halves`).
// Establishes: a product of tiles is one of the target's, its operands are rows of memory, its sums are those of the
// memory that it is stored to. Operands that lie otherwise, or are guarded, are copied to scratch memory first.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program tiles(const ir::Program&, const Target&);

}  // namespace tw::lower
