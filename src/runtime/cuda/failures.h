// What is said where the driver's functions fail: most codes are the call's, but what a kernel did, and the loss of a
// device, come to light at calls that have nothing to do with it.
#pragma once

#include <string>
#include <vector>

#include "src/runtime/cuda/device.h"

namespace tw::runtime::cuda {

// The device is gone or broken, whatever ran there.
bool is_lost(Code);

// Throws for all codes but 0: kTarget where the device is lost, else kArgument. `notes`: what is to be done where it is
// neither that nor a kernel's fault.
void check(const GpuDevice&, Code, const std::string& who, const std::string& what,
           std::vector<std::string> notes = {});

// A note where a call did not take its stream.
std::vector<std::string> notes_of_stream(Code, const GpuDevice&);

// A way out where the driver does not take code; empty: it is not about the code.
std::string why_not_loaded(const Driver&, Code);

// The kernel that this process launched last on the device, which errors that come later name. Names are kept: an error
// may come when their kernels are gone.
const std::string* interned(const std::string& kernel);
void note_launched(int ordinal, const std::string* interned_name);

}  // namespace tw::runtime::cuda
