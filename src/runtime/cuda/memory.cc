#include "src/runtime/cuda/memory.h"

#include <algorithm>

#include "src/runtime/cuda/failures.h"

namespace tw::runtime::cuda {

namespace {

std::string named(const GpuDevice& device) { return "cuda:" + std::to_string(device.ordinal); }
Address address(const void* pointer) { return reinterpret_cast<Address>(pointer); }

constexpr Stream kDefault = nullptr;

void finish(const GpuDevice& device) {
  check(device, device.driver->stream_finish(kDefault), named(device), "waiting for it");
}

}  // namespace

std::shared_ptr<void> allocate(const GpuDevice& device, size_t bytes) {
  const OnDevice here(device);
  Address memory = 0;
  const Code failed = device.driver->allocate(&memory, std::max<size_t>(bytes, 1));
  if (failed == kOutOfMemory) {
    size_t free = 0, total = 0;
    device.driver->memory_info(&free, &total);
    throw Error({ErrorKind::kArgument,
                 named(device) + ": there is no memory for " + std::to_string(bytes) + " bytes",
                 {},
                 {std::to_string(free) + " of " + std::to_string(total) + " are free"}});
  }
  check(device, failed, named(device), "allocating " + std::to_string(bytes) + " bytes");
  return {reinterpret_cast<void*>(memory), [&device](void* owned) {
            if_current(device, [&](const Driver& driver) { driver.release(address(owned)); });
          }};
}

void copy_to_device(const GpuDevice& device, void* to, const void* from, size_t bytes) {
  const OnDevice here(device);
  check(device, device.driver->to_device(address(to), from, bytes, kDefault), named(device), "copying to it");
  finish(device);
}

void copy_to_host(const GpuDevice& device, void* to, const void* from, size_t bytes) {
  const OnDevice here(device);
  check(device, device.driver->to_host(to, address(from), bytes, kDefault), named(device), "copying from it");
  finish(device);
}

}  // namespace tw::runtime::cuda
