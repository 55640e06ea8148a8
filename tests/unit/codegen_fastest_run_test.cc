// Measuring beside others, on clocks that the test turns.
#include <gtest/gtest.h>

#include "codegen/fastest_run.h"

namespace tw::codegen {
namespace {

struct Turned {
  double wall = 100, used = 7;
  int runs = 0;
  Clocks clocks() {
    return {[this] { return wall; }, [this] { return used; }};
  }
  // Each task had a core for this share of the time.
  void run(double seconds, double tasks, double share) { ++runs, wall += seconds, used += tasks * seconds * share; }
};

TEST(FastestRun, OfSevenCountsWhenTheFirstHasWarmedUp) {
  Turned t;
  const double took = fastest_run(2, [&] { t.run(t.runs == 0 ? 1e-4 : t.runs == 4 ? 2e-3 : 3e-3, 2, 1); }, t.clocks());
  EXPECT_NEAR(took, 2e-3, 1e-9);
  EXPECT_EQ(t.runs, 8);
}

TEST(FastestRun, WaitsForOneInWhichAllTasksHadTheirCores) {
  Turned t;
  const double took = fastest_run(2, [&] { t.run(t.runs < 20 ? 2e-3 : 1e-3, 2, t.runs < 20 ? .5 : 1); }, t.clocks());
  EXPECT_NEAR(took, 1e-3, 1e-9);
  EXPECT_EQ(t.runs, 21);
}

TEST(FastestRun, OfATaskThatHadACoreIsNotThatOfTwo) {
  Turned t;
  fastest_run(2, [&] { t.run(1e-3, 1, 1); }, t.clocks());
  EXPECT_GT(t.runs, 90);
}

TEST(FastestRun, LosesPatienceAndTakesWhatThereIs) {
  Turned t;
  const double took = fastest_run(1, [&] { t.run(1e-3, 1, .5); }, t.clocks());
  EXPECT_NEAR(took, 1e-3, 1e-9);
  EXPECT_NEAR(t.runs, 100, 2);
}

TEST(FastestRun, OfWhatTakesLongerThanItsPatienceIsOfSevenAll) {
  Turned t;
  fastest_run(1, [&] { t.run(1, 1, .5); }, t.clocks());
  EXPECT_EQ(t.runs, 8);
}

TEST(FastestRun, TheProcessesClocksGoOnWhileItWorks) {
  const Clocks clocks = process_clocks();
  const double wall = clocks.wall(), used = clocks.used();
  while (clocks.used() == used) {
  }
  EXPECT_GT(clocks.wall(), wall);
}

}  // namespace
}  // namespace tw::codegen
