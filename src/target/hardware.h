// The hardware's own description, as /proc and /sys show it.
#pragma once

#include <string>

#include "tensorwright/target.h"

namespace tw::target {

// Of the machine whose files lie below the folder: "" for this one. On AArch64 the model is the cores' names, by
// MIDR_EL1: "cortex-a72", or by clusters "2 x cortex-a72 (1024) + 4 x cortex-a53 (485)" with what the system says of
// the capacity of one core. The caches and the clock are those of a core with the highest capacity.
HardwareDescription describe_hardware(const std::string& root, int cores);  // that programs may use

}  // namespace tw::target
