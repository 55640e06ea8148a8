// A process of its own that has little address space, as under ulimit -v.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace tw::test {

// Empty: there can be one. Sanitizers take all of the address space.
inline const char* no_little_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "sanitizers take all of the address space";
#else
  return "";
#endif
}

// What `f` returns in a child with so many bytes; a signal that ends it is a failure.
inline int returned_within(size_t bytes, const std::function<int()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit little = {bytes, RLIM_INFINITY};
    _exit(setrlimit(RLIMIT_AS, &little) == 0 ? f() : 255);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

}  // namespace tw::test
