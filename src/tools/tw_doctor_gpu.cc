// The part of tw doctor that looks at GPUs.
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/program_image.h"
#include "src/runtime/cuda/device.h"
#include "src/runtime/cuda/nvml.h"
#include "src/tools/doctor.h"

namespace tw::tools {
namespace {

using runtime::cuda::GpuDevice;
using runtime::cuda::GpuState;

constexpr int kBusy = 5;  // per cent from which times scatter

std::string text_of(const GpuState& s) {
  std::string text = "driver " + s.driver;
  if (s.megahertz) text += formatted(", %d MHz", *s.megahertz);
  if (s.most_megahertz) text += formatted(" of %d", *s.most_megahertz);
  if (s.celsius) text += formatted(", %d \u00b0C", *s.celsius);
  if (s.busy) text += formatted(", busy %d %%", *s.busy);
  text += !s.ecc ? ", ECC not known" : *s.ecc ? ", ECC on" : ", ECC off";
  if (s.uncorrected) text += formatted(" (%llu errors uncorrected)", *s.uncorrected);
  if (!s.processes) return text + ", other processes not seen";
  if (s.processes->empty()) return text + ", nobody else computes there";
  text += formatted(", %zu other processes compute there:", s.processes->size());
  for (const unsigned pid : *s.processes) text += " " + std::to_string(pid);
  return text;
}

// What is to be done about it; empty: nothing.
std::string advice(const GpuState& s) {
  if (s.uncorrected.value_or(0) > 0)
    return "its memory has errors: nvidia-smi -q -d ECC shows them; tune on another one";
  if (!s.processes.value_or(std::vector<unsigned>{}).empty() || s.busy.value_or(0) >= kBusy)
    return "others use it, and times will scatter: tune when it is quiet, or hide it by CUDA_VISIBLE_DEVICES";
  return "";
}

}  // namespace

Finding gpu() {
  const Result<const runtime::cuda::Driver*> driver = runtime::cuda::driver();
  if (!driver.ok()) return {State::kOk, driver.error().what + "; target=\"cuda\" makes code that does not run here"};
  int version = 0;
  (*driver)->driver_version(&version);
  std::string text = formatted("driver of CUDA %d.%d", version / 1000, version % 1000 / 10);
  for (int i = 0; i < runtime::cuda::device_count(); ++i) {
    const Result<const GpuDevice*> device = runtime::cuda::gpu_device(i);
    if (!device.ok()) return {State::kWarn, device.error().what, "nvidia-smi shows what the driver sees"};
    const std::string arch = (*device)->arch.empty() ? "older than sm_80" : (*device)->arch;
    text += formatted("; cuda:%d %s, %s, %d processors, %.1f GiB", i, (*device)->name.c_str(), arch.c_str(),
                      (*device)->processors, static_cast<double>((*device)->memory_bytes) / (1 << 30));
  }
  return {State::kOk, text};
}

Finding gpu_condition() {
  const int devices = runtime::cuda::device_count();
  if (devices == 0) return {State::kOk, "no GPU to look at"};
  Finding all;
  for (int i = 0; i < devices; ++i) {
    const Result<const GpuDevice*> device = runtime::cuda::gpu_device(i);
    if (!device.ok()) continue;  // said above
    const Result<GpuState> state = runtime::cuda::gpu_state(**device);
    if (!state.ok()) return {State::kWarn, state.error().what, joined(state.error().notes)};
    all.detail += formatted("%scuda:%d ", i == 0 ? "" : "; ", i) + text_of(*state);
    const std::string way_out = advice(*state);
    if (way_out.empty() || !all.way_out.empty()) continue;
    all.state = State::kWarn;
    all.way_out = formatted("cuda:%d: ", i) + way_out;
  }
  return all;
}

Finding nvrtc() {
  const Result<std::string> version = codegen::nvrtc_version();
  if (version.ok()) return {State::kOk, *version};
  return {State::kOk, "none found; target=\"cuda\" shows text and compiles none", "pip install nvidia-cuda-nvrtc"};
}

Finding gpu_tuning() {
  if (runtime::cuda::device_count() == 0)
    return {State::kOk, "no GPU to measure on; tw tune --pack is for one elsewhere"};
  if (!codegen::nvrtc_version().ok() && !codegen::wants_program_images())
    return {State::kWarn, "nothing compiles for the GPU that is here", "pip install nvidia-cuda-nvrtc"};
  return two_candidates(Target::parse("cuda"));
}

}  // namespace tw::tools
