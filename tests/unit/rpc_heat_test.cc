// Timings of a board that is hot, with a clock that the test sets.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <vector>

#include "rpc/board/heat.h"
#include "src/support/temporary_folder.h"
#include "src/target/fastest_cores.h"

namespace tw::rpc {
namespace {

using runtime::RunResult;
using runtime::RunStatus;

class OfHeat : public testing::Test {
 protected:
  Heat heat() {
    return Heat({[this](int) {
                   ++looks;
                   return hertz;
                 },
                 [this](double seconds) {
                   slept.push_back(seconds);
                   now += seconds;
                   if (cools_to > 0) hertz = cools_to;
                   if (rests) hertz = rests(now);
                   return !stopped;
                 },
                 [this] {
                   if (works) hertz = works();
                 },
                 folder / "", [this] { return now; }});
  }
  Heat begun() {
    Heat h = heat();
    h.begin_session();
    slept.clear();
    looks = 0;
    return h;
  }
  RunResult run() {
    ++runs;
    now += kRunS;
    hertz *= heats_by;
    return {status, 1e-3, 0, 1, ""};
  }
  double slept_s() const { return std::accumulate(slept.begin(), slept.end(), 0.0); }
  Heat::Timed timed(Heat& heat) {
    return heat.timed([this] { return run(); });
  }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder / path).parent_path());
    std::ofstream(folder / path) << text;
  }

  static constexpr double kRunS = 0.1;
  const support::TemporaryFolder folder{"tensorwright-heat"};
  double hertz = 2e9, heats_by = 1, cools_to = 0, now = 1000;
  std::function<double(double now)> rests;  // the clock after some sleep
  std::function<double()> works;            // and after some work
  RunStatus status = RunStatus::kOk;
  bool stopped = false;
  int runs = 0, looks = 0;
  std::vector<double> slept;
};

TEST_F(OfHeat, ACoolBoardTimesOnce) {
  Heat h = begun();
  hertz = 1.95e9;  // 2.5 % slower
  const Heat::Timed t = timed(h);
  EXPECT_FALSE(t.throttled);
  EXPECT_EQ(t.state.hertz, 1.95e9);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(slept.empty());
}

TEST_F(OfHeat, TheLookAfterOneTimingIsTheLookBeforeTheNext) {
  Heat h = begun();
  timed(h);
  EXPECT_EQ(looks, 1) << "the session has just begun";
  now += 1;
  timed(h);
  EXPECT_EQ(looks, 3) << "before and after";
}

TEST_F(OfHeat, AHotOneCoolsAndTimesAgain) {
  Heat h = begun();
  hertz = 1.5e9;
  cools_to = 2e9;
  EXPECT_FALSE(timed(h).throttled);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(slept.size(), 1u);
}

TEST_F(OfHeat, OneThatBecomesHotWhileItTimesDoesSoToo) {
  Heat h = begun();
  heats_by = 0.9;
  cools_to = 2e9;
  const Heat::Timed t = timed(h);
  EXPECT_TRUE(t.throttled) << "a rest shows a clock at which it does not stay";
  EXPECT_NEAR(t.state.hertz, 1.8e9, 1);
  EXPECT_EQ(runs, 3);
  EXPECT_NEAR(slept_s(), 0.05 + 4, 0.1) << "it looks again soon, and then rests";
  EXPECT_TRUE(timed(h).throttled) << "and the next one is no better off";
}

TEST_F(OfHeat, AClockThatARestDoesNotMendCountsFromThenOn) {
  Heat h = begun();
  hertz = 1.5e9;
  const Heat::Timed t = timed(h);
  EXPECT_FALSE(t.throttled);
  EXPECT_EQ(t.state.hertz, 1.5e9);
  EXPECT_EQ(runs, 2);
  EXPECT_NEAR(slept_s(), 2 + 4, 0.1);
  slept.clear();
  hertz = 1.46e9;
  EXPECT_FALSE(timed(h).throttled);
  EXPECT_TRUE(slept.empty());
  hertz = 1.4e9;
  cools_to = 1.5e9;
  EXPECT_FALSE(timed(h).throttled);
  EXPECT_EQ(slept.size(), 1u) << "slower than that is hot again";
}

TEST_F(OfHeat, OneThatStillCoolsWhenItsRestEndsIsHot) {
  Heat h = begun();
  hertz = 1e9;
  const double begin = now;
  rests = [&](double at) { return 1e9 + (at - begin) * 0.07e9; };  // 2 GHz after 14 s
  const Heat::Timed t = timed(h);
  EXPECT_TRUE(t.throttled);
  EXPECT_EQ(runs, 3);
}

TEST_F(OfHeat, AClockThatWandersWhileTheBoardRestsIsNotWaitedForTwice) {
  Heat h = begun();
  int turn = 0;
  rests = [&](double) { return ++turn % 4 == 3 ? 1.7e9 : 2e9; };
  heats_by = 0.85;
  EXPECT_FALSE(timed(h).throttled);
  EXPECT_EQ(runs, 3);
  slept.clear();
  for (int i = 0; i < 20; ++i) {
    hertz = 2e9;  // and it falls to 1.7 during each
    EXPECT_FALSE(timed(h).throttled);
  }
  EXPECT_TRUE(slept.empty());
}

TEST_F(OfHeat, AClockThatWandersUnderAnyWorkIsKnownWhenASessionBegins) {
  works = [turn = 0]() mutable { return ++turn % 4 == 3 ? 1.7e9 : 2e9; };
  Heat h = begun();
  hertz = 1.7e9;
  EXPECT_FALSE(timed(h).throttled);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(slept.empty());
  EXPECT_EQ(looks, 1) << "a short look is enough";
}

TEST_F(OfHeat, AShortLookThatSomebodyElseMadeSlowIsNoClock) {
  works = [turn = 0]() mutable { return ++turn % 20 == 0 ? 0.9e9 : 2e9; };
  Heat h = begun();
  hertz = 2e9;
  heats_by = 0.75;
  cools_to = 2e9;
  EXPECT_TRUE(timed(h).throttled);
}

TEST_F(OfHeat, OneThatWasHotAsASessionBeganIsHeldToWhatItCouldDoSince) {
  works = [turn = 0]() mutable { return ++turn % 2 == 0 ? 1.2e9 : 1.5e9; };
  Heat h = begun();
  for (int i = 0; i < 100; ++i) {
    hertz = 2e9;
    EXPECT_FALSE(timed(h).throttled);
  }
  heats_by = 0.75;
  cools_to = 2e9;
  EXPECT_TRUE(timed(h).throttled);
}

TEST_F(OfHeat, AfterALongPauseABoardIsHeldToWhatItCouldDoBefore) {
  Heat h = begun();
  hertz = 1.5e9;  // so hot that a rest is not enough
  EXPECT_FALSE(timed(h).throttled);
  now += 60;
  hertz = 2e9;
  EXPECT_FALSE(timed(h).throttled);
  heats_by = 0.75;
  cools_to = 2e9;
  EXPECT_TRUE(timed(h).throttled);
}

TEST_F(OfHeat, WhatGaveNoTimeIsNotRunAgain) {
  Heat h = begun();
  hertz = 1.5e9;
  status = RunStatus::kCrashed;
  EXPECT_FALSE(timed(h).throttled);
  EXPECT_EQ(runs, 1);
}

TEST_F(OfHeat, AClockThatBecomesFasterIsWhatLaterTimesAreHeldTo) {
  hertz = 1.5e9;  // hot when the session begins
  Heat h = begun();
  hertz = 2e9;
  EXPECT_FALSE(timed(h).throttled);
  hertz = 1.5e9;
  cools_to = 2e9;
  EXPECT_FALSE(timed(h).throttled);
  EXPECT_EQ(slept.size(), 1u) << "it was timed again";
}

TEST_F(OfHeat, WhereNoClockIsKnownNothingIsHot) {
  Heat h(Heat::unknown());
  h.begin_session();
  const Heat::Timed t = timed(h);
  EXPECT_FALSE(t.throttled);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(t.state.hertz, 0);
  EXPECT_EQ(t.state.celsius, 0);
}

TEST_F(OfHeat, NobodyWaitsWhoShallStop) {
  Heat h = begun();
  hertz = 1.5e9;
  stopped = true;
  EXPECT_TRUE(timed(h).throttled);
  EXPECT_EQ(runs, 1);
}

TEST_F(OfHeat, TemperatureIsThatOfTheHottestZone) {
  write("sys/class/thermal/thermal_zone0/temp", "41000\n");
  write("sys/class/thermal/thermal_zone7/temp", "63500\n");  // drivers that go leave gaps
  Heat h = begun();
  EXPECT_EQ(timed(h).state.celsius, 63.5);
}

TEST_F(OfHeat, TheFastestCoresComeFirst) {
  for (const auto& [core, capacity] : {std::pair{0, "485"}, {1, "485"}, {2, "1024"}, {3, "1024"}})
    write("sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpu_capacity", capacity);
  EXPECT_EQ(target::fastest_first({0, 1, 2, 3}, folder / ""), (std::vector<int>{2, 3, 0, 1}));
  EXPECT_EQ(target::fastest_first({1, 3}, folder / ""), (std::vector<int>{3, 1}));
  EXPECT_EQ(target::fastest_first({4, 5}, folder / ""), (std::vector<int>{4, 5})) << "nothing is said of these";
}

}  // namespace
}  // namespace tw::rpc
