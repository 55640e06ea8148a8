// Numbers near the ends of 64 bits: the search gives up on them, or is right.
#include <gtest/gtest.h>

#include "src/lower/integer_system.h"

namespace tw::lower {
namespace {

using Answer = IntegerSystem::Answer;
using Sum = IntegerSystem::Sum;
constexpr int64_t kLarge = int64_t{1} << 62;

Sum sum(std::map<int, int64_t> terms, int64_t constant) { return {std::move(terms), constant, false}; }

TEST(IntegerSystem, HalvesARangeFarFromZero) {
  IntegerSystem system;
  const int x = system.variable({kLarge, kLarge + 3});
  system.require({{sum({{x, 1}}, -kLarge - 1), false}});
  const IntegerSystem::Outcome found = system.solve();
  ASSERT_EQ(found.answer, Answer::kSome);
  EXPECT_GE(found.values[0], kLarge + 1);
}

TEST(IntegerSystem, ASumBelowAllNumbersSaysNothingOfItsOtherTerms) {
  IntegerSystem system;
  const int x = system.variable({-kLarge, -kLarge}), y = system.variable({0, 5});
  system.require({{sum({{x, 4}, {y, 1}}, 0), false}});
  EXPECT_EQ(system.solve().answer, Answer::kNone);  // as y says of x
}

TEST(IntegerSystem, BoundsThatLeave64BitsEndTheSearch) {
  IntegerSystem system;
  const int x = system.variable({-INT64_MAX, 0}), y = system.variable({0, 1});
  system.require({{sum({{x, 1}, {y, 1}}, kLarge), true}, {sum({{x, 1}}, kLarge), true}});
  EXPECT_NE(system.solve().answer, Answer::kNone);  // x = -2^62 and y = 0
}

}  // namespace
}  // namespace tw::lower
