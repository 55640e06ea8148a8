// The text of a device's kernels, run on this machine: what the emitter wrote, as it stands.
//
// The system's C++ compiler takes it behind a few definitions (cuda_shim.h). A block's threads are fibers, each of
// which runs until it waits for the others, in one order or the other: where a barrier is missing, one of them reads
// what is not there yet.
#pragma once

#include <memory>
#include <span>

#include "codegen/cuda/source.h"

namespace tw::testing {

enum class ThreadOrder : uint8_t { kForwards, kBackwards };

class CudaOnHost {
 public:
  explicit CudaOnHost(const codegen::CudaSource&);  // throws tw::Error with what the compiler said

  // Makes the launches of the plan; `scalars` by address. A barrier that some threads of a block do not reach, or at
  // which they meet others, is an Error.
  void run(const runtime::cuda::Plan&, std::span<void* const> arguments, void* const* scalars,
           ThreadOrder = ThreadOrder::kForwards) const;

 private:
  std::shared_ptr<void> library_;
};

}  // namespace tw::testing
