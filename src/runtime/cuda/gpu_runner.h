// Measures candidates for a GPU of this machine, each in a process of its own (tw-worker), as local_runner.h has it for
// the CPU: a kernel that faults takes its process along, one that hangs is ended with it, and where the device itself
// was lost the candidate runs again.
#pragma once

#include "src/runtime/local_runner.h"

namespace tw::runtime::cuda {

class GpuRunner final : public Runner {
 public:
  // The first device. Throws tw::Error: kTarget where there is none, and as LocalRunner.
  GpuRunner();
  explicit GpuRunner(WorkerCommand);
  RunResult run(const RunRequest& request) override { return runner_.run(request); }
  MachineDescription machine() const override { return machine_; }
  std::string why_not(const Target&) const override;
  void cancel() override { runner_.cancel(); }

 private:
  MachineDescription machine_;
  LocalRunner runner_;
};

// What it measures on; its name is the device's: "NVIDIA H100 80GB HBM3, 132 processors, 79.6 GiB". kTarget: no device.
Result<MachineDescription> gpu_machine();

}  // namespace tw::runtime::cuda
