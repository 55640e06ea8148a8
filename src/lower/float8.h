// Writes conversions of float8_e4m3fn and float8_e5m2 as integer arithmetic, by way of float32.
//
//   C[i] = float8_e5m2(float32(A[i]) * 2)        ==>   C[i] = narrow(widen(A[i]) * 2)
//
// Requires: nothing. Stands before `halves`, which then sees conversions between halves and float32.
// Establishes: values of these types are loaded, stored, chosen and reinterpreted only; a conversion rounds once, from
// every type. Leaves alone: everything else.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program float8(const ir::Program&, const Target&);

}  // namespace tw::lower
