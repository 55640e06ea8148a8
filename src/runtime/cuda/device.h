// This machine's devices, by ordinal, as the driver counts them.
#pragma once

#include <optional>
#include <string>

#include "src/runtime/cuda/driver.h"

namespace tw::runtime::cuda {

// Its primary context, which PyTorch and CuPy use too, is retained from the first use to the end of the process.
struct GpuDevice {
  const Driver* driver = nullptr;
  int ordinal = 0;
  Context context = nullptr;
  std::string name, arch;  // arch: what code is made for there; empty: a device that is too old
  int capability_major = 0, capability_minor = 0;
  int processors = 0;
  int64_t memory_bytes = 0;
};

// kTarget for no device and for an ordinal that none has.
Result<const GpuDevice*> gpu_device(int ordinal = 0);
int device_count();  // 0 without a driver

// While it lives, the device's context is this thread's.
class OnDevice {
 public:
  explicit OnDevice(const GpuDevice&);  // throws kArgument where the device is lost
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  const GpuDevice& device_;
  bool pushed_ = false;
};

// The ordinal of the device whose memory the address is of; nothing for other memory.
std::optional<int> ordinal_of(const void* address);

}  // namespace tw::runtime::cuda
