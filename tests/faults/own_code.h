// Candidates that are this program's own code, honest and not, so that a worker needs neither files nor a compiler.
#pragma once

#include <memory>
#include <string>

#include "src/runtime/device.h"

namespace tw::test {

constexpr int kElements = 1000;
constexpr int kThreads = 2;
// What a kernel returns when an attack (attacks.h) has succeeded, and when it got an error.
constexpr int32_t kHarmed = 99, kRefused = 5;

// A device on which each kernel does `what`, and then y = 2 * x over kElements floats.
class OwnCode final : public runtime::Device {
 public:
  OwnCode(int threads, std::string what, std::string argument);
  std::unique_ptr<runtime::DeviceMemory> allocate(size_t bytes, size_t place) override;
  const void* readable(const void* bytes, size_t) override { return bytes; }
  Status load(const Blob&) override { return Unit{}; }
  Result<runtime::KernelSpecs> specs(const std::string&) const override { return runtime::KernelSpecs{}; }
  Result<Launch> find(const std::string&) const override;
  Elapsed time(const Launch&, void* const* addresses, int launches) override;

 private:
  int32_t run(void* const* addresses) const;
  const std::string what_, argument_;
};

}  // namespace tw::test
