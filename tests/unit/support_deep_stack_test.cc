#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/support/deep_stack.h"

namespace tw::support {
namespace {

// As ulimit -v sets it, and batch systems of clusters do.
TEST(DeepStack, IsLessDeepWhereAddressSpaceIsLimited) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: sanitizers take all of the address space";
#endif
  const pid_t child = fork();
  if (child == 0) {
    const rlimit little = {size_t{1} << 29, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &little) != 0) _exit(2);
    _exit(with_deep_stack([] { return 0; }));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tw::support
