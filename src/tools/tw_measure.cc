// tw-measure: measures on a machine with a GPU that has nothing of ours but this program, and nothing of NVIDIA's but
// the driver. It compiles nothing.
//
//   tw-measure p.twpack --log l.jsonl   runs, checks and times the candidates of a pack
//   tw-measure describe                 what the GPU is, and the target= for it
//
// It is a worker too: tw-board --worker tw-measure serves clients that reach it over the network.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "rpc/board/device.h"
#include "src/runtime/cuda/candidate_device.h"
#include "src/runtime/cuda/gpu_runner.h"
#include "src/runtime/run_worker.h"
#include "src/support/release.h"
#include "src/support/subprocess.h"
#include "src/tools/measure_pack.h"
#include "src/tools/run_command.h"

namespace tw::tools {
namespace {

constexpr const char *kThisProgram = "/proc/self/exe", *kTooOld = "none: it is older than sm_80";

int worker() { return runtime::run_worker(support::kChannel, runtime::cuda::devices_in_turn(), {.on_device = true}); }

rpc::BoardDevice this_gpu() {
  const runtime::cuda::GpuDevice& gpu = *runtime::cuda::gpu_device().value_or_throw();
  return {runtime::cuda::gpu_machine().value_or_throw().hardware_name(),
          gpu.arch.empty() ? "" : "cuda -arch=" + gpu.arch};
}

int describe(bool json) {
  const auto [name, target] = this_gpu();
  if (json)
    print_json({{"hardware", name}, {"target", target}});
  else
    std::printf("hardware  %s\ntarget    %s\n", name.c_str(),
                target.empty() ? kTooOld : ("target=\"" + target + "\"").c_str());
  return kDone;
}

// To a board, whose jobs this program then serves.
int describe_to_board() {
  return rpc::describe_device(support::kChannel, [] {
    rpc::BoardDevice gpu = this_gpu();
    if (gpu.target.empty())
      throw Error(Diagnostic{ErrorKind::kTarget, gpu.hardware + " runs nothing of ours", {}, {kTooOld}});
    return gpu;
  });
}

int measure(const MeasureOptions& options) {
  const rpc::Pack pack = rpc::read_pack(options.pack);
  runtime::cuda::GpuRunner runner({.path = kThisProgram, .args = {rpc::kServeDevice}, .on_device = true});
  return measure_pack(pack, runner, options);
}

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], rpc::kServeDevice) == 0) return worker();
  if (argc == 2 && std::strcmp(argv[1], rpc::kDescribeDevice) == 0) return describe_to_board();
  CLI::App app("Measures tuning candidates on this machine's GPU, for a tuner on another.", "tw-measure");
  app.set_version_flag("--version", std::string("tw-measure ") + support::kRelease);
  app.footer("Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted: again goes on.");
  MeasureOptions options;
  app.add_option("PACK", options.pack, "what tw tune --pack wrote; describe: says what this machine's GPU is")
      ->required();
  CLI::Option* log =
      app.add_option("--log", options.log, "the log that lines are appended to; what it holds is not run again");
  app.add_flag("--json", options.json, "print one JSON object instead of text");
  app.add_flag("--quiet", options.quiet, "no progress");
  try {
    app.parse(argc, argv);
    if (options.pack != "describe" && log->count() == 0) throw CLI::RequiredError("--log");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  return run_command("tw-measure", options.json,
                     [&] { return options.pack == "describe" ? describe(options.json) : measure(options); });
}

}  // namespace
}  // namespace tw::tools

int main(int argc, char** argv) { return tw::tools::main(argc, argv); }
