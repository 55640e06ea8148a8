// What ends a measurement through no fault of the candidate.
#pragma once

#include <string>

#include "src/runtime/cuda/device.h"

namespace tw::runtime::cuda {

// "cuda:0, a NVIDIA H100".
std::string described(const GpuDevice&);

// Throws runtime::DeviceLost where the code says that the device is gone or broken, whatever ran on it.
void require_not_lost(const GpuDevice&, Code);

// That, and kArgument for all other codes but 0.
void require_done(const GpuDevice&, Code, const std::string& what);

}  // namespace tw::runtime::cuda
