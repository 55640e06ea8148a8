// Arguments of a candidate, several times: calls that are timed take them in turn, so that what one call leaves in L2
// is not what the next one reads. Data that is larger than L2 does so by itself.
#pragma once

#include <vector>

#include "src/runtime/cuda/device.h"

namespace tw::runtime::cuda {

struct ArgumentMemory {
  Address address;
  size_t bytes;
};

class ArgumentSets {
 public:
  // At most so many, and as many as fill twice the device's L2. The first one is what is given, the others are copies
  // of it as it is when the stream gets there; where memory is short there are none.
  ArgumentSets(const GpuDevice&, Stream, const std::vector<ArgumentMemory>& given, int most);
  ~ArgumentSets();
  ArgumentSets(const ArgumentSets&) = delete;
  ArgumentSets& operator=(const ArgumentSets&) = delete;

  // The addresses of a call.
  void* const* of_call(int number) const { return sets_[static_cast<size_t>(number) % sets_.size()].data(); }

 private:
  const GpuDevice& device_;
  Address copies_ = 0;
  std::vector<std::vector<void*>> sets_;
};

}  // namespace tw::runtime::cuda
