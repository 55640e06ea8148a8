#include "src/runtime/cuda/lost.h"

#include "src/runtime/cuda/failures.h"
#include "src/runtime/device.h"

namespace tw::runtime::cuda {

std::string described(const GpuDevice& device) {
  return "cuda:" + std::to_string(device.ordinal) + ", a " + device.name;
}

void require_not_lost(const GpuDevice& device, Code code) {
  if (!is_lost(code)) return;
  throw DeviceLost("the GPU was lost (" + described(device) + "): " + text_of(*device.driver, code));
}

void require_done(const GpuDevice& device, Code code, const std::string& what) {
  require_not_lost(device, code);
  if (code != 0)
    throw Error(
        {ErrorKind::kArgument, described(device) + ": " + what + " failed: " + text_of(*device.driver, code), {}, {}});
}

}  // namespace tw::runtime::cuda
