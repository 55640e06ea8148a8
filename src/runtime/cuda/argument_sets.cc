#include "src/runtime/cuda/argument_sets.h"

#include <algorithm>

#include "src/runtime/cuda/lost.h"

namespace tw::runtime::cuda {

namespace {

constexpr size_t kAlignment = 256;  // as GuardedMemory's

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

ArgumentSets::ArgumentSets(const GpuDevice& device, Stream stream, const std::vector<ArgumentMemory>& given, int most)
    : device_(device), sets_(1) {
  const Driver& driver = *device.driver;
  size_t bytes = 0;  // of a set
  for (const ArgumentMemory& argument : given) {
    bytes += aligned(argument.bytes);
    sets_[0].push_back(reinterpret_cast<void*>(argument.address));
  }
  int l2 = 0;
  driver.device_attribute(&l2, kL2Bytes, device.number);
  const size_t wanted = bytes == 0 ? 1 : (2 * static_cast<size_t>(std::max(l2, 0)) + bytes - 1) / bytes;
  const size_t sets = std::clamp(wanted, size_t{1}, static_cast<size_t>(most));
  if (sets == 1) return;
  const Code failed = driver.allocate(&copies_, bytes * (sets - 1));
  if (failed == kOutOfMemory) return;
  require_done(device, failed, "allocating copies of the arguments");
  Address at = copies_;
  for (size_t s = 1; s < sets; ++s) {
    sets_.emplace_back();
    for (const ArgumentMemory& argument : given) {
      if (argument.bytes > 0)
        require_done(device, driver.copy_within(at, argument.address, argument.bytes, stream), "copying arguments");
      sets_.back().push_back(reinterpret_cast<void*>(at));
      at += aligned(argument.bytes);
    }
  }
}

ArgumentSets::~ArgumentSets() {
  if (copies_ != 0) device_.driver->release(copies_);
}

}  // namespace tw::runtime::cuda
