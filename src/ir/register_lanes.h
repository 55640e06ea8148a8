// Lanes: how many values of a type fit into a register.
#pragma once

#include <algorithm>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::ir {

// While they are computed with: halves are float32 then. At least 1.
inline int register_lanes(const Target& target, Type element) {
  return std::max(1, target.lanes(element.is_half() ? 32 : std::max<int>(8, element.bits)));
}

}  // namespace tw::ir
