// Tuning by a Runner elsewhere: a batch is built while the one before it runs, and the order in which runs end decides
// nothing.
//
// Candidates are built by writing their index, and boards invent times from it: what is left is the tuner's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <semaphore>
#include <set>
#include <thread>

#include "autotune/log/record.h"
#include "src/support/rng.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/folder.h"

namespace tw::autotune {
namespace {

using std::chrono::microseconds;
using testing::dense_task;
using testing::indices_of;

constexpr int kDeep = 3;  // jobs of a board

// So many boards, which run one job at a time and answer late.
class Boards final : public runtime::Runner {
 public:
  struct Behaviour {
    int run_us = 500, late_us = 2000;   // of a run; at most, of an answer
    uint64_t seed = 0;                  // of how late
    std::map<uint64_t, int> lose = {};  // so many runs of these candidates are lost
    std::set<uint64_t> crash = {};
  };
  Boards(int boards, Behaviour behaviour) : boards_(boards), behaviour_(std::move(behaviour)), free_(boards) {}

  runtime::RunResult run(const runtime::RunRequest& request) override {
    const uint64_t call = calls++;
    {
      const std::lock_guard lock(mutex_);
      limits[request.candidate] = request.give_up_above_s;
      if (int& left = behaviour_.lose[request.candidate]; left > 0) {
        --left;
        return {runtime::RunStatus::kDeviceLost, 0, 0, 0, "the board went away"};
      }
    }
    free_.acquire();
    count_running(1);
    std::this_thread::sleep_for(microseconds(behaviour_.run_us));
    count_running(-1);
    free_.release();
    support::Rng rng(support::derive_seed(behaviour_.seed, call));
    if (behaviour_.late_us > 0)
      std::this_thread::sleep_for(microseconds(rng.below(static_cast<uint64_t>(behaviour_.late_us))));
    const std::lock_guard lock(mutex_);
    arrivals.push_back(request.candidate);
    if (behaviour_.crash.contains(request.candidate)) return {runtime::RunStatus::kCrashed, 0, 0, 0, "SIGSEGV"};
    return {runtime::RunStatus::kOk, 1e-3 * (1 + support::Rng(request.candidate).uniform()), 0.01, 5, ""};
  }
  int slots() const override { return kDeep * boards_; }
  MachineDescription machine() const override { return {.hardware = host_hardware(), .threads = 2, .name = "board"}; }

  std::atomic<uint64_t> calls = 0;
  int most_at_once = 0;               // runs
  std::map<uint64_t, double> limits;  // what the last run of a candidate was given up at
  std::vector<uint64_t> arrivals;

 private:
  void count_running(int more) {
    const std::lock_guard lock(mutex_);
    most_at_once = std::max(most_at_once, running_ += more);
  }

  const int boards_;
  Behaviour behaviour_;
  int running_ = 0;
  std::counting_semaphore<> free_;
  std::mutex mutex_;
};

class Elsewhere : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  }
  TuneOptions options(int trials, const std::string& log = "log.jsonl") const {
    TuneOptions o;
    o.trials = trials;
    o.log = folder_ / log;
    o.batch = 8;
    o.confirm = 2;
    o.build = [](uint64_t index, const std::string& path) {
      std::ofstream(path) << index;
      return std::string();
    };
    return o;
  }
  const Task task_ = dense_task(37, 65, 50);
  const test::Folder folder_;
};

// A log but for the order of its lines and the times at which they were written.
std::multiset<std::string> contents(const std::string& log) {
  std::multiset<std::string> lines;
  for (Record r : load_log(log).records) {
    r.time = "then";
    lines.insert(to_line(r));
  }
  return lines;
}

std::vector<std::string> lines_of(const std::string& log) {
  std::ifstream in(log);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void write_lines(const std::string& log, const std::vector<std::string>& lines) {
  std::ofstream out(log);
  for (const std::string& line : lines) out << line << "\n";
}

TEST_F(Elsewhere, TimesInAnyOrderDecideWhatTimesInTurnDo) {
  Boards one(1, {.late_us = 0});
  const TuneResult in_turn = tune(task_, options(44, "in_turn.jsonl"), one);
  ASSERT_EQ(in_turn.trials.size(), 44u);
  for (const uint64_t seed : {1, 2, 3}) {
    Boards four(4, {.seed = seed});
    const std::string log = std::to_string(seed) + ".jsonl";
    const TuneResult at_once = tune(task_, options(44, log), four);
    EXPECT_EQ(indices_of(at_once), indices_of(in_turn));
    EXPECT_EQ(at_once.curve, in_turn.curve);
    EXPECT_EQ(contents(folder_ / log), contents(folder_ / "in_turn.jsonl"));
    EXPECT_NE(four.arrivals, one.arrivals) << "nothing came out of order: the test tests nothing";
  }
}

TEST_F(Elsewhere, ABatchIsBuiltWhileTheOneBeforeItRuns) {
  // Runs of the second batch do not end before one of the third is built.
  class Patient final : public runtime::Runner {
   public:
    runtime::RunResult run(const runtime::RunRequest&) override {
      if (++runs_ > 8)
        for (int ms = 0; built <= 16 && ms < 30000; ++ms) std::this_thread::sleep_for(microseconds(1000));
      return {runtime::RunStatus::kOk, 1e-3, 0.01, 5, ""};
    }
    int slots() const override { return 2; }
    MachineDescription machine() const override { return runtime::this_machine(); }
    std::atomic<int> built = 0;

   private:
    std::atomic<int> runs_ = 0;
  } runner;
  TuneOptions o = options(24);
  o.build = [&](uint64_t index, const std::string& path) {
    ++runner.built;
    std::ofstream(path) << index;
    return std::string();
  };
  EXPECT_LT(tune(task_, o, runner).elapsed_s, 30);
}

TEST_F(Elsewhere, ALogThatWasCutOffAnywhereIsContinuedAsIfNothingHadHappened) {
  Boards boards(4, {});
  TuneOptions o = options(44);
  o.confirm = 0;
  const TuneResult whole = tune(task_, o, boards);
  const std::vector<std::string> lines = lines_of(o.log);
  const std::multiset<std::string> expected = contents(o.log);
  support::Rng rng(5);
  for (int run = 0; run < 8; ++run) {
    const size_t kept = rng.below(lines.size());
    std::vector<std::string> log(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(kept));
    for (int i = 0; i < run && log.size() > 2; ++i)  // what was under way, of two batches
      log.erase(log.end() - 1 - static_cast<std::ptrdiff_t>(rng.below(std::min<size_t>(8, log.size() - 1))));
    write_lines(o.log, log);
    const uint64_t before = boards.calls;
    const TuneResult resumed = tune(task_, o, boards);
    EXPECT_EQ(indices_of(resumed), indices_of(whole)) << kept;
    EXPECT_EQ(contents(o.log).size(), expected.size());
    EXPECT_EQ(boards.calls - before, lines.size() - log.size()) << "something was measured twice";
  }
}

TEST_F(Elsewhere, WhatRunsAreGivenUpAtIsFixedForABatchBeforeTheOneBeforeItEnds) {
  Boards boards(4, {});
  TuneOptions o = options(40);
  o.confirm = 0;
  const TuneResult result = tune(task_, o, boards);
  EXPECT_EQ(boards.limits[result.trials[0].index], 0);
  for (size_t i = 1; i < result.trials.size(); ++i) {
    const size_t batch = i / 8;
    const double best = batch < 2 ? result.trials[0].seconds : result.curve[8 * (batch - 1) - 1];
    EXPECT_EQ(boards.limits[result.trials[i].index], 2 * best) << i;
  }
}

TEST_F(Elsewhere, ALostRunIsBegunAgainAndIsNobodysFault) {
  Boards steady(4, {});
  const TuneResult whole = tune(task_, options(32, "steady.jsonl"), steady);
  Boards::Behaviour losing;
  for (size_t i = 0; i < whole.trials.size(); i += 3) losing.lose[whole.trials[i].index] = 2;
  Boards flaky(4, losing);
  const TuneResult result = tune(task_, options(32), flaky);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_EQ(indices_of(result), indices_of(whole));
  EXPECT_EQ(contents(folder_ / "log.jsonl"), contents(folder_ / "steady.jsonl"));
}

TEST_F(Elsewhere, WhatIsLostThreeTimesIsMeasuredByTheNextTuning) {
  Boards steady(4, {});
  TuneOptions o = options(16, "steady.jsonl");
  const TuneResult whole = tune(task_, o, steady);
  const uint64_t unlucky = whole.trials[5].index;
  Boards losing(4, {.lose = {{unlucky, 3}}});
  o = options(16);
  EXPECT_EQ(tune(task_, o, losing).trials[5].status, "device_lost");
  const TuneResult again = tune(task_, o, losing);
  EXPECT_EQ(again.measured, 1);
  EXPECT_EQ(again.trials[5].index, unlucky);
  EXPECT_TRUE(again.trials[5].ok());
}

TEST_F(Elsewhere, TheIncumbentIsTimedAgainEvery32Trials) {
  Boards boards(4, {});
  TuneOptions o = options(112);
  const TuneResult result = tune(task_, o, boards);
  std::map<int64_t, std::string> again;  // by how many trials there were
  for (const Record& r : load_log(o.log).records)
    if (r.kind == "confirm") again[r.number] = r.trial.knobs;
  for (const size_t trials : {32, 64, 96}) {
    const auto best =
        std::min_element(result.trials.begin(), result.trials.begin() + static_cast<std::ptrdiff_t>(trials),
                         [](const Trial& a, const Trial& b) { return a.seconds < b.seconds; });
    EXPECT_EQ(again[static_cast<int64_t>(trials)], best->knobs) << trials;
  }
}

TEST_F(Elsewhere, UntilThereIsATimeCandidatesRunOneAfterTheOther) {
  Boards steady(1, {.late_us = 0});
  const TuneResult whole = tune(task_, options(8, "steady.jsonl"), steady);
  Boards::Behaviour crashing;
  for (size_t i = 0; i < 3; ++i) crashing.crash.insert(whole.trials[i].index);
  Boards boards(4, crashing);
  const TuneResult result = tune(task_, options(8), boards);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(boards.arrivals[i], result.trials[i].index);
    EXPECT_EQ(boards.limits[result.trials[i].index], 0);
  }
  EXPECT_EQ(result.failures.size(), 3u);
}

TEST_F(Elsewhere, AnErrorOfOneSlotEndsAll) {
  class Broken final : public runtime::Runner {
   public:
    runtime::RunResult run(const runtime::RunRequest&) override {
      if (++runs_ > 3) throw Error(Diagnostic{ErrorKind::kTune, "the board is on fire", {}, {}});
      return {runtime::RunStatus::kOk, 1e-3, 0.01, 5, ""};
    }
    int slots() const override { return 2; }
    MachineDescription machine() const override { return runtime::this_machine(); }

   private:
    std::atomic<int> runs_ = 0;
  } runner;
  EXPECT_THROW(tune(task_, options(8), runner), Error);
  EXPECT_EQ(load_log(folder_ / "log.jsonl").records.size(), 3u) << "what was measured is kept";
}

TEST_F(Elsewhere, StopsOnRequestWithWhatHasArrived) {
  Boards boards(2, {});
  TuneOptions o = options(1000);
  std::atomic<int> seen = 0;
  o.on_trial = [&](const Progress& p) { seen = p.trials; };
  o.should_stop = [&] { return seen >= 20; };
  const TuneResult result = tune(task_, o, boards);
  EXPECT_TRUE(result.stopped);
  EXPECT_GE(result.trials.size(), 20u);
  EXPECT_EQ(load_log(o.log).records.size(), result.trials.size());
}

TEST_F(Elsewhere, ABudgetOverTasksIsSpentAlikeInAnyOrder) {
  const TaskScheduler scheduler({dense_task(8, 32, 16), dense_task(64, 96, 32)});
  Boards one(1, {.late_us = 0}), four(4, {});
  const std::vector<TuneResult> in_turn = scheduler.tune(options(40, "in_turn.jsonl"), one);
  const std::vector<TuneResult> at_once = scheduler.tune(options(40), four);
  EXPECT_EQ(in_turn[0].trials.size() + in_turn[1].trials.size(), 40u);
  for (size_t task = 0; task < 2; ++task) EXPECT_EQ(indices_of(at_once[task]), indices_of(in_turn[task]));
  EXPECT_EQ(scheduler.tune(options(40), four)[0].measured, 0) << "the log holds all of them";
}

TEST_F(Elsewhere, FourBoardsMeasureFourAtOnce) {
  const auto seconds = [&](int boards) {
    Boards runner(boards, {.run_us = 50000, .late_us = 1000});
    TuneOptions o = options(96);
    o.log.clear();
    o.batch = 16;
    o.model = "none";
    o.confirm = 0;
    const double elapsed = tune(task_, o, runner).elapsed_s;
    EXPECT_EQ(runner.most_at_once, boards);
    return elapsed;
  };
  const double one = seconds(1), four = seconds(4);
  std::printf("96 trials of 50 ms: %.2f s on one board, %.2f s on four: %.2f x\n", one, four, one / four);
}

}  // namespace
}  // namespace tw::autotune
