// What a tuning keeps of its trials.
#include <gtest/gtest.h>

#include "autotune/account.h"

namespace tw::autotune {
namespace {

Trial trial(const char* status, double seconds) {
  Trial t;
  t.status = status;
  t.seconds = seconds;
  return t;
}

TEST(Account, TrialsStandInTheOrderOfTheirNumbers) {
  TuneResult result;
  Account account(result);
  account.note(trial("ok", 4), 0);
  account.note(trial("ok", 1), 3);
  account.note(trial("crashed", 0), 2);
  account.note(trial("ok", 3), 1);
  EXPECT_EQ(account.since_best(), 3u);
  account.put_in_order(1);
  EXPECT_EQ(result.curve, (std::vector<double>{4, 3, 3, 1}));
  EXPECT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.trials[2].status, "crashed");
  EXPECT_EQ(account.best_seconds(), 1);
  EXPECT_EQ(account.since_best(), 1u);
}

TEST(Account, RunsAreGivenUpByWhatWasKnownBeforeTheBatch) {
  TuneResult result;
  Account account(result);
  EXPECT_EQ(account.give_up_above(0), 0);
  account.note(trial("timeout", 0), 0);
  EXPECT_EQ(account.give_up_above(0), 0) << "no time yet";
  account.note(trial("ok", 5), 1);
  account.note(trial("ok", 2), 2);
  EXPECT_EQ(account.give_up_above(0), 10) << "the first time of the batch";
  EXPECT_EQ(account.give_up_above(2), 10) << "the best before the batch";
  EXPECT_EQ(account.give_up_above(3), 4);
}

TEST(Account, OneThatWasBeatenIsNoFailureAndSetsNoBest) {
  TuneResult result;
  Account account(result);
  account.note(trial("beaten", 1), 0);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_TRUE(std::isinf(account.best_seconds()));
}

}  // namespace
}  // namespace tw::autotune
