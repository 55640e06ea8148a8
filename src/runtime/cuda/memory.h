// Arrays in a device's memory that are ours.
#pragma once

#include <memory>

#include "src/runtime/cuda/device.h"

namespace tw::runtime::cuda {

// Freed with its last owner. Throws kArgument, with what there is, where there is not as much.
std::shared_ptr<void> allocate(const GpuDevice&, size_t bytes);

// Copies on the default stream, and waits for it. Throw kArgument.
void copy_to_device(const GpuDevice&, void* to, const void* from, size_t bytes);
void copy_to_host(const GpuDevice&, void* to, const void* from, size_t bytes);

}  // namespace tw::runtime::cuda
