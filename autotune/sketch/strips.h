// Windows of pointwise stages.
#pragma once

#include "autotune/sketch/sketch.h"

namespace tw::autotune::sketch {

// Whether match_strips takes all stages that were kept for it.
bool takes_all_strips(const Graph&);

}  // namespace tw::autotune::sketch
