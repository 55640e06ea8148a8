// Tails by their names.
#pragma once

#include <optional>
#include <string_view>

#include "tensorwright/ir.h"

namespace tw::schedule {

// Those that a split may ask for.
inline constexpr ir::Tail kTailsOfSplits[] = {ir::Tail::kAuto, ir::Tail::kGuard, ir::Tail::kMask,
                                              ir::Tail::kPeel, ir::Tail::kPad,   ir::Tail::kShiftInward};
std::optional<ir::Tail> tail_named(std::string_view);

}  // namespace tw::schedule
