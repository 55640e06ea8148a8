#include "autotune/measure/here.h"

#include "autotune/space/knobs.h"
#include "src/runtime/cuda/gpu_runner.h"
#include "src/runtime/local_runner.h"

namespace tw::autotune {

namespace {

bool is_gpu(const Target& target) { return !target.arch.empty(); }

}  // namespace

std::unique_ptr<runtime::Runner> runner_here(const Target& target) {
  if (!is_gpu(target)) return std::make_unique<runtime::LocalRunner>();
  machine_here(target);
  return std::make_unique<runtime::cuda::GpuRunner>();
}

MachineDescription machine_here(const Target& target) {
  if (!is_gpu(target)) return runtime::this_machine();
  Result<MachineDescription> gpu = runtime::cuda::gpu_machine();
  if (gpu.ok()) return *std::move(gpu);
  std::vector<std::string> notes = {gpu.error().what};
  notes.insert(notes.end(), gpu.error().notes.begin(), gpu.error().notes.end());
  notes.push_back(
      "tw tune --pack FILE.twpack, or tw.autotune.pack(), writes the candidates into a file, which tw-measure measures "
      "where a "
      "GPU is; tw.build(tensors, target) takes a schedule that nobody measures");
  tune_error("tuning for " + target.to_string() + " measures on a GPU, and this machine has none", std::move(notes));
}

std::optional<MachineDescription> preferred_machine(const Target& target) {
  if (!is_gpu(target)) return runtime::this_machine();
  Result<MachineDescription> gpu = runtime::cuda::gpu_machine();
  return gpu.ok() ? std::optional(*std::move(gpu)) : std::nullopt;
}

}  // namespace tw::autotune
