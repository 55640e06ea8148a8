// Guards that stand around the whole body of a loop: out of the loop, or into its extent.
#pragma once

#include "src/lower/guard.h"
#include "tensorwright/ir.h"

namespace tw::lower {

//   for v in 0..e:                      if a:
//     if a && v + b < c:        ==>       for v in 0..min(e, c - b):
//       body                                body
//
// Only a serial loop gets an extent that is not constant. A loop that keeps its guards keeps conditions on its
// variable, and any loop those on one of `threads` as well: a loop that runs as often for all threads can be written
// out, and what it counts through stays in registers. The result carries no Tail.
ir::Stmt with_exact_extent(const ir::For& f, const ir::Stmt& body, const Ranges&,
                           const std::vector<ir::Var>& threads = {});

// Takes conditions that guard the whole body at any depth, or each of its statements, into a constant extent. Of a
// condition on other variables too that leaves out what holds for none of their values. The same loop when there is
// nothing to take.
ir::For tightened(const ir::For&, const Ranges&);

// All loops whose extents are no numbers, with conditions that guard their bodies in the extent.
ir::Stmt with_exact_symbolic_extents(const ir::Stmt&, const ir::Bounds& scalars);

// The conditions that all statements of a sequence stand under, around the sequence; nested Ifs as one.
ir::Stmt with_common_guard(const ir::Stmt&);

}  // namespace tw::lower
