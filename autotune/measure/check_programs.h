// What looks at large arguments on a device (src/runtime/device_checks.h), as programs for its compiler.
#pragma once

#include <vector>

#include "tensorwright/runtime.h"

namespace tw::autotune {

// One for each argument that is checked there, lowered; of CPUs none.
std::vector<ir::Program> check_programs(const std::vector<runtime::ArgSpec>&, const Target&);

}  // namespace tw::autotune
