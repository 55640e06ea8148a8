// Forms fused multiply-adds: the one place where the result of float arithmetic is rounded less often than it was
// written.
//
//   a*b + c  ==>  fma(a, b, c)        a*b - c  ==>  fma(a, b, -c)        c - a*b  ==>  fma(-a, b, c)
//
// Requires: nothing. Stands before `halves` and `intrinsics`: their expansions choose themselves what is fused.
// Establishes: on a target that fuses, no float32 or float64 addition of a product is left.
// Leaves alone: other targets, halves (they round after each operation), integers.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program fma(const ir::Program&, const Target&);

}  // namespace tw::lower
