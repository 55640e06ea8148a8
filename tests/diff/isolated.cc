#include "tests/diff/isolated.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace tw::diff {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::string death(int status) {
  if (WIFSIGNALED(status)) return "killed by SIG" + std::string(sigabbrev_np(WTERMSIG(status)));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return "exited with " + std::to_string(WEXITSTATUS(status));
  return "";
}

Isolated in_own_process(const std::function<std::string()>& work, int seconds) {
  int ends[2];
  if (pipe(ends) != 0) return {"", "no pipe"};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(static_cast<unsigned>(seconds));
    _exit(write_all(ends[1], work()) ? 0 : 1);
  }
  close(ends[1]);
  Isolated result;
  char chunk[4096];
  for (ssize_t n; (n = read(ends[0], chunk, sizeof chunk)) > 0;) result.text.append(chunk, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  result.death = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                     ? "still running after " + std::to_string(seconds) + " s"
                     : death(status);
  return result;
}

}  // namespace tw::diff
