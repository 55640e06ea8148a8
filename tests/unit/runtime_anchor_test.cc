#include <gtest/gtest.h>

#include "src/runtime/anchor.h"

namespace tw::runtime {
namespace {

TEST(Anchors, AreTimedAgainEveryFewTrials) {
  Anchor anchor;
  anchor.count();
  EXPECT_FALSE(anchor.due());
  anchor.begin(1e-3, 0.01, false);
  for (int i = 1; i < Anchor::kEvery; ++i) {
    EXPECT_FALSE(anchor.due());
    anchor.count();
  }
  EXPECT_TRUE(anchor.due());
  EXPECT_EQ(anchor.drift(), 1);
  anchor.again(1.1e-3, 0.01);
  EXPECT_FALSE(anchor.due());
  EXPECT_DOUBLE_EQ(anchor.drift(), 1.1);
}

TEST(Anchors, OfAnotherProcessAreDueAtOnce) {
  Anchor anchor;
  anchor.begin(1e-3, 0, true);
  EXPECT_TRUE(anchor.due());
}

TEST(Anchors, NoDriftIsSeenInWhatVariesAsMuch) {
  Anchor anchor;
  anchor.begin(1e-3, 0.02, false);
  anchor.again(1.015e-3, 0.001);
  EXPECT_EQ(anchor.drift(), 1);
  anchor.again(0.9e-3, 0.3);
  EXPECT_EQ(anchor.drift(), 1);
  anchor.again(0.9e-3, 0.02);
  EXPECT_DOUBLE_EQ(anchor.drift(), 0.9);
  anchor.again(1e-3, 0.02);
  EXPECT_EQ(anchor.drift(), 1);
}

TEST(Anchors, OneThatFailsSaysNothing) {
  Anchor anchor;
  anchor.begin(1e-3, 0, true);
  anchor.again(1.2e-3, 0);
  for (int i = 0; i < Anchor::kEvery; ++i) anchor.count();
  anchor.failed();
  EXPECT_FALSE(anchor.due());
  EXPECT_DOUBLE_EQ(anchor.drift(), 1.2);
}

}  // namespace
}  // namespace tw::runtime
