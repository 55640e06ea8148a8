// How a GPU is doing, by NVIDIA's management library: opened where it is found, nothing of it is linked.
//
// It comes with the driver. TW_NVML names another library in its place, as tests do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/runtime/cuda/device.h"

namespace tw::runtime::cuda {

// What is not there is not known: of a device that does not say it, or in a container that may not look.
struct GpuState {
  std::string driver;                            // "580.65.06"
  std::optional<int> megahertz, most_megahertz;  // of the processors, now and at most
  std::optional<int> celsius;
  std::optional<int> busy;                         // per cent of the last second in which a kernel ran
  std::optional<bool> ecc;                         // whether memory corrects its errors
  std::optional<unsigned long long> uncorrected;   // errors since the driver was loaded
  std::optional<std::vector<unsigned>> processes;  // others that compute there
};

// kTarget, with what is missing, where there is no such library or it does not know the device.
Result<GpuState> gpu_state(const GpuDevice&);

}  // namespace tw::runtime::cuda
