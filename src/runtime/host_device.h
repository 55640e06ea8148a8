// The CPU of this process as a device: memory of its own, shared objects by the dynamic linker, the thread pool.
#pragma once

#include "src/runtime/device.h"

namespace tw::runtime {

class HostDevice final : public Device {
 public:
  explicit HostDevice(int threads);  // starts them, each on a core of its own
  std::unique_ptr<DeviceMemory> allocate(size_t bytes, size_t place) override;
  const void* readable(const void* bytes, size_t) override { return bytes; }
  Status load(const Blob& object) override;  // stays loaded: what a candidate has damaged is not walked over
  Result<KernelSpecs> specs(const std::string& kernel) const override;
  Result<Launch> find(const std::string& kernel) const override;
  Elapsed time(const Launch&, void* const* addresses, int launches) override;

 private:
  void* library_ = nullptr;
};

}  // namespace tw::runtime
