// This machine's devices, by ordinal, as the driver counts them.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "src/runtime/cuda/driver.h"

namespace tw::runtime::cuda {

struct GpuDevice {
  // The primary one, which PyTorch and CuPy use too: retained from the first use to the end of the process. Throws
  // kTarget where it cannot be had.
  Context context() const;

  const Driver* driver = nullptr;
  int ordinal = 0;
  DeviceNumber number = 0;
  std::string name, arch;  // arch: what code is made for there; empty: a device that is too old
  int capability_major = 0, capability_minor = 0;
  int processors = 0;
  int64_t memory_bytes = 0;

 private:
  mutable std::once_flag once_;
  mutable Context context_ = nullptr;
  mutable Code failed_ = 0;
};

// kTarget for no device and for an ordinal that none has.
Result<const GpuDevice*> gpu_device(int ordinal = 0);
int device_count();  // 0 without a driver

// While it lives, the device's context is this thread's.
class OnDevice {
 public:
  explicit OnDevice(const GpuDevice&);  // throws kTarget where the device is lost
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  const GpuDevice& device_;
  bool pushed_ = false;
};

// For what frees: `work` while the device's context is this thread's; nothing where that is gone, as when the process
// ends.
template <class F>
void if_current(const GpuDevice& device, F work) {
  Context left = nullptr;
  if (device.driver->push_context(device.context()) != 0) return;
  work(*device.driver);
  device.driver->pop_context(&left);
}

// The ordinal of the device whose memory the address is of; nothing for other memory.
std::optional<int> ordinal_of(const void* address);

}  // namespace tw::runtime::cuda
