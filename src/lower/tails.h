// Resolves guards: main loops run without them, remainder loops have exact extents.
//
//   for io in 0..43 tail=peel:               for io in 0..42:
//     for ii in 0..6:                          for ii in 0..6:
//       if io*6 + ii < 257:          ==>         body
//         body                               for ii in 0..5:
//                                              body             // io = 42
//
// Requires: guards are conjunctions of comparisons of affine forms of loop variables; whatever else stands in an If
// stays. Establishes: a guard that holds, or fails, for all iterations around it is gone. A loop over which a guard
// holds from one value on is split there (kPeel, kAuto, and loops that no uneven split brought about); a parallel
// loop, and one whose guard looks at a quotient of its variable (a fused loop), gets an If inside instead, or one body
// with loops that run as often as there is to do (join.h). One body is copied at most kMaxCopies times. Guards stand
// as far out as they can: outside of every loop that they do not mention. A loop whose whole body is guarded by a
// condition on its variable has a smaller extent instead. Where a thread of a device writes vectors that may reach
// past the end, it asks first whether all lanes count. No loop carries a Tail. Leaves alone: guards of loops that
// asked for kGuard, and those of kMask that lanes decide; `vectorize` makes predicates of what it meets. (A kMask that
// has no lanes to mask is taken as kAuto: a branch in the inner loop is what nobody asked for.)
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

inline constexpr int kMaxCopies = 16;

ir::Program tails(const ir::Program&, const Target&);

}  // namespace tw::lower
