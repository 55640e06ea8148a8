// Rates of this machine, measured once and kept in rates.json of $TW_CACHE_DIR, of $XDG_CACHE_HOME/tensorwright or of
// ~/.cache/tensorwright. Tuning, rooflines and explain() go by them; default schedules and the bound that prunes never
// do.
#pragma once

#include <string>

#include "tensorwright/machine.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// "" where the environment names no folder: they last as long as this process then.
std::string rates_path();

// `here` with the rates that are kept for this machine, as many threads and vectors of the target.
MachineDescription with_kept_rates(MachineDescription here, const Target&);
// Measures them where none are kept, or those that are belong to another machine or are damaged, and keeps them. What
// can't be measured or kept is done without.
MachineDescription calibrated(MachineDescription here, const Target&);
// Measures anew, and keeps that. Throws tw::Error, also where TW_MEASURE=forbid.
Rates calibrate(const MachineDescription& here, const Target&);

}  // namespace tw::codegen
