// What a schedule must keep to where loops are products of a warp.
#pragma once

#include <string>

#include "schedule/bounds.h"

namespace tw::schedule {

// Of a stage that is one: in a launch, its sums where all threads find them, threadIdx.x left to the lanes.
Status check_warp_product(const LoopNest&, const Placement&, int stage, const std::vector<Step>& steps);
// Of the launch of a stage at root: nobody binds more threads along x than a warp has lanes.
Status check_lanes(const LoopNest&, const Placement&, const NestBounds&, int root, const std::vector<Step>& steps);

std::string warp_product_names();  // for people

}  // namespace tw::schedule
