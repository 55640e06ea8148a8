// Numbers near the ends of 64 bits: the search gives up on them, or is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "src/lower/integer_system.h"

namespace tw::lower {
namespace {

using Answer = IntegerSystem::Answer;
using Sum = IntegerSystem::Sum;
constexpr int64_t kLarge = int64_t{1} << 62;

Sum sum(LinearTerms terms, int64_t constant) { return {std::move(terms), constant, false}; }

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

// i * 64 + j of two points of a wide range, in rows of 64, is one number at one point only.
TEST(IntegerSystem, DigitsOfOneNumberAreOneByOneEqual) {
  IntegerSystem system;
  const int i = system.variable({0, 1 << 30}), j = system.variable({0, 63});
  const int k = system.variable({0, 1 << 30}), l = system.variable({0, 63});
  system.require({{sum({{i, 64}, {j, 1}, {k, -64}, {l, -1}}, 0), true}});
  EXPECT_EQ(system.solve().answer, Answer::kSome);
  system.require_one_of({{{sum({{i, 1}, {k, -1}}, -1), false}}, {{sum({{k, 1}, {i, -1}}, -1), false}}});
  EXPECT_EQ(system.solve().answer, Answer::kNone);
}

TEST(IntegerSystem, DigitsThatOverlapAreNotEqual) {
  IntegerSystem system;
  const int i = system.variable({0, 1 << 30}), j = system.variable({0, 64});
  const int k = system.variable({0, 1 << 30}), l = system.variable({0, 64});
  system.require({{sum({{i, 64}, {j, 1}, {k, -64}, {l, -1}}, 0), true}, {sum({{i, 1}, {k, -1}}, -1), false}});
  const IntegerSystem::Outcome found = system.solve();
  ASSERT_EQ(found.answer, Answer::kSome);
  EXPECT_EQ(found.values[1], 0);
  EXPECT_EQ(found.values[3], 64);
}

TEST(IntegerSystem, AnInequalityIsAsTightAsItsDivisorAllows) {
  IntegerSystem system;
  const int x = system.variable({ir::Interval::kNegInf, ir::Interval::kPosInf}), y = system.variable({0, 1 << 30});
  system.require({{sum({{x, 4}, {y, -4}}, -1), false}, {sum({{y, 4}, {x, -4}}, 3), false}});
  EXPECT_EQ(system.solve().answer, Answer::kNone);  // 1 <= 4 * (x - y) <= 3
}

// Every point of small ranges is looked at.
bool some_point(const IntegerSystem::Rows& rows, const std::vector<ir::Interval>& ranges, std::vector<int64_t>& point) {
  if (point.size() < ranges.size()) {
    const ir::Interval range = ranges[point.size()];
    for (int64_t value = range.lo; value <= range.hi; ++value) {
      point.push_back(value);
      if (some_point(rows, ranges, point)) return true;
      point.pop_back();
    }
    return false;
  }
  return std::ranges::all_of(rows, [&](const IntegerSystem::Row& row) {
    int64_t value = row.sum.constant;
    for (const auto& [v, factor] : row.sum.terms) value += factor * point[static_cast<size_t>(v)];
    return row.is_equation ? value == 0 : value >= 0;
  });
}

TEST(IntegerSystem, AgreesWithLookingAtEveryPoint) {
  std::mt19937 random(1);
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int unknown = 0, some = 0;
  for (int i = 0; i < 20000; ++i) {
    IntegerSystem system;
    std::vector<ir::Interval> ranges;
    for (int v = 0; v < 4; ++v) {
      const int64_t lo = upto(9) - 4;
      ranges.push_back({lo, lo + upto(7)});
      system.variable(ranges.back());
    }
    IntegerSystem::Rows rows;
    for (int r = 0; r < 1 + upto(3); ++r) {
      static constexpr int kFactors[] = {0, 0, 1, -1, 2, -3, 4, -4, 6, 12};
      Sum row{{}, upto(25) - 12, false};
      for (int v = 0; v < 4; ++v)
        if (const int factor = kFactors[upto(10)]) row.terms[v] = factor;
      rows.push_back({row, upto(3) > 0});
    }
    system.require(rows);
    const IntegerSystem::Outcome found = system.solve();
    std::vector<int64_t> point;
    const bool exists = some_point(rows, ranges, point);
    unknown += found.answer == Answer::kUnknown;
    some += exists;
    if (found.answer == Answer::kUnknown) continue;
    ASSERT_EQ(found.answer == Answer::kSome, exists) << "system " << i;
  }
  EXPECT_LT(unknown, 20);
  EXPECT_GT(some, 2000);
}

// Variables without an end are taken out of the rows once; what is left of these has to hold for narrower ranges too.
TEST(IntegerSystem, FindsNoneOfVariablesWithoutEndsWhereThereAreNone) {
  std::mt19937 random(2);
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int none = 0, missed = 0;
  for (int i = 0; i < 20000; ++i) {
    IntegerSystem system;
    std::vector<ir::Interval> ranges;
    for (int v = 0; v < 4; ++v) {
      const int64_t lo = upto(5) - 2;
      ranges.push_back({lo, lo + (v < 2 ? upto(5) : 12)});
      system.variable({lo, v < 2 ? ranges.back().hi : ir::Interval::kPosInf});
    }
    IntegerSystem::Rows rows;
    for (int r = 0; r < 2 + upto(4); ++r) {
      static constexpr int kFactors[] = {0, 1, -1, 2, -2, 3, -4};
      Sum row{{}, upto(13) - 6, false};
      for (int v = 0; v < 4; ++v)
        if (const int factor = kFactors[upto(7)]) row.terms[v] = factor;
      rows.push_back({row, upto(3) == 0});
    }
    system.require(rows);
    const Answer found = system.solve().answer;
    std::vector<int64_t> point;
    const bool exists = some_point(rows, ranges, point);
    ASSERT_TRUE(!exists || found != Answer::kNone) << "system " << i;
    none += found == Answer::kNone;
    missed += !exists && found != Answer::kNone;
  }
  EXPECT_GT(none, 5000);
  EXPECT_LT(missed, 2000);  // of which some have solutions further out
}

TEST(IntegerSystem, BoundsThatLeave64BitsEndTheSearch) {
  IntegerSystem system;
  const int x = system.variable({-INT64_MAX, 0}), y = system.variable({0, 1});
  system.require({{sum({{x, 1}, {y, 1}}, kLarge), true}, {sum({{x, 1}}, kLarge), true}});
  EXPECT_NE(system.solve().answer, Answer::kNone);  // x = -2^62 and y = 0
}

}  // namespace
}  // namespace tw::lower
