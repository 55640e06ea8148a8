// Gives register tiles their shape back: local scratch that is only touched vector by vector becomes an array of
// vectors.
//
//   allocate acc: float32[64] local          ==>    allocate acc: float32[4, 16] local
//   for l in 0..16: acc[16 + l] = 0.0               for l in 0..16: acc[1, l] = 0.0
//
// Requires: a program as lanes.h leaves it.
// Establishes: local buffers of two dimensions are such arrays; all their accesses stand in loops over all lanes.
#pragma once

#include "tensorwright/ir.h"

namespace tw::codegen {

ir::Program tiles_of_vectors(const ir::Program& program);

}  // namespace tw::codegen
