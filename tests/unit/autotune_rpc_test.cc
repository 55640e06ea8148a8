// Tuning on boards over the network decides what a Runner of this process with the same times decides.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "autotune/log/record.h"
#include "tensorwright/rpc_runner.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/fake_board_process.h"
#include "tests/unit/folder.h"

namespace tw::autotune {
namespace {

// With the times of the fake boards, and their machine.
class InTurn final : public runtime::Runner {
 public:
  explicit InTurn(MachineDescription machine) : machine_(std::move(machine)) {}
  runtime::RunResult run(const runtime::RunRequest& request) override {
    return {runtime::RunStatus::kOk, 1e-3 * (1 + static_cast<double>(request.candidate % 1000) / 1000), 0.01, 5, ""};
  }
  int slots() const override { return 2; }
  MachineDescription machine() const override { return machine_; }

 private:
  const MachineDescription machine_;
};

TEST(TuneByRPC, DecidesWhatARunnerOfThisProcessDoes) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  const Task task = testing::dense_task(37, 65, 50);
  const test::Folder folder;
  TuneOptions options{.trials = 44, .log = folder / "log.jsonl", .batch = 8, .confirm = 2};
  options.build = [](uint64_t index, const std::string& path) {
    std::ofstream(path) << index;
    return std::string();
  };
  const test::FakeBoardProcess a(3, "a board"), b(5, "a board");
  rpc::RPCRunner runner({.boards = {a.address(), b.address()}});
  std::vector<std::string> shown;
  options.on_trial = [&](const Progress& p) { shown.push_back(p.boards); };
  const TuneResult over_network = tune(task, options, runner);
  const std::string log = options.log;
  options.log.clear();
  options.on_trial = {};
  InTurn in_turn(runner.machine());
  EXPECT_EQ(testing::indices_of(over_network), testing::indices_of(tune(task, options, in_turn)));
  EXPECT_EQ(shown.back().substr(0, 10), "2 boards, ");
  EXPECT_TRUE(shown.back().ends_with(" trials/s")) << shown.back();
  std::set<std::string> boards;
  for (const Record& r : load_log(log).records) {
    EXPECT_EQ(r.lag, 1);
    boards.insert(r.trial.place.board);
    EXPECT_EQ(r.trial.place.governor, "performance");
    EXPECT_EQ(r.trial.place.celsius, 55);
  }
  EXPECT_EQ(boards, (std::set{a.address(), b.address()}));
}

}  // namespace
}  // namespace tw::autotune
