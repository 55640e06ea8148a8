// The tuning loop end to end, on this machine and with a Runner that invents times.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "autotune/log/history.h"
#include "autotune/log/record.h"
#include "src/support/rng.h"
#include "tests/unit/autotune_templates.h"

namespace tw::autotune {
namespace {

using testing::dense_task;
using testing::indices_of;

double invented_seconds(const Blob& object) {
  uint64_t h = 1;
  for (const char c : object.bytes()) h = h * 31 + static_cast<unsigned char>(c);
  return 1e-3 * (1 + support::Rng(h).uniform());
}

// Times that depend on the shared object's order only: decisions can be compared between runs.
class StubRunner final : public runtime::Runner {
 public:
  runtime::RunResult run(const runtime::RunRequest& request) override {
    ++runs;
    limits[request.candidate] = request.give_up_above_s;
    if (fail) return {runtime::RunStatus::kCrashed, 0, 0, 0, "SIGSEGV"};
    return {runtime::RunStatus::kOk, invented_seconds(request.object), 0.01, 5, ""};
  }
  MachineDescription machine() const override { return {.hardware = host_hardware(), .threads = 2, .name = "stub"}; }
  int runs = 0;
  std::map<uint64_t, double> limits;  // what the last run of a candidate was given up at
  bool fail = false;
};

class Tune : public ::testing::Test {
 protected:
  Tune() : log_(::testing::TempDir() + "tune_" + std::to_string(getpid()) + ".jsonl") { std::filesystem::remove(log_); }
  ~Tune() override { std::filesystem::remove(log_); }
  void SetUp() override {
    if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  }
  TuneOptions options(int trials) const {
    TuneOptions o;
    o.trials = trials;
    o.log = log_;
    o.batch = 8;
    o.confirm = 2;
    return o;
  }
  std::string log_;
};

void expect_error(ErrorKind kind, const std::string& part, const std::function<void()>& f) {
  try {
    f();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST_F(Tune, MeasuresChecksAndRecords) {
  const Task task = dense_task(37, 65, 50);
  TuneOptions o = options(24);
  int reported = 0;
  o.on_trial = [&](const Progress& p) { reported = p.trials; };
  const TuneResult result = tune(task, o);
  EXPECT_EQ(result.trials.size(), 24u);
  EXPECT_EQ(reported, 24);
  EXPECT_TRUE(result.failures.empty()) << result.failures[0].status << " " << result.failures[0].detail;
  ASSERT_TRUE(result.best.has_value());
  for (size_t i = 1; i < result.curve.size(); ++i) EXPECT_LE(result.curve[i], result.curve[i - 1]);
  std::set<uint64_t> distinct;
  for (const Trial& t : result.trials) distinct.insert(t.index);
  EXPECT_EQ(distinct.size(), 24u);

  const Trial recorded = best(task, log_);
  EXPECT_EQ(recorded.knobs, result.best->knobs);
  const auto module = build(task, log_);
  EXPECT_EQ(module->kernel()->args().size(), 4u);
}

TEST_F(Tune, ContinuesWithoutMeasuringTwice) {
  const Task task = dense_task(37, 65, 50);
  StubRunner runner;
  tune(task, options(10), runner);
  const int first = runner.runs;
  const TuneResult more = tune(task, options(20), runner);
  EXPECT_EQ(more.measured, 10);
  EXPECT_EQ(more.trials.size(), 20u);
  const int second = runner.runs;
  const TuneResult again = tune(task, options(20), runner);
  EXPECT_EQ(again.measured, 0);
  EXPECT_EQ(runner.runs, second);
  EXPECT_GT(second, first);
  std::set<std::string> knobs;
  for (const Record& r : load_log(log_).records) {
    if (r.kind != "trial") continue;
    EXPECT_TRUE(knobs.insert(r.trial.knobs).second);
  }
}

TEST_F(Tune, AKilledRunContinuesWithTheSameDecisions) {
  const Task task = dense_task(37, 65, 50);
  StubRunner runner;
  const TuneResult whole = tune(task, options(24), runner);
  std::string text;
  {
    std::ifstream in(log_, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (int lines : {3, 8, 13}) {
    size_t end = 0;
    for (int i = 0; i < lines; ++i) end = text.find('\n', end) + 1;
    {
      std::ofstream out(log_, std::ios::binary | std::ios::trunc);
      out << text.substr(0, end + 60);
    }  // and half a line
    const TuneResult resumed = tune(task, options(24), runner);
    ASSERT_EQ(resumed.trials.size(), whole.trials.size());
    for (size_t i = 0; i < whole.trials.size(); ++i)
      EXPECT_EQ(resumed.trials[i].index, whole.trials[i].index) << lines << " " << i;
  }
}

TEST_F(Tune, WhatALogLacksInTheMiddleIsDoneInItsPlace) {
  const Task task = dense_task(37, 65, 50);
  StubRunner runner;
  TuneOptions o = options(24);
  o.confirm = 0;
  const TuneResult whole = tune(task, o, runner);
  std::vector<std::string> lines;
  {
    std::ifstream in(log_);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
  }
  ASSERT_EQ(lines.size(), 24u);
  for (const size_t kept : {5, 13, 20}) {
    {
      std::ofstream out(log_, std::ios::trunc);
      for (size_t i = 0; i < kept; ++i)
        if (i + 3 != kept) out << lines[i] << "\n";  // the third from the end was in flight
    }
    EXPECT_EQ(indices_of(tune(task, o, runner)), indices_of(whole)) << kept;
  }
}

TEST_F(Tune, WhatRunsAreGivenUpAtIsFixedForABatch) {
  StubRunner runner;
  TuneOptions o = options(24);
  o.confirm = 0;
  const TuneResult result = tune(dense_task(37, 65, 50), o, runner);
  ASSERT_EQ(result.trials.size(), 24u);
  EXPECT_EQ(runner.limits[result.trials[0].index], 0);
  for (size_t i = 1; i < result.trials.size(); ++i) {
    const size_t batch = i / 8 * 8;  // its first trial
    const double best = batch == 0 ? result.trials[0].seconds : result.curve[batch - 1];
    EXPECT_EQ(runner.limits[result.trials[i].index], 2 * best) << i;
  }
}

// Candidates are for the machine that measures them, the reference is this machine's.
TEST_F(Tune, CandidatesForAnotherMachineAreBuiltAndCheckedHere) {
  class Board final : public runtime::Runner {
   public:
    runtime::RunResult run(const runtime::RunRequest& request) override {
      EXPECT_EQ(request.object.bytes()[18], '\xB7') << "the machine in the header of an ELF file";
      EXPECT_GT(request.reference->size(), 0u);
      return {runtime::RunStatus::kOk, invented_seconds(request.object), 0.01, 5, ""};
    }
    MachineDescription machine() const override { return {.hardware = host_hardware(), .threads = 4, .name = "board"}; }
    std::string why_not(const Target& target) const override {
      return target.triple.starts_with("aarch64") ? "" : "it is an ARM";
    }
  } board;
  const Target arm = Target::parse("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72").value_or_throw();
  const auto dense = [](Config& cfg) { return testing::dense_template(cfg, 9, 17, 5); };
  const TuneResult result = tune(Task("dense", "[]", dense, arm), options(6), board);
  EXPECT_EQ(result.trials.size(), 6u);
  EXPECT_TRUE(result.failures.empty());
  expect_error(ErrorKind::kTune, "it is an ARM", [&] { tune(dense_task(9, 17, 5), options(6), board); });
}

TEST_F(Tune, StopsEarlyAndOnRequest) {
  const Task task = dense_task(37, 65, 50);
  StubRunner runner;
  TuneOptions o = options(1000);
  o.early_stop = 6;
  EXPECT_LT(tune(task, o, runner).trials.size(), 200u);
  std::filesystem::remove(log_);
  std::atomic<int> seen = 0;
  TuneOptions stopped = options(1000);
  stopped.on_trial = [&](const Progress&) { ++seen; };
  stopped.should_stop = [&] { return seen >= 5; };
  const TuneResult result = tune(task, stopped, runner);
  EXPECT_TRUE(result.stopped);
  EXPECT_GE(result.trials.size(), 5u);
  EXPECT_EQ(load_log(log_).records.size(), result.trials.size());
}

TEST_F(Tune, ASpaceSmallerThanTheBudgetEnds) {
  const Task task(
      "small", "[]",
      [](Config& cfg) {
        const testing::Dense d = testing::declare_dense(9, 17, 5);
        schedule::Schedule s({d.D});
        cfg.define_split("tile", 17,
                         {.outputs = 2, .policy = SplitPolicy::kCandidate, .candidates = {{-1, 4}, {-1, 8}, {-1, 16}}});
        cfg.apply_split("tile", s, "D", "j");
        return Scheduled{s, {d.A, d.B, d.bias, d.D}};
      },
      Target::host());
  StubRunner runner;
  EXPECT_EQ(tune(task, options(100), runner).trials.size(), 3u);
}

TEST_F(Tune, BadOptionsAreRefused) {
  const Task task = dense_task(9, 17, 5);
  expect_error(ErrorKind::kArgument, "trials", [&] { tune(task, options(0)); });
  TuneOptions o = options(4);
  o.search = "magic";
  expect_error(ErrorKind::kTune, "search", [&] { tune(task, o); });
  o = options(4);
  o.log = "/nonexistent/folder/log.jsonl";
  expect_error(ErrorKind::kLog, "cannot be written", [&] { tune(task, o); });
}

TEST_F(Tune, WhenEveryCandidateFailsTheCommonestReasonIsNamed) {
  const Task task = dense_task(9, 17, 5);
  StubRunner runner;
  runner.fail = true;
  expect_error(ErrorKind::kTune, "SIGSEGV", [&] { tune(task, options(6), runner); });
  EXPECT_EQ(load_log(log_).records.size(), 6u);
}

TEST_F(Tune, ForbiddenMeasuringIsAnErrorBeforeAnythingRuns) {
  const Task task = dense_task(9, 17, 5);
  StubRunner runner;
  setenv("TW_MEASURE", "forbid", 1);
  expect_error(ErrorKind::kTune, "TW_MEASURE", [&] { tune(task, options(4), runner); });
  unsetenv("TW_MEASURE");
  EXPECT_EQ(runner.runs, 0);
}

TEST_F(Tune, AMissingRecordSaysHowToTune) {
  const Task task = dense_task(9, 17, 5), other = dense_task(9, 17, 6);
  StubRunner runner;
  tune(other, options(2), runner);
  expect_error(ErrorKind::kNoRecord, "tw.autotune.tune(tw.autotune.Task(dense, args=(9, 17, 5)",
               [&] { best(task, log_); });
  expect_error(ErrorKind::kNoRecord, "dense(9, 17, 6)", [&] { best(task, log_); });
  expect_error(ErrorKind::kLog, "no tuning log", [&] { best(task, log_ + ".missing"); });
}

TEST_F(Tune, ATargetThatThisMachineIsNotIsRefused) {
  const auto foreign = Target::parse("llvm -mcpu=sapphirerapids");
  if (!foreign.ok() || Target::host().has("amx-tile")) GTEST_SKIP() << "this machine can run it";
  const Task task("dense", "[]", [](Config& cfg) { return testing::dense_template(cfg, 9, 17, 5); }, *foreign);
  expect_error(ErrorKind::kTune, "it lacks", [&] { tune(task, options(4)); });
}

}  // namespace
}  // namespace tw::autotune
