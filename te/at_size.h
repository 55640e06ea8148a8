// A computation of any size, at one.
#pragma once

#include <vector>

#include "tensorwright/te.h"

namespace tw::te {

// The tensors, and what they are computed from, as they would be declared with a number in the place of the variable.
// Throws kTune for scans and externs, which are not declared again.
std::vector<Tensor> at_size(const std::vector<Tensor>& tensors, const Var& size, int64_t value);

}  // namespace tw::te
