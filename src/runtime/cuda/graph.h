// The launches of a call, captured once: as often as they are wanted again, the driver is called once.
#pragma once

#include <span>

#include "src/runtime/cuda/kernel.h"

namespace tw::runtime::cuda {

// Of these arrays: who has it keeps them, and the kernel. Their scratch is the graph's own.
class CallGraph {
 public:
  // Checks the call as run() does, and runs nothing. Throws as it does.
  CallGraph(const CudaKernel&, int ordinal, std::span<const ArrayView>, std::span<const ScalarValue>);
  ~CallGraph();
  CallGraph(const CallGraph&) = delete;
  CallGraph& operator=(const CallGraph&) = delete;

  // Puts the launches into the stream's queue.
  void run(Stream) const;

 private:
  const CudaKernel& kernel_;
  const GpuDevice* device_;
  RunnableGraph graph_ = nullptr;
};

}  // namespace tw::runtime::cuda
