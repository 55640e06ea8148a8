// Kernels for a device as an object of the host's: their image, and the host's part of them.
#pragma once

#include <string>
#include <vector>

#include "src/runtime/cuda/image.h"
#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

struct DeviceObject {
  std::string bytes;                                // of an object file
  std::vector<runtime::cuda::Resources> resources;  // of each function, as the compiler states them
};

// Whether it also holds PTX, which drivers of newer devices translate: what is measured on its own device needs none.
enum class NewerDevices : uint8_t { kNo, kTranslate };

// Lowered programs for `device`, a target of CUDA; `host`, one of LLVM's, runs the part that launches. kBuild where
// NVRTC or LLVM is missing.
Result<DeviceObject> device_object(const std::vector<ir::Program>& programs, const Target& device, const Target& host,
                                   NewerDevices newer);

}  // namespace tw::codegen
