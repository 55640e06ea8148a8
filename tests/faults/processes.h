// Worker processes as /proc shows them.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace tw::test {

// tw-worker and tw-worker-build processes, or others whose names begin so, that `parent` started and that still run.
inline std::vector<pid_t> workers_of(pid_t parent, const std::string& name = "tw-worker") {
  std::vector<pid_t> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(std::atoi(entry->d_name));
    if (pid <= 0) continue;
    std::ifstream stat("/proc/" + std::string(entry->d_name) + "/stat");
    std::string line;
    std::getline(stat, line);
    const size_t close = line.rfind(')');
    if (close == std::string::npos) continue;
    char state = 0;
    int of = 0;
    std::sscanf(line.c_str() + close + 1, " %c %d", &state, &of);
    if (of == parent && state != 'Z' && line.find("(" + name) != std::string::npos) found.push_back(pid);
  }
  closedir(proc);
  return found;
}

}  // namespace tw::test
