#include "src/target/fastest_cores.h"

#include <algorithm>
#include <fstream>
#include <map>

namespace tw::target {

std::vector<int> fastest_first(std::vector<int> cores, const std::string& root) {
  std::map<int, int> capacity;  // of 1024
  for (const int core : cores)
    std::ifstream(root + "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpu_capacity") >> capacity[core];
  std::ranges::stable_sort(cores, [&](int a, int b) { return capacity[a] > capacity[b]; });
  return cores;
}

}  // namespace tw::target
