// Candidates that are to end by a signal, in builds with sanitizers.
#pragma once

#include <cstdlib>
#include <string>

namespace tw::test {

// For processes that are started from here on: a sanitizer neither makes an exit code of a signal nor takes seconds to
// report it.
inline void leave_signals_alone() {
  for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* before = std::getenv(name);
    const std::string options = before ? before : "",
                      added = "handle_segv=0:handle_sigill=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0";
    if (!options.ends_with(added)) setenv(name, (options + " " + added).c_str(), 1);
  }
}

}  // namespace tw::test
