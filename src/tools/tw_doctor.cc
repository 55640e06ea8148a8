// tw doctor: what this build and this machine have, and whether a kernel can be built, run and measured here.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "autotune/model/roofline.h"
#include "codegen/calibration.h"
#include "schedule/machine.h"
#include "src/runtime/sandbox.h"
#include "src/runtime/thread_pool.h"
#include "src/runtime/tool_path.h"
#include "src/support/cpu_quota.h"
#include "src/support/release.h"
#include "src/target/busy_clock.h"
#include "src/target/c_compiler.h"
#include "src/target/cpu.h"
#include "src/tools/doctor.h"
#include "src/tools/tw_command.h"
#if TW_LLVM
#include "codegen/llvm/backend.h"
#endif
#if TW_XGBOOST
#include "autotune/model/xgboost_version.h"
#endif

namespace tw::tools {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// --------------------------------------------------------------------------------------------------------- the build

Finding llvm() {
#if TW_LLVM
  return {State::kOk, codegen::llvm_version()};
#else
  return {State::kWarn, "not in this build; kernels are C, compiled by the system's compiler, and nothing is tuned",
          "build with -DTW_LLVM=ON"};
#endif
}

Finding xgboost() {
#if TW_XGBOOST
  return {State::kOk, autotune::xgboost_version()};
#else
  return {State::kWarn, "not in this build; the search runs without a learned model", "build with -DTW_XGBOOST=ON"};
#endif
}

Finding workers() {
  try {
    std::string found = runtime::tool_path("tw-worker", "TW_WORKER");
#if TW_LLVM
    found += ", " + runtime::tool_path("tw-worker-build", "TW_WORKER_BUILD");
#endif
    return {State::kOk, found};
  } catch (const Error& e) {
    return {State::kFail, e.diagnostic().what, joined(e.diagnostic().notes)};
  }
}

Finding c_compiler() {
  const std::vector<std::string> command = target::c_compiler();
  if (command.empty())
    return {State::kWarn, "none on the PATH; target=\"c\" cannot be built", "install gcc or clang, or set CC"};
  return {State::kOk, joined(command)};
}

// ------------------------------------------------------------------------------------------------------- the machine

Finding cpu() {
  const Target target = Target::host();
  std::string known;
  for (const char* feature :
       {"avx2", "fma", "avx512f", "avx512vnni", "avx512bf16", "avx512fp16", "amx-int8", "neon", "dotprod", "sve"})
    if (target.has(feature)) known += std::string(known.empty() ? "" : " ") + feature;
  const target::Cpu& here = target::host_cpu();
  const bool contradicts = !here.model.empty() && here.name == here.level;
  return {State::kOk, host_hardware().cpu_model + ", " + target.to_string() + ", vectors of " +
                          std::to_string(target.abilities.vector_bits) + " bits" + (known.empty() ? "" : ", " + known) +
                          (contradicts ? "; its model number is that of " + here.model + ", which has less" : "")};
}

Finding caches() {
  const HardwareDescription& h = host_hardware();
  return {h.l3_bytes > 0 ? State::kOk : State::kWarn,
          formatted("L1 %lld KiB, L2 %lld KiB, L3 %lld KiB", static_cast<long long>(h.l1_bytes >> 10),
                    static_cast<long long>(h.l2_bytes >> 10), static_cast<long long>(h.l3_bytes >> 10)),
          h.l3_bytes > 0 ? "" : "the system does not tell the size of L3; estimates do without it"};
}

Finding clock_rate() {
  MachineDescription one_core = codegen::with_kept_rates(runtime::this_machine(), Target::host());
  one_core.threads = 1;
  const autotune::Roofline one = autotune::machine_roofline(Target::host(), ir::Type::f(32), one_core);
  return {State::kOk,
          formatted("%.2f GHz measured, %.0f GFLOP/s a core in float32", target::busy_clock() / 1e9, one.peak / 1e9)};
}

// One line of `number unit` pairs, the shares of all cores in brackets.
std::string text_of(const Rates& r) {
  std::string text = formatted("%s: a core starts %.2f vector instructions a cycle", r.source.c_str(), r.issue);
  if (r.dot_u8i8 > 0) text += formatted(", %.2f dot products of bytes", r.dot_u8i8);
  if (r.dot_bf16 > 0) text += formatted(", %.2f of bfloat16", r.dot_bf16);
  if (target::host_cpu().has("amx-tile")) text += formatted(", %.2f rows of tiles", r.tile_rows);
  text +=
      formatted("; reads %.2f vectors from L1, %.0f bytes from L2, %.0f from L3; DRAM %.1f GB/s a core, %.1f in all",
                r.l1_loads, r.l2_bytes, r.l3_bytes, r.core_dram / 1e9, r.all_dram / 1e9);
  if (r.all_issue < 1 || r.all_l3 < 1)
    text += formatted("; all at once have %.2f of the first each, %.2f of L3", r.all_issue, r.all_l3);
  return text;
}

Finding rates() {
  const Target target = Target::host();
  const MachineDescription here = codegen::with_kept_rates(runtime::this_machine(), target);
  return {State::kOk, text_of(schedule::describe_machine(target, here).rates),
          here.rates.empty() ? "tw doctor --calibrate measures them; so does the first tuning" : ""};
}

Finding governor() {
  const std::string name = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (name.empty()) return {State::kOk, "the system does not let it be seen"};
  if (name == "performance") return {State::kOk, name};
  return {State::kWarn, name + ": clocks change while kernels are measured", "cpupower frequency-set -g performance"};
}

Finding threads() {
  const int wanted = runtime::num_threads(), cores = static_cast<int>(runtime::allowed_cores().size());
  const double quota = support::cpu_quota();
  std::string text = formatted("%d, on %d of %u cores", wanted, cores, std::thread::hardware_concurrency());
  if (std::isfinite(quota)) text += formatted(", a quota of %.3g", quota);
  if (wanted > cores || wanted > quota)
    return {State::kWarn, text + ": more threads than cores", "set TW_NUM_THREADS, or give this process more cores"};
  return {State::kOk, text};
}

Finding load() {
  double recent = 0;
  std::ifstream("/proc/loadavg") >> recent;
  const std::string text = formatted("%.1f over the last minute", recent);
  if (recent < 0.5 * std::thread::hardware_concurrency()) return {State::kOk, text};
  return {State::kWarn, text + ": others use the cores, and times will scatter", "tune when the machine is quiet"};
}

Finding sandbox() {
  if (runtime::can_forbid_calls()) return {State::kOk, "candidates can start no process"};
  return {State::kWarn, "this kernel has no seccomp filters: a candidate that starts processes is not stopped",
          "tune only what you trust"};
}

Finding scratch() {
  constexpr uintmax_t kLittle = 256u << 20;
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  const std::filesystem::space_info space = std::filesystem::space(folder, failed);
  if (failed)
    return {State::kFail, folder.string() + ": " + failed.message(), "set TMPDIR to a folder that can be written"};
  const std::string text =
      folder.string() + formatted(", %.1f GiB free", static_cast<double>(space.available) / (1 << 30));
  if (space.available > kLittle) return {State::kOk, text};
  return {State::kWarn, text + ": candidates and their data are kept here while they are measured", "set TMPDIR"};
}

// --------------------------------------------------------------------------------------------------------- the whole

Finding measuring() { return two_candidates(Target::host()); }

struct Check {
  const char* name;
  Finding (*look)();
};
const Check kChecks[] = {
    {"LLVM", llvm},
    {"XGBoost", xgboost},
    {"workers", workers},
    {"C compiler", c_compiler},
    {"CPU", cpu},
    {"clock", clock_rate},
    {"rates", rates},
    {"governor", governor},
    {"caches", caches},
    {"threads", threads},
    {"load", load},
    {"GPU", gpu},
    {"GPU state", gpu_condition},
    {"NVRTC", nvrtc},
    {"sandbox", sandbox},
    {"scratch", scratch},
    {"measuring", measuring},
    {"GPU tuning", gpu_tuning},
};

const char* word(State s) { return s == State::kOk ? "ok" : s == State::kWarn ? "warn" : "fail"; }

int doctor(bool json) {
  Json all = Json::array();
  State worst = State::kOk;
  if (!json) std::printf("tensorwright %s\n", support::kRelease);
  for (const Check& check : kChecks) {
    const Finding f = check.look();
    worst = std::max(worst, f.state);
    if (json) {
      all.push_back({{"name", check.name}, {"state", word(f.state)}, {"detail", f.detail}, {"way_out", f.way_out}});
      continue;
    }
    std::printf("%-5s %-11s %s\n", word(f.state), check.name, f.detail.c_str());
    if (!f.way_out.empty()) std::printf("%18s-> %s\n", "", f.way_out.c_str());
    std::fflush(stdout);
  }
  if (json) print_json({{"version", support::kRelease}, {"state", word(worst)}, {"checks", all}});
  return worst == State::kFail ? kFailed : kDone;
}

}  // namespace

Finding two_candidates(Result<Target> target) try {
  constexpr int64_t kElements = 1 << 18;
  const te::Tensor a = te::placeholder({kElements}, "float32", "A");
  const te::Tensor b =
      te::compute({kElements}, [&](const ir::Var& i) { return a(i) * te::constant(2, "float32"); }, "B");
  const autotune::TuneResult r =
      autotune::tune(autotune::Task({a, b}, std::move(target).value_or_throw(), "doctor"), {.trials = 2, .confirm = 0});
  return {State::kOk,
          formatted("2 candidates built, run, checked and timed in %.2f s; the better takes %.1f us, %.1f GB/s",
                    r.elapsed_s, r.best->seconds * 1e6, 2 * sizeof(float) * kElements / r.best->seconds / 1e9)};
} catch (const Error& e) {
  return {State::kFail, e.diagnostic().what, joined(e.diagnostic().notes)};
}

void add_doctor(CLI::App& app, Chosen& chosen) {
  const auto calibrate = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("doctor", "Say what this build and this machine have, and try a measurement");
  add_json_option(*command, chosen);
  command->add_flag("--calibrate", *calibrate, "Measure first what this machine sustains, and keep it for tuning");
  command->callback([&chosen, calibrate] {
    chosen.run = [&chosen, calibrate] {
      if (*calibrate) codegen::calibrate(runtime::this_machine(), Target::host());
      return doctor(chosen.json);
    };
  });
}

}  // namespace tw::tools
