// The inside of tw-worker: loads one candidate, runs it, checks what it wrote, and only then times it.
#pragma once

namespace tw::runtime {

// Serves one RunRequest from `channel` and returns the exit code. The candidate may crash, hang or corrupt this
// process: the other side (local_runner.h) judges that by how it ends.
int run_worker(int channel);

// Exit code of a worker that could not begin, through no fault of the candidate; stderr says why.
constexpr int kWorkerFault = 70;

}  // namespace tw::runtime
