// How much CPU time the control groups grant: a container with "--cpus 2" on a machine of 64 cores gets two cores'
// worth.
#pragma once

#include <string>

namespace tw::support {

// In cores; infinity where no group on the way from this process to the root has a quota. `root` is "" or, for tests, a
// folder that has proc/self/cgroup and sys/fs/cgroup in it.
double cpu_quota(const std::string& root = "");

}  // namespace tw::support
