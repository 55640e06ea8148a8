// What a schedule will take on a device, before anything was compiled or measured: for the order of candidates.
//
// A launch takes as long as what it has most of: instructions, passes through shared memory, sectors of L2, bytes of
// memory. Counts are those of warps: an access takes as many passes or sectors as the addresses of a warp's threads
// need. Processors wait where blocks are too few to fill them, or warps too few to hide each other's waiting.
#pragma once

#include "schedule/machine.h"
#include "tensorwright/schedule.h"

namespace tw::autotune {

// Seconds; infinite for a launch that fits no processor. REQUIRES: machine.device.
double estimate_device_seconds(const schedule::Schedule&, const schedule::Machine&);

}  // namespace tw::autotune
