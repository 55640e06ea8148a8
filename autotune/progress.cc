// The progress line of C++ programs.
#include <unistd.h>

#include <cstdio>

#include "tensorwright/autotune.h"

namespace tw::autotune {

void print_progress(const Progress& p) {
  const bool last = p.trials >= p.total, terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal && !last && p.trials % 16 != 0) return;  // a file gets a line now and then
  std::fprintf(stderr, "%s%d/%d trials, best %.4g ms, current %.4g ms (%s), %d failed, %.0f s left %s",
               terminal ? "\r" : "", p.trials, p.total, p.best_seconds * 1e3, p.current->seconds * 1e3,
               p.current->status.c_str(), p.failures, p.left_s, terminal && !last ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace tw::autotune
