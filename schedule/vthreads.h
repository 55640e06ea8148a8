// Virtual threads: iterations of a thread's loop that go on side by side, statement by statement.
//
//   for v in 0..2 vthread:                       alloc P: [2, 4] local
//     alloc P: [4] local                         for v in 0..2 unrolled: P[v, 0..4] = 0
//     P[0..4] = 0                                for k in 0..n:
//     for k in 0..n:                       ==>     sync; S[..] = A[..]; sync
//       sync; S[..] = A[..]; sync                  for v in 0..2 unrolled: P[v, 0..4] = P[v, 0..4] + S[v*4 + 0..4]
//       P[0..4] = P[0..4] + S[v*4 + 0..4]        for v in 0..2 unrolled: C[v*4 + 0..4] = P[v, 0..4]
//     C[v*4 + 0..4] = P[0..4]
//
// What does not depend on the virtual thread happens once for all of them, so that they meet other threads together and
// use what is loaded for one another; memory whose contents depend on it each of them has for itself.
#pragma once

#include <unordered_set>

#include "tensorwright/ir.h"

namespace tw::schedule {

// REQUIRES: the loops of these variables have extents that are numbers; an iteration reads nothing that another one
// writes; what stands under a condition that their variables are in, or in a loop as long as they say, waits for
// nobody.
ir::Stmt side_by_side(const ir::Stmt&, const std::unordered_set<uint64_t>& virtual_loops);

}  // namespace tw::schedule
