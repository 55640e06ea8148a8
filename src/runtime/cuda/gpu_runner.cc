#include "src/runtime/cuda/gpu_runner.h"

#include <cstdio>

#include "src/runtime/cuda/device.h"
#include "src/runtime/kernel.h"
#include "src/runtime/tool_path.h"
#include "src/target/cpu.h"

namespace tw::runtime::cuda {

namespace {

WorkerCommand worker() {
  require_measuring_allowed("tune");
  return {.path = tool_path("tw-worker", "TW_WORKER"), .args = {"--serve-cuda"}, .on_device = true};
}

}  // namespace

GpuRunner::GpuRunner() : GpuRunner(worker()) {}
GpuRunner::GpuRunner(WorkerCommand command) : machine_(gpu_machine().value_or_throw()), runner_(std::move(command)) {}

std::string GpuRunner::why_not(const Target& target) const {
  return target.arch.empty() ? "it is a GPU" : target::why_not_here(target);
}

Result<MachineDescription> gpu_machine() {
  TW_TRY(const GpuDevice* device, gpu_device());
  char name[400];
  std::snprintf(name, sizeof name, "%s, %d processors, %.1f GiB", device->name.c_str(), device->processors,
                static_cast<double>(device->memory_bytes) / (1 << 30));
  MachineDescription machine;
  machine.hardware.cores = 1;
  machine.name = name;
  return machine;
}

}  // namespace tw::runtime::cuda
