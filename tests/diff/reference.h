// What a tensor expression means, read off the expression itself: no program, no identity, no code of the compiler's
// but the arithmetic on single values. The definition that all the others are compared with is compared with this.
#pragma once

#include <optional>

#include "schedule/loop_nest.h"
#include "tests/diff/values.h"

namespace tw::diff {

// Of the outputs; inputs come back as they were. Nothing where the expression has an extern or a scan.
std::optional<Memory> reference(const Sample&, const Memory& inputs, const std::vector<int64_t>& sizes);

// The same with the terms of each reduction in the order in which the loops of its stage are documented to add them
// (docs/semantics.md), so that floats come out bit for bit. Nothing where no reduction has lanes, or where a Step took
// one apart.
std::optional<Memory> reference_in_order(const Sample&, const schedule::LoopNest&, const Memory& inputs,
                                         const std::vector<int64_t>& sizes);

}  // namespace tw::diff
