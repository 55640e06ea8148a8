// What the parts of this CPU sustain, measured: multiply-adds and dot products in registers, and reads of memory that
// each cache holds, by one core and by all at once. Half a second.
#pragma once

#include "tensorwright/machine.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// With vectors of the target, which runs on this machine, on as many cores as the description has threads. Throws
// tw::Error where nothing can be built or memory is short.
Rates measure_rates(const Target&, const MachineDescription& here);

}  // namespace tw::codegen
