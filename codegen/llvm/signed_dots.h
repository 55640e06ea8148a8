// Sums of dot products of bytes for an instruction whose left factors have a sign where these have none, or none where
// they have one: (a + 128) * b - 128 * b of signed ones, (a - 128) * b + 128 * b of others. With `a'`, which is `a`
// with its first bit turned:
//
//   for k:                                            N[0 : 16] = 0
//     S[0 : 16] = dot_i8i8(S[0 : 16], a, b)    ==>    for k:
//     S[16 : 16] = dot_i8i8(S[16 : 16], c, b)           N[0 : 16] = dot_u8i8(N[0 : 16], 128, b)
//                                                       S[0 : 16] = dot_u8i8(S[0 : 16], a', b)
//                                                       S[16 : 16] = dot_u8i8(S[16 : 16], c', b)
//                                                     S[0 : 16] = S[0 : 16] - N[0 : 16]
//                                                     S[16 : 16] = S[16 : 16] - N[0 : 16]
//
// What is too much is the same for all rows of sums that are multiplied by the same factors: one more sum beside them,
// taken away behind the outermost loop that adds to them, instead of a product and a subtraction in each iteration.
// Sums wrap around, so that the results are the same bits.
#pragma once

#include <optional>

#include "tensorwright/ir.h"

namespace tw::codegen {

// The products that are meant, those that there are, and the lanes of both.
struct OtherSigns {
  ir::Fn meant, there;
  int lanes;
};

// The loop and what stands around it then; nothing where no sums are such. Sums are lanes of scratch memory at places
// that are numbers; while the loop runs nothing else touches that memory.
std::optional<ir::Stmt> with_other_signs(const ir::For& loop, const OtherSigns&);

}  // namespace tw::codegen
