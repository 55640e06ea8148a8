// tw-worker: measures candidates, each in a child that may die of it. Started by LocalRunner; no LLVM, no compiler.

#include <cstdio>
#include <cstring>

#include "src/runtime/cuda/candidate_device.h"
#include "src/runtime/host_device.h"
#include "src/runtime/run_worker.h"
#include "src/support/subprocess.h"

int main(int argc, char** argv) {
  using namespace tw::runtime;
  const auto this_cpu = [](const RunRequest& request) {
    return std::make_unique<HostDevice>(request.threads, by_dynamic_linker());
  };
  if (argc == 2 && std::strcmp(argv[1], "--serve") == 0) return run_worker(tw::support::kChannel, this_cpu);
  if (argc == 2 && std::strcmp(argv[1], "--serve-cuda") == 0)
    return run_worker(tw::support::kChannel, cuda::devices_in_turn(), {.on_device = true});
  std::fprintf(stderr, "tw-worker is started by Tensorwright's tuner, not by hand\n");
  return 2;
}
