// One budget over several tasks.
#include <gtest/gtest.h>

#include <cmath>

#include "autotune/log/history.h"
#include "autotune/log/record.h"
#include "autotune/task_scheduler.h"
#include "src/support/rng.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/folder.h"

namespace tw::autotune {
namespace {

using testing::dense_task;

TuningState state(double weight, std::vector<double> curve) { return {weight, std::move(curve), 0.1, false, 0}; }

TEST(NextTask, IsOneWithoutAResultThenTheOneThatGains) {
  EXPECT_EQ(next_task({state(1, {1, 1}), state(1, {})}, 2), 1);
  EXPECT_EQ(next_task({state(1, {1, 1, 1, 1}), state(1, {1, 0.9, 0.8, 0.5})}, 2), 1) << "it still improves";
  EXPECT_EQ(next_task({state(1, {1, 1, 1, 1}), state(1, {8, 8, 8, 8})}, 2), 1) << "it is the slower kernel";
  EXPECT_EQ(next_task({state(9, {1, 1, 1, 1}), state(1, {8, 8, 8, 8})}, 2), 0) << "it runs more often";
  TuningState done = state(1, {8, 4});
  done.finished = true;
  EXPECT_EQ(next_task({done, state(1, {1, 1})}, 2), 1);
  EXPECT_EQ(next_task({done}, 2), -1);
}

TEST(NextTask, IsOneOfWhichNothingHasBegun) {
  TuningState begun = state(1, {});
  begun.begun = 2;
  EXPECT_EQ(next_task({begun, state(1, {})}, 2), 1);
}

TEST(NextTask, DoesNotWaitForeverForATaskThatOnlyFails) {
  EXPECT_EQ(next_task({state(1, std::vector<double>(64, INFINITY)), state(1, {1, 1})}, 2), 1);
}

// Times that follow the size of the arguments.
class SizedTimes final : public runtime::Runner {
 public:
  runtime::RunResult run(const runtime::RunRequest& request) override {
    double bytes = 0;
    for (const runtime::ArgSpec& a : request.args) {
      double all = 4;
      for (int64_t n : a.shape) all *= static_cast<double>(n);
      bytes += all;
    }
    return {runtime::RunStatus::kOk, bytes * 1e-8 * (1 + 0.2 * support::Rng(++calls_).uniform()), 0.01, 5, ""};
  }
  MachineDescription machine() const override {
    return {.hardware = host_hardware(), .threads = 2, .name = "sized times"};
  }

 private:
  uint64_t calls_ = 0;
};

TEST(TaskScheduler, SpendsTheBudgetWhereItPaysAndNoMore) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  const test::Folder folder;
  TuneOptions o;
  o.trials = 40;
  o.batch = 4;
  o.confirm = 0;
  o.log = folder / "log.jsonl";
  SizedTimes runner;
  const Task small = dense_task(8, 32, 16), large = dense_task(64, 96, 32);
  const std::vector<TuneResult> results = TaskScheduler({small, large}).tune(o, runner);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].trials.size() + results[1].trials.size(), 40u);
  EXPECT_GE(results[0].trials.size(), 4u);
  EXPECT_GT(results[1].trials.size(), 2 * results[0].trials.size());
  EXPECT_EQ(best(large, o.log).knobs, results[1].best->knobs);
  const std::vector<TuneResult> again = TaskScheduler({small, large}).tune(o, runner);
  EXPECT_EQ(again[0].measured + again[1].measured, 0) << "the log holds all of them";
}

TEST(TaskScheduler, ASmallBudgetIsForAll) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  const test::Folder folder;
  TuneOptions o;
  o.trials = 10;
  o.batch = 16;
  o.confirm = 0;
  o.log = folder / "log.jsonl";
  SizedTimes runner;
  const std::vector<Task> tasks = {dense_task(8, 32, 16), dense_task(64, 96, 32), dense_task(16, 32, 8)};
  const std::vector<TuneResult> results = TaskScheduler(tasks).tune(o, runner);
  size_t all = 0;
  for (const TuneResult& result : results) {
    EXPECT_GE(result.trials.size(), 3u);
    all += result.trials.size();
  }
  EXPECT_EQ(all, 10u);
  int more = 0;
  for (const TuneResult& result : TaskScheduler(tasks).tune(o, runner)) more += result.measured;
  EXPECT_EQ(more, 0) << "each ends within a batch, and all of the budget is spent";
}

TEST(TaskScheduler, RefusesWhatHasNoMeaning) {
  const Task task = dense_task(8, 32, 16);
  EXPECT_THROW(TaskScheduler({}), Error);
  EXPECT_THROW(TaskScheduler({task}, {1, 2}), Error);
  EXPECT_THROW(TaskScheduler({task}, {-1}), Error);
  TuneOptions o;
  o.trials = 0;
  EXPECT_THROW(TaskScheduler({task}).tune(o), Error);
}

}  // namespace
}  // namespace tw::autotune
