// Reduce axes whose ends depend on other axes of their compute.
//
//   sum(A[i, k], k in 0..i + 1), i below n   ==>   sum(A[i, k], k in 0..n, where k < i + 1)
#pragma once

#include <string>
#include <vector>

#include "tensorwright/te.h"

namespace tw::te {

// Gives such axes the ends that they have for any value of the others, and the reduction the condition; refuses ends
// that have no bound.
void bound_reduce_axes(const std::string& what, const std::vector<IterVar>& axes, std::vector<Expr>& bodies,
                       const SourceLine& where);

}  // namespace tw::te
