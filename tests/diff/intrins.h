// Intrinsics of the fuzzer's own, declared once in the process and again in each script, by their names.
//
//   diff_sum_float32_4_update    c[0] += a[k]            over k in 0..4, with an update
//   diff_dot_int32_2_both        c[0] += a[k] * b[k]     with a body, a reset and an update
//   diff_sum_int32_8_from        c[0] += a[k]            by a function, from where the tile begins in memory
//   diff_dot_int32_2_adds        the body only adds to what the output holds: to be refused
#pragma once

#include <string>
#include <vector>

#include "tests/diff/sampler.h"

namespace tw::diff {

// The names of those that may be used; of one that should have been refused too, where it was not.
const std::vector<std::string>& own_intrins();

// What a Python script needs before it can take these Steps; empty for most.
std::string python_intrins(const std::vector<schedule::Step>&);

}  // namespace tw::diff
