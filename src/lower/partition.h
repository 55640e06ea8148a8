// Cuts loops where padding conditions hold throughout the middle, so that the middle computes without them.
//
//   for i in 0..64:                                   B[0] = A[0]
//     B[i] = select(1 <= i, A[i-1], 0) + A[i]  ==>    for i in 0..63:
//                                                       B[i+1] = A[i] + A[i+1]
//
// Of a sum that leaves terms out, where the loops around say which, those are not looked at:
//
//   for io in 0..16:                                                for io in 0..16:
//     for k in 0..64:                                                 for k in 0..io*4 + 1:
//       for i in 0..4:                                                  for i in 0..4:
//         C[i] = select(k <= io*4 + i, C[i] + t(k), C[i])  ==>            C[i] = C[i] + t(k)
//                                                                     for k in 0..3:
//                                                                       for i in 0..4:
//                                                                         C[i] = select(k < i, ..)
//
// Requires: nothing; stands after `tails`, whose remainders are cut less often.
// Establishes: reads that `clamps` made choices of are reads again where nothing decides them. A Select whose condition
// the loops around decide is gone. A body is copied at most kMaxCopies times: the middle is cut by all loops, what is
// left over at an edge by those of its sums only, so that d dimensions do not make 3^d copies; a few terms there are
// one by one, where copies of an unrolled loop leave out others each. Where loops that run at the same time share out
// rows, each row has a branch (inner_split.h).
// Leaves alone: conditions that are not conjunctions of affine comparisons; vectorised loops (their lanes become
// masks).
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program partition(const ir::Program&, const Target&);

}  // namespace tw::lower
