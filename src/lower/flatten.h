// Turns subscripts with one expression per dimension into one element offset.
//
//   C[i, j]  of  C: float32[257, 513]   ==>   C[i*513 + j]  of  C: float32[131841]
//
// Requires: shapes and strides are constants or expressions over parameters.
// Establishes: every buffer has one dimension and no strides (same id, as many elements as it spans); every subscript
// is the offset of the element, a Ramp where neighbouring lanes are a constant stride apart; no subscript that is data
// (A[at[i]]) leaves the buffer: it is clamped. Leaves alone: everything but buffers and subscripts.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program flatten(const ir::Program&, const Target&);

// The buffer in one dimension, as the pass sees it: same id, as many elements as it spans.
ir::Buffer flattened(const ir::Buffer&);

}  // namespace tw::lower
