// Writes exp, log, sin and the other functions of math/functions.h, and rsqrt, as arithmetic, so that no kernel calls a
// math library.
//
// Requires: arguments are float32 or float64 (`halves` has widened others).
// Establishes: of the functions only sqrt, abs, fma, reinterpret and those of bits (popcount, isnan, ...) are left, and
// floor, ceil, round, trunc on targets that have an instruction for them (SSE4.1). Scalars and vectors are computed
// alike. The largest errors stand in docs/math.md. Leaves alone: everything else. Where the target has no `fma`, the
// expansions use products and sums, and fma itself is emulated for float32 and refused for float64; the interpreter has
// it.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program intrinsics(const ir::Program&, const Target&);

// Whether the function becomes a polynomial, tens of instructions for each vector.
bool becomes_polynomial(ir::Fn);

}  // namespace tw::lower
