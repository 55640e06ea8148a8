// The CPU of this process as a device: memory of its own, code that is linked into it, the thread pool.
#pragma once

#include "src/runtime/device.h"
#include "src/runtime/linking.h"

namespace tw::runtime {

class HostDevice final : public Device {
 public:
  HostDevice(int threads, const Linking&);  // starts the threads, each on a core of its own
  std::unique_ptr<DeviceMemory> allocate(size_t bytes, size_t place) override;
  const void* readable(const void* bytes, size_t) override { return bytes; }
  Status load(const Blob& object) override;
  Result<KernelSpecs> specs(const std::string& kernel) const override;
  Result<Launch> find(const std::string& kernel) const override;
  Elapsed time(const Launch&, void* const* addresses, int launches) override;

 private:
  const Linking linking_;
  std::unique_ptr<Image> image_;
};

}  // namespace tw::runtime
