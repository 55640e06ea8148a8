// Turns loops marked `vectorized` into vector arithmetic.
//
//   for i in 0..40 vectorized:             for c in 0..2 unrolled:
//     C[i] = A[i] + B[0]             ==>     C[ramp(c*16, 1, 16)] = A[ramp(c*16, 1, 16)] + broadcast(B[0], 16)
//                                          C[ramp(32, 1, 8)] = A[ramp(32, 1, 8)] + broadcast(B[0], 8)
//
// Requires: nothing; a marked loop that has no vector form becomes serial. Stands after `tails` (masks are known) and
// after `accumulators` (reduction tiles are private buffers). Establishes: no loop is marked vectorized. Vectors are as
// wide as the target's registers for the widest type in the loop; what is left over is one masked vector, or on a
// target without masks vectors of 8, 4, 2, 1 lanes. More than a few vectors become a loop over groups of four.
// Conditions on lanes are predicates of loads and stores, in the arms of a select too, so that no lane touches what the
// scalar loop would not; but for elements that are there whatever the lane, and those that the condition has read.
// Serial loops inside stay, around the vectors. A statement that calls a C function without effects, or a loop whose
// extent each lane has another of, goes through the lanes one by one; those beside it are vectors. No vector form:
// extents that are not constant, parallel loops inside, calls with effects, a store that all lanes write to, two
// different accesses to one buffer of which one is a store, unless iterations are seen to be apart (independence.h).
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program vectorize(const ir::Program&, const Target&);

}  // namespace tw::lower
