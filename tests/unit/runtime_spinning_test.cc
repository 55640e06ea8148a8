#include <gtest/gtest.h>

#include <chrono>

#include "src/runtime/spinning.h"

namespace tw::runtime {
namespace {

TEST(Spinning, EndsAndStaysAtItsEnd) {
  const auto begin = std::chrono::steady_clock::now();
  Spinning spinning;
  int64_t pauses = 0;
  while (spinning.pause()) ++pauses;
  [[maybe_unused]] const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(pauses, 0);
  EXPECT_FALSE(spinning.pause());
#if defined(__aarch64__)  // by the clock, whatever a pause takes
  EXPECT_GE(took.count(), 45e-6);
#endif
}

}  // namespace
}  // namespace tw::runtime
