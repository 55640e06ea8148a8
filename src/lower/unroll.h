// Writes loops marked `unrolled` out, one copy of the body per iteration.
//
//   for i in 0..3 unrolled:         C[0] = A[0]
//     C[i] = A[i]             ==>   C[1] = A[1]
//                                   C[2] = A[2]
//
// Requires: nothing. Stands after `vectorize`: what is repeated is vectors.
// Establishes: no loop is marked unrolled. A loop whose extent is not constant, or whose copies would take more than
// TW_MAX_UNROLL statements (default 4096), is serial.
// Leaves alone: all other loops.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program unroll(const ir::Program&, const Target&);

}  // namespace tw::lower
