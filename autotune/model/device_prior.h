// What a schedule will take on a device, before anything was compiled or measured: for the order of candidates.
#pragma once

#include "schedule/machine.h"
#include "tensorwright/schedule.h"

namespace tw::autotune {

// Seconds of what fits no processor: a number, as models are fitted to it.
inline constexpr double kNever = 1e9;

// The account of schedule/device_account.h, of all launches; kNever where one of them fits no processor.
// REQUIRES: machine.device.
double estimate_device_seconds(const schedule::Schedule&, const schedule::Machine&);

// How many of these it lacks: blocks for each processor, or two waves, in the launch that takes longest; banks of their
// own for what a warp reads at once.
int device_shortfalls(const schedule::Schedule&, const schedule::Machine&);

}  // namespace tw::autotune
