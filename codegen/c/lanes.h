// Writes statements about vectors as loops over lanes, so that only scalars are left: C has no vectors, and a compiler
// makes them of such loops.
//
//   C[i*16 : 16] = A[i*16 : 16] * 2.0      ==>      for l in 0..16 vectorized:
//                                                     C[i*16 + l] = A[i*16 + l] * 2.0
//
// Requires: a lowered program, subscripts flat.
// Establishes: every expression has one lane; the loops over lanes, and no others, are `vectorized`. Where a lane would
// overwrite what another one has yet to read, the values are kept in a vector of their own first.
#pragma once

#include <functional>

#include "tensorwright/ir.h"

namespace tw::codegen {

// `stays`: statements that are left as they are.
ir::Program lanes_as_loops(const ir::Program& program, std::function<bool(const ir::Store&)> stays = {});

}  // namespace tw::codegen
