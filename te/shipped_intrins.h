// The tensor intrinsics that are there from the start.
#pragma once

#include <vector>

#include "tensorwright/tensor_intrin.h"

namespace tw::te {

std::vector<TensorIntrin> shipped_intrins();

}  // namespace tw::te
