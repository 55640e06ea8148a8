// The quotas of version 2 (cpu.max: "200000 100000" or "max 100000") and of version 1 (cpu.cfs_quota_us, -1 for none).
#include "src/support/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace tw::support {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

double cores(double quota, double period) { return quota > 0 && period > 0 ? quota / period : kNoQuota; }

double quota_of(const std::string& folder) {
  double quota = 0, period = 0;
  if (std::ifstream max(folder + "/cpu.max"); max >> quota >> period) return cores(quota, period);
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return cores(quota, period);
}

// Of the group and of all groups that it is in. Inside a container the path may be the host's: then only the root,
// which is the container's own group, is there.
double quota_up_from(const std::string& hierarchy, std::string path) {
  double least = quota_of(hierarchy);
  for (; path.size() > 1; path.resize(path.rfind('/'))) least = std::min(least, quota_of(hierarchy + path));
  return least;
}

bool has_cpu(const std::string& controllers) { return ("," + controllers + ",").find(",cpu,") != std::string::npos; }

}  // namespace

double cpu_quota(const std::string& root) {
  double least = kNoQuota;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user.slice" or "4:cpu,cpuacct:/docker/1234"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (!path.starts_with('/')) continue;
    if (controllers.empty()) least = std::min(least, quota_up_from(root + "/sys/fs/cgroup", path));
    if (has_cpu(controllers)) least = std::min(least, quota_up_from(root + "/sys/fs/cgroup/cpu", path));
  }
  return least;
}

}  // namespace tw::support
