#include "src/runtime/cuda/lost.h"

#include <algorithm>
#include <iterator>

#include "src/runtime/device.h"

namespace tw::runtime::cuda {

namespace {

// The driver is shutting down; the device is unavailable, none, or no longer that one; its context was destroyed; its
// memory or its links have errors that cannot be corrected; the system is not ready; nobody knows, as where a card has
// fallen off its bus.
constexpr Code kLost[] = {4, kUnavailable, kNoDevice, 101, 201, 214, 220, 709, 802, 999};

}  // namespace

std::string described(const GpuDevice& device) {
  return "cuda:" + std::to_string(device.ordinal) + ", a " + device.name;
}

void require_not_lost(const GpuDevice& device, Code code) {
  if (std::find(std::begin(kLost), std::end(kLost), code) == std::end(kLost)) return;
  throw DeviceLost("the GPU was lost (" + described(device) + "): " + text_of(*device.driver, code));
}

void require_done(const GpuDevice& device, Code code, const std::string& what) {
  require_not_lost(device, code);
  check(*device.driver, code, described(device), what);
}

}  // namespace tw::runtime::cuda
