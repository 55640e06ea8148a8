// How the progress of tuning reads.
#pragma once

#include <string>

#include "tensorwright/autotune.h"

namespace tw::autotune {

std::string best_text(const Progress&);      // best 412 GFLOP/s (87 % of peak)
std::string failures_text(const Progress&);  // 2 failed (crashed 1, timeout 1), 40 pruned; or nothing

}  // namespace tw::autotune
