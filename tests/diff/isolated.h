// Work in a process of its own: a crash or a hang of what is tested is a result here, not the end.
#pragma once

#include <functional>
#include <string>

namespace tw::diff {

struct Isolated {
  std::string text;   // what `work` returned
  std::string death;  // "killed by SIGSEGV", "still running after 300 s"; "" when it returned
};
// The calling process must have one thread.
Isolated in_own_process(const std::function<std::string()>& work, int seconds);

// "killed by SIGSEGV", "exited with 3"; "" for an exit with 0.
std::string death(int wait_status);

bool write_all(int fd, std::string_view text);

}  // namespace tw::diff
