#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>

#include "src/support/deep_stack.h"
#include "tests/unit/little_memory.h"

namespace tw::support {
namespace {

// Batch systems of clusters limit it.
TEST(DeepStack, IsLessDeepWhereAddressSpaceIsLimited) {
  if (*test::no_little_memory()) GTEST_SKIP() << "skipped: " << test::no_little_memory();
  EXPECT_EQ(test::returned_within(size_t{1} << 29, [] { return with_deep_stack([] { return 0; }); }), 0);
}

int frames(int n) {
  volatile char frame[1000];
  frame[0] = 1;
  return n == 0 ? 0 : frame[0] + frames(n - 1);
}

int64_t resident_bytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST(DeepStack, GivesBackTheMemoryOfADeepCall) {
  EXPECT_EQ(with_deep_stack([] { return frames(0); }), 0);
  const int64_t before = resident_bytes();
  EXPECT_EQ(with_deep_stack([] { return frames(40'000); }), 40'000);
  EXPECT_LT(resident_bytes(), before + (int64_t{8} << 20));
  EXPECT_EQ(with_deep_stack([] { return frames(40'000); }), 40'000);
}

TEST(DeepStack, IsLeftByAnExceptionAndUsedAgain) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(on_deep_stack([] { throw std::runtime_error("out of it"); }), std::runtime_error);
    EXPECT_EQ(with_deep_stack([] { return with_deep_stack([] { return frames(1000); }); }), 1000);
  }
}

}  // namespace
}  // namespace tw::support
