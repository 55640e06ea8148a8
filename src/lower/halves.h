// Computes float16 and bfloat16 in float32, rounding after each operation, and writes conversions as integer
// arithmetic.
//
//   C[i] = A[i] + B[i] * A[i]        ==>   C[i] = narrow(wide(A[i]) + round(wide(B[i]) * wide(A[i])))
//
//   round(x) = wide(narrow(x));  narrow: float32 -> 16 bits, to nearest, ties to even;  wide: 16 bits -> float32, exact
//
// Requires: nothing. Stands before `intrinsics`, which knows no halves.
// Establishes: halves are only loaded, stored and reinterpreted; no Cast has a half on either side, except float16 <->
// float32 on a target whose instructions convert them, with the same results (a NaN stays a NaN; its payload may
// differ), and float16, bfloat16 <-> float32 in C and CUDA, which have functions for them.
// Leaves alone: the number of roundings: operations that are exact in the half type (abs, min, max, select, floor) add
// none.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program halves(const ir::Program&, const Target&);

}  // namespace tw::lower
