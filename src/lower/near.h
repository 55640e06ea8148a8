// exp of arguments that a thread has at hand, where none of them is far from 0: 2^n is added to the exponent.
//
//   for l in 0..8 vectorized: E[l] = exp(A[l] - m)
//     ==>
//   alloc x: float32[8] local
//   for l in 0..8 vectorized: x[l] = A[l] - m
//   alloc near: bool[1] local
//   near[0] = true
//   for l in 0..8: near[0] = select(abs(x[l]) <= 87.0, near[0], false)
//   if near[0]: for l in 0..8 vectorized: E[l] = near_exp(x[l])
//   else: for l in 0..8 vectorized: E[l] = exp(x[l])
//
// The ends of the range of exp, and two factors in the place of 2^n, take a third of its instructions. Both ways give
// the same bits. Requires: a program of launches; stands before `vectorize`. Leaves alone: all but loops of a few
// iterations around one store, whose arguments of exp are float32, evaluated in any case, and not what is stored; what
// stands in lanes.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program near(const ir::Program&, const Target&);

}  // namespace tw::lower
