// The inside of a worker process: measures candidates on a device, and may be lost over one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/runtime/device.h"
#include "src/runtime/measurement.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

// Called before any of the candidate's code: what the device needs of the system afterwards, threads above all, it has
// then.
using MakeDevice = std::function<std::unique_ptr<Device>(const RunRequest&)>;

// What a worker gives up besides starting processes.
struct WorkerPolicy {
  // All of confinement.h, for boards: the device is made inside, without files, and its load runs no code.
  bool confined = false;
  // Candidates run on a device, out of reach of this process, which serves one after the other while may_serve_on.
  // Nothing is given up: the device's driver starts threads and opens files whenever it wants to.
  bool on_device = false;
  std::vector<std::string> required = {};  // layers without which no candidate runs: such a run is kDeviceLost
};

// Whether a worker of a device lives on after this result.
bool may_serve_on(const RunResult&);

// Serves RunRequests from `channel` and returns the exit code: one where it is confined, else one after the other, on
// this machine each in a child. The candidate may crash, hang or corrupt its process: the other side (local_runner.h)
// judges that by how this one ends, which ends as its child did.
int run_worker(int channel, const MakeDevice&, const WorkerPolicy& = {});
// One request that has been read, in this process, which is not confined; does not return.
[[noreturn]] void serve_run(int channel, const RunRequest&, Device&, std::vector<Uploaded> = {});

// Exit code of a worker that could not begin, through no fault of the candidate; stderr says why.
constexpr int kWorkerFault = 70;

}  // namespace tw::runtime
