// How far the iterations of a loop move a read whose subscripts are no sums of axes: quotients, remainders, ends that
// are not left, and what is read from memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/nest_view.h"

namespace tw::schedule {

// Elements between what is read where the root axis is `place`, and all others 0, and where it is 0 too, in a tensor of
// these strides. Nothing where what is read from memory decides it.
std::optional<double> moved_to(const AccessView&, size_t root, int64_t place, const std::vector<double>& strides);

}  // namespace tw::schedule
