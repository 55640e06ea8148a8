// Keeps elements as wide as they are calculated with, where one of them is a factor for all lanes of a vector.
//
//   alloc A.copy: bfloat16[6, 512]                                alloc A.copy: float32[6, 512]
//   for i, k: A.copy[i, k] = A[i, k]                              for i, k: A.copy[i, k] = float32(A[i, k])
//   for j, k, i: C[i, 8j : 8] = C[i, 8j : 8]               ==>    for j, k, i: C[i, 8j : 8] = C[i, 8j : 8]
//     + float32(A.copy[i, k]) * float32(B[k, 8j : 8])               + A.copy[i, k] * float32(B[k, 8j : 8])
//
// A vector of elements is converted by an instruction or two for all lanes; an element alone takes as many, and some to
// bring it into all lanes: more than the product. Every stored value is one of the narrow type, so that the results are
// the same bits. Requires: vectors. Stands before `halves`, which makes arithmetic of conversions. Establishes: the
// elements are converted once, when they are stored. Leaves alone: memory of the caller; buffers that are read in
// vectors, by address or under a condition on lanes, or that are not only converted to one type of twice the width;
// elements that are read a few times only.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program wide_copies(const ir::Program&, const Target&);

// Whether elements of the one type that are converted to the other are such.
bool keeps_wide(ir::Type element, ir::Type calculated_with);

}  // namespace tw::lower
