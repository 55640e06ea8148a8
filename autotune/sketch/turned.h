// Operands whose terms lie apart, where the target multiplies groups of terms at once.
#pragma once

#include "autotune/sketch/graph.h"

namespace tw::autotune::sketch {

//   C[i, j] = sum over k of A[k, i] * B[k, j]
//     ==>
//   A.global[i, k] = A[k, i]
//   C[i, j] = sum over k of A.global[i, k] * B[k, j]
//
// and an image that has its channels before its pixels likewise, whose filters are then the lanes. Each operand that no
// instruction can take as it lies, and can once a copy has its terms side by side, is read by such a copy.
Graph turn_operands(Graph, const Target&);

}  // namespace tw::autotune::sketch
