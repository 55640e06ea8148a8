// Pairs whose schedule may be a candidate of the expression's automatic space, as the tuner would draw it.
#pragma once

#include "tests/diff/sampler.h"

namespace tw::diff {

// As `draw`, but for a share of the seeds: a space that cannot be made, and one that has no legal candidate in a few
// draws, are refusals.
Sample draw_pair(uint64_t seed, int devices = kDevices);

// Of each rule of automatic spaces, as coverage counts it.
std::vector<std::string> automatic_features();

}  // namespace tw::diff
