// Random legal Steps for an expression.
#pragma once

#include "tests/diff/random.h"
#include "tests/diff/sampler.h"

namespace tw::diff {

// Fills steps, features and the counts of a sample that has its expression.
void random_steps(Random&, Sample&);

}  // namespace tw::diff
