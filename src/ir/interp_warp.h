// Products of a warp in the interpreter (src/ir/warp_products.h): what a lane brings, and what all lanes make of it.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "src/ir/interp_program.h"
#include "src/ir/warp_products.h"

namespace tw::ir::interp {

// A lane reads its fragments before it waits for the others, and stores its sums once it goes on.
struct LaneProduct {
  const WarpProduct* product;
  int number;  // of the call in the text of the launch
  std::array<int64_t, 3> offsets;
  std::array<std::vector<Value>, 3> fragments;
};

// Leaves sums in place of what the lanes brought; a Fault where they have their fragments at different places.
void multiply(std::span<LaneProduct* const> lanes);

// A product is the next one in the text of the launch that is being prepared.
ExprPtr warp_code(Preparation&, const WarpProduct&, const CallExtern&);

}  // namespace tw::ir::interp
