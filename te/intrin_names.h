// Names of tensor intrinsics in text.
#pragma once

#include <string>

namespace tw::te {

// A key (tensor_intrin.h) as people read it: the name alone, where that means the same intrinsic.
std::string readable_intrin(const std::string& key);

}  // namespace tw::te
