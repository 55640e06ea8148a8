// One statement in the place of two branches that differ in how often loops run.
//
//   if t < 15:                                for i in 0..select(t < 15, 22, 20):
//     for i in 0..22:                           for k in 0..64:
//       for k in 0..64:                           body(t, i, k)
//         body(t, i, k)             ==>       if 15 <= t:
//   else:                                       rest
//     for i in 0..20:
//       for k in 0..64:
//         body(15, i, k)
//     rest
//
// By induction over the statement: where the condition holds it does what the first branch does, elsewhere what the
// second does, in its order. Two parts are one where they are equal up to the names of what they bind, and to what is
// known of an atom where the condition fails.
#pragma once

#include <optional>

#include "tensorwright/ir.h"

namespace tw::lower {

// The condition, and the same turned round; and the one value that an atom has where it fails, if it is one.
struct Choice {
  ir::Expr holds, fails;
  ir::Expr atom;  // empty: none is known
  int64_t value = 0;
};

// Loops around loops, without which no branches are joined.
bool holds_outer_loop(const ir::Stmt&);

// Empty where most of the branches would stand twice all the same, or would run slower: loops without a loop inside,
// unrolled ones and lanes are in both branches the same or stay apart; within a loop, a condition stands only beside
// another loop around loops; a tile that a reduction comes back to keeps its extents.
std::optional<ir::Stmt> joined(const Choice&, const ir::Stmt& then, const ir::Stmt& otherwise);

}  // namespace tw::lower
