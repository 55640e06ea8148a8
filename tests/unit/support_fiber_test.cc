// Functions on stacks of their own: they take turns, their exceptions come out, and what waits is ended whole.

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/support/fiber.h"

namespace tw::support {
namespace {

constexpr size_t kStack = size_t{128} << 10;

TEST(Fiber, FunctionsTakeTurns) {
  std::string said;
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (const char name : {'a', 'b', 'c'}) {
    auto fiber = std::make_unique<Fiber>(kStack);
    fiber->begin([&said, name, me = fiber.get()] {
      for (int n = 0; n < 3; ++n) {
        said += name;
        me->wait();
      }
    });
    fibers.push_back(std::move(fiber));
  }
  for (int n = 0; n < 3; ++n)
    for (const auto& fiber : fibers) EXPECT_TRUE(fiber->resume());
  for (const auto& fiber : fibers) EXPECT_FALSE(fiber->resume());
  EXPECT_EQ(said, "abcabcabc");
}

TEST(Fiber, RunsOneFunctionAfterTheOther) {
  Fiber fiber(kStack);
  int sum = 0;
  for (int n = 1; n <= 1000; ++n) {
    fiber.begin([&] {
      fiber.wait();
      sum += n;
    });
    EXPECT_TRUE(fiber.resume());
    EXPECT_FALSE(fiber.resume());
  }
  EXPECT_EQ(sum, 500500);
}

TEST(Fiber, ExceptionsComeOutWhereItWasResumed) {
  Fiber fiber(kStack);
  fiber.begin([&] {
    fiber.wait();
    throw std::runtime_error("after the turn");
  });
  EXPECT_TRUE(fiber.resume());
  EXPECT_THROW(fiber.resume(), std::runtime_error);
}

TEST(Fiber, WhatWaitsLetsGoOfWhatItHolds) {
  const auto held = std::make_shared<int>(1);
  {
    Fiber fiber(kStack);
    fiber.begin([&] {
      const std::vector<std::shared_ptr<int>> own(3, held);
      fiber.wait();
    });
    EXPECT_TRUE(fiber.resume());
    EXPECT_EQ(held.use_count(), 4);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Fiber, IsDeep) {
  Fiber fiber(size_t{4} << 20);
  int64_t depth = 0;
  const std::function<int64_t(int64_t)> down = [&](int64_t n) -> int64_t { return n == 0 ? 0 : 1 + down(n - 1); };
  fiber.begin([&] { depth = down(5000); });
  EXPECT_FALSE(fiber.resume());
  EXPECT_EQ(depth, 5000);
}

}  // namespace
}  // namespace tw::support
