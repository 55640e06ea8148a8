// Fused loops, as the loops that they were fused of, where they would divide in each iteration.
//
//   for f in 0..n * m:                                   for i in 0..n:
//     C[f // m, f % m] = A[f // m, f % m] + B[f % m]  ==>   for j in 0..m:
//                                                            C[i, j] = A[i, j] + B[j]
//
// The same for a fused loop that was split into parts of a constant length: for o: for l in 0..8: if o*8 + l < n*m.
//
// A parallel one becomes pieces of rows, of at most 1,024 elements: as many rows as there are may be too few for the
// threads.
//
// Requires: nothing; stands before `lanes`, for which rows are loops like others.
// Establishes: a serial or parallel loop over n * m whose body asks for quotients and remainders by m, other than in
// subscripts that are together one number (simplify_products.cc), is two loops. Iterations of serial ones keep their
// order. Leaves alone: loops around loops where the extent is known, rows of fewer than 16 elements where that is,
// those that are whole subscripts, and parallel ones around loops or stores of 4 bits.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program rows(const ir::Program&, const Target&);

}  // namespace tw::lower
