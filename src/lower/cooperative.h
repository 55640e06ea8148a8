// The threads of a block share out the iterations of a loop.
//
//   for n in 0..256 cooperative:                  for n.c in 0..2:            // 32 threads, 4 elements of a row each
//     P[n // 16, n % 16] = A[n // 16, n % 16]  ==>  for n.v in 0..4 vectorized:
//                                                     P[n.c*8 + tx // 4, tx % 4 * 4 + n.v] = A[..]
//
//   for n in 0..100 cooperative:                  for n.c in 0..4:
//     P[n] = f(n)                              ==>  if n.c*32 + tx < 100: P[n.c*32 + tx] = f(n.c*32 + tx)
//
// Requires: `tails` and `partition` are through: whose condition is decided has left.
// Establishes: no cooperative loop is left. Neighbouring threads take neighbouring elements, or vectors of up to 16
// bytes where each lies within one row of all that is read and written and begins at a multiple of its length; arrays
// begin at one, copied as they are or rounded by te.tf32. A thread is alone with the element of an iteration in each
// loop of the same extent.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program cooperative(const ir::Program&, const Target&);

}  // namespace tw::lower
