// Which loops a nest lowers to, as a number.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/nest_view.h"

namespace tw::autotune {

// Of what decides that and nothing else: loops of one iteration, names and the order of independent Steps leave no
// trace.
uint64_t hash_of(const schedule::LoopNest&, const std::vector<schedule::StageView>&);

}  // namespace tw::autotune
