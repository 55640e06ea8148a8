// What an object holds of kernels for a device, beside the host's part of them: structs that kernel objects lay out and
// the header beside them declares (cuda_context.cc). All fields have the order and the sizes that C gives them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/runtime/cuda/plan.h"
#include "tensorwright/ir.h"

namespace tw::codegen {

// The C function by which the host's part launches, the only one that its context brings.
inline constexpr const char* kLaunchFunction = "tensorwright_launch";
inline constexpr int kMostDevices = 16;    // of which functions are kept
inline constexpr int kAlignmentError = 7;  // TW_ERROR_ALIGNMENT
// Of what the context makes a tensor map in.
inline constexpr uint32_t kMapBytes = 128, kMapAlignment = 64;

// Kernels and the image that holds their functions.
struct DeviceCode {
  std::vector<ir::Program> programs;
  std::vector<runtime::cuda::Plan> plans;  // of each program
  std::string arch, image;
  std::string ptx;  // for newer devices; may be empty
};

}  // namespace tw::codegen
