// What a command of the shell writes.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace tw::test {

// What it writes to its standard output; in front of it what ended it, if it was not exit status 0.
inline std::string said_by(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  for (char buffer[256]; std::fgets(buffer, sizeof buffer, pipe);)
    if (!std::string_view(buffer).starts_with("qemu-")) text += buffer;  // that it lacks what the CPU's name stands for
  const int status = pclose(pipe);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status)) + ": " + text;
  return status == 0 ? text : "exit status " + std::to_string(WEXITSTATUS(status)) + ": " + text;
}

// The same, with what it writes to its standard error.
inline std::string output_of(const std::string& command) { return said_by(command + " 2>&1"); }

}  // namespace tw::test
