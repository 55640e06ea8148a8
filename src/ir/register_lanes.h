// Lanes: how many values of a type fit into a register, and from how far apart they are taken.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::ir {

// Elements from lane to lane of vectors that are sorted out of whole ones: of lanes further apart each is loaded by
// itself.
inline constexpr int64_t kFewApart = 4;

// While they are computed with: halves are float32 then. At least 1.
inline int register_lanes(const Target& target, Type element) {
  return std::max(1, target.lanes(element.is_half() ? 32 : std::max<int>(8, element.bits)));
}

}  // namespace tw::ir
