#include <gtest/gtest.h>

#include <map>

#include "src/ir/known_by_id.h"
#include "src/support/rng.h"

namespace tw::ir {
namespace {

std::map<uint64_t, int> all(const KnownById<int>& known) { return {known.begin(), known.end()}; }

TEST(KnownById, WhatWasLearnedIsTakenBack) {
  KnownById<int> known;
  known.set(1, 10);
  const size_t outer = known.now();
  known.set(1, 11);
  known.set(2, 20);
  const size_t inner = known.now();
  known.forget(1);
  known.set(1, 12);
  known.forget(3);
  EXPECT_EQ(all(known), (std::map<uint64_t, int>{{1, 12}, {2, 20}}));
  known.back_to(inner);
  EXPECT_EQ(all(known), (std::map<uint64_t, int>{{1, 11}, {2, 20}}));
  known.back_to(outer);
  EXPECT_EQ(all(known), (std::map<uint64_t, int>{{1, 10}}));
  EXPECT_EQ(known.find(2), nullptr);
}

TEST(KnownById, IsACopyThatIsPutBack) {
  support::Rng rng(1);
  KnownById<int> known;
  std::vector<std::pair<size_t, std::map<uint64_t, int>>> scopes;
  for (int step = 0; step < 10'000; ++step) {
    const uint64_t id = rng.below(8);
    switch (rng.below(5)) {
      case 0:
        scopes.emplace_back(known.now(), all(known));
        break;
      case 1:
        if (scopes.empty()) break;
        known.back_to(scopes.back().first);
        ASSERT_EQ(all(known), scopes.back().second);
        scopes.pop_back();
        break;
      case 2:
        known.forget(id);
        break;
      default:
        known.set(id, step);
    }
  }
}

}  // namespace
}  // namespace tw::ir
