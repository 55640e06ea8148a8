// Programs on an emulated CPU against the interpreter, over bits of all kinds.
#pragma once

#include <vector>

#include "tensorwright/ir.h"
#include "tests/diff/emulated.h"

namespace tw {

// Each program with `rounds` memories: any bytes, bytes at the ends of their ranges (as floats also infinities, NaN,
// signalling ones among them, and subnormal numbers), every fourth time numbers near 1.
void expect_agreement(const diff::EmulatedCpu&, const std::vector<ir::Program>& lowered, uint64_t rounds,
                      int opt_level = 3);

}  // namespace tw
