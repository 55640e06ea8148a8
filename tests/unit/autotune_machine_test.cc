// The machine is a value: whose records are chosen, what the tuner writes into them, what a roofline is of.
#include <gtest/gtest.h>

#include <filesystem>

#include "autotune/log/history.h"
#include "autotune/log/record.h"
#include "autotune/model/roofline.h"
#include "autotune/report/report.h"
#include "schedule/machine.h"
#include "src/runtime/arguments.h"
#include "src/runtime/inputs.h"
#include "src/runtime/local_runner.h"
#include "tests/unit/folder.h"
#include "tests/unit/setting.h"
#include "tests/unit/vector_task.h"

namespace tw::autotune {
namespace {

MachineDescription machine(const std::string& name, int threads) {
  return {.hardware = {}, .threads = threads, .clock = 1e9, .name = name};
}

class Chosen : public ::testing::Test {
 protected:
  void write(const std::string& hardware, int threads, double seconds) {
    Record r;
    r.key = key_of(task, machine(hardware, threads));
    r.name = task.name();
    r.args = task.args();
    r.trial.knobs = "{}";
    r.trial.status = "ok";
    r.trial.seconds = seconds;
    Journal(log()).append(r);
  }
  double seconds_for(const std::optional<MachineDescription>& m) { return best(task, log(), m).seconds; }
  std::string log() const { return folder / "log.jsonl"; }

  const te::Tensor x = te::placeholder({8}, "float32", "x");
  const te::Tensor y = te::compute({8}, [this](te::Var i) { return x(i) * te::constant(2, "float32"); }, "y");
  const Task task{{x, y}, Target::parse("c").value_or_throw()};
  const test::Folder folder;
};

TEST_F(Chosen, RecordsAreThoseOfTheNamedMachine) {
  write("a", 2, 5);
  write("a", 8, 4);
  write("b", 2, 1);
  EXPECT_EQ(seconds_for(machine("a", 2)), 5);
  EXPECT_EQ(seconds_for(machine("a", 3)), 5);
  EXPECT_EQ(seconds_for(machine("a", 7)), 4);
  EXPECT_EQ(seconds_for(machine("b", 64)), 1);
}

TEST_F(Chosen, WithoutAMachineOneClassOfHardwareIsEnough) {
  write("a", 2, 5);
  write("a", 8, 4);
  EXPECT_EQ(seconds_for({}), 4);
  EXPECT_EQ(build(task, log())->kernel()->name(), "y");
}

TEST_F(Chosen, WithoutAMachineSeveralClassesAreRefusedByName) {
  write("a small one", 2, 5);
  write("a large one", 2, 4);
  try {
    best(task, log());
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kLog);
    const std::string text = e.diagnostic().render();
    for (const char* part : {"2 classes of hardware", "y", "a small one", "a large one"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_THROW(build(task, log()), Error);
  EXPECT_EQ(seconds_for(machine("a large one", 2)), 4);
}

// Of another computation or target they are of no concern.
TEST_F(Chosen, ClassesOfOtherTasksDoNotCount) {
  write("a", 2, 5);
  Record other;
  other.key = key_of(task, machine("b", 2));
  other.key.target = "c -mcpu=x86-64-v3";
  other.trial.knobs = "{}";
  other.trial.status = "ok";
  other.trial.seconds = 1;
  Journal(log()).append(other);
  EXPECT_EQ(seconds_for({}), 5);
}

TEST_F(Chosen, RooflinesAreOfTheMachineThatIsGiven) {
  MachineDescription one = machine("a", 1), four = machine("a", 4), fast = one;
  fast.rates[task.target().abilities.vector_bits] = Rates{.source = "measured", .issue = 8};
  const double peak = roofline_of(task, one).peak;
  EXPECT_DOUBLE_EQ(roofline_of(task, four).peak, 4 * peak);
  EXPECT_DOUBLE_EQ(roofline_of(task, fast).peak, 4 * peak);  // 2 are assumed
  four.rates[task.target().abilities.vector_bits] = Rates{.source = "measured", .issue = 2, .all_issue = 0.5};
  EXPECT_DOUBLE_EQ(roofline_of(task, four).peak, 2 * peak);
  one.clock = 0;
  one.hardware.hertz = 5e9;
  EXPECT_DOUBLE_EQ(roofline_of(task, one).peak, 5 * peak);
}

TEST_F(Chosen, ReportsDrawRoofsForTheMachinesOwnRecords) {
  write("a", 2, 5);
  EXPECT_GT(subjects_of(log(), machine("a", 2), &task).front().roofline.peak, 0);
  EXPECT_EQ(subjects_of(log(), machine("b", 2), &task).front().roofline.peak, 0);
}

TEST(Machine, RatesThatWereMeasuredStandForTheTables) {
  const Target target = Target::parse("c").value_or_throw();
  MachineDescription m = machine("a", 3);
  EXPECT_EQ(schedule::describe_machine(target, m).rates.source, Rates{}.source);
  EXPECT_EQ(schedule::describe_machine(target, m).threads, 3);
  m.rates[target.abilities.vector_bits + 1] = Rates{.source = "of other vectors"};
  EXPECT_EQ(schedule::describe_machine(target, m).rates.source, Rates{}.source);
  m.rates[target.abilities.vector_bits] = Rates{.source = "measured here"};
  EXPECT_EQ(schedule::describe_machine(target, m).rates.source, "measured here");
}

TEST(Machine, TuningGoesOnByTheRatesOfItsLog) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  const test::Folder folder;
  const test::Setting cache("TW_CACHE_DIR", folder / "cache");
  const Task task = vector_task();
  Record begun;
  begun.key = key_of(task, runtime::this_machine());
  begun.trial.status = "crashed";
  begun.rates = Rates{.source = "of the log", .issue = 1.25};
  const std::string log = folder / "log.jsonl";
  Journal(log).append(begun);
  tune(task, {.trials = 2, .log = log, .confirm = 0});
  const std::vector<Record> records = load_log(log).records;
  ASSERT_EQ(records.size(), 3u);
  for (const Record& r : records) {
    EXPECT_EQ(r.rates.value().source, "of the log");
    EXPECT_EQ(r.rates->issue, 1.25);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "cache"));
}

// A Runner that says that it is another machine.
class Board final : public runtime::Runner {
 public:
  runtime::RunResult run(const runtime::RunRequest& request) override {
    threads = request.threads;
    return {runtime::RunStatus::kOk, 1e-3, 0.01, 5, ""};
  }
  MachineDescription machine() const override { return {.hardware = {}, .threads = 3, .name = "a board"}; }
  int threads = 0;
};

TEST(Machine, TheRunnersIsThatOfTheRecords) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  const test::Folder folder;
  const Task task = vector_task();
  TuneOptions options;
  options.trials = 2;
  options.confirm = 0;
  options.log = folder / "log.jsonl";
  Board board;
  tune(task, options, board);
  EXPECT_EQ(board.threads, 3);
  for (const Record& r : load_log(options.log).records) {
    EXPECT_EQ(r.key.hardware, "a board");
    EXPECT_EQ(r.key.threads, 3);
  }
  EXPECT_EQ(best(task, options.log).seconds, 1e-3);
}

// A Runner elsewhere, and what it was asked for last.
class Elsewhere final : public runtime::Runner {
 public:
  runtime::RunResult run(const runtime::RunRequest& request) override {
    last = request;
    return {runtime::RunStatus::kOk, 1e-3, 0.01, 5, ""};
  }
  MachineDescription machine() const override { return runtime::this_machine(); }
  bool elsewhere() const override { return true; }
  runtime::RunRequest last;
};

TEST(Machine, ElsewhereInputsAreMadeThere) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  Elsewhere board;
  tune(vector_task(), {.trials = 1, .confirm = 0}, board);
  EXPECT_EQ(board.last.inputs.size(), 0u);
  EXPECT_EQ(board.last.inputs_version, runtime::kInputsVersion);
  EXPECT_FALSE(board.last.made_reference);
  ASSERT_TRUE(board.last.reference);
  EXPECT_EQ(board.last.reference->size(), runtime::argument_offsets(board.last.args).back());
}

TEST(Machine, ElsewhereALargeReferenceIsMadeThere) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  const te::Tensor x = te::placeholder({3 << 20}, "float32", "x");
  const te::Tensor y = te::compute({3 << 20}, [&](te::Var i) { return x(i) * te::constant(2, "float32"); }, "y");
  Elsewhere board;
  tune(Task({x, y}, Target::host()), {.trials = 1, .confirm = 0}, board);
  EXPECT_EQ(board.last.inputs.size(), 0u);
  EXPECT_FALSE(board.last.reference);
  ASSERT_TRUE(board.last.made_reference);
  EXPECT_GT(board.last.made_reference->object.size(), 0u);
  EXPECT_EQ(board.last.made_reference->probes.size(), 64u);
}

#if TW_LLVM
// As Arm's software optimization guides have them: fused multiply-adds a cycle, loads, caches.
TEST(Rates, OfArmsCores) {
  struct Row {
    const char* cpu;
    int bits;
    double issue, loads;
    int64_t l1, l2;
  };
  for (const Row& row : {Row{"cortex-a53", 128, 1, 0.5, 32, 512}, Row{"cortex-a55", 128, 1, 0.5, 32, 128},
                         Row{"cortex-a72", 128, 1, 1, 32, 1024}, Row{"cortex-a76", 128, 2, 2, 64, 512},
                         Row{"neoverse-n1", 128, 2, 2, 64, 1024}, Row{"neoverse-v1", 256, 2, 2, 64, 1024},
                         Row{"neoverse-v1 -mattr=-sve", 128, 4, 3, 64, 1024}}) {
    SCOPED_TRACE(row.cpu);
    const Target target =
        Target::parse("llvm -mtriple=aarch64-linux-gnu -mcpu=" + std::string(row.cpu)).value_or_throw();
    const HardwareDescription hardware = schedule::usual_hardware(target);
    const schedule::Machine m = schedule::describe_machine(target, {.hardware = hardware, .threads = 1});
    EXPECT_EQ(m.vector_bits, row.bits);
    EXPECT_EQ(m.vector_registers, 32);
    EXPECT_EQ(m.rates.issue, row.issue);
    EXPECT_EQ(m.rates.l1_loads, row.loads);
    EXPECT_EQ(m.l1_bytes, row.l1 << 10);
    EXPECT_EQ(m.l2_bytes, row.l2 << 10);
    EXPECT_TRUE(m.rates.source.starts_with("those of LLVM's models")) << m.rates.source;
    EXPECT_EQ(m.known.source, Rates{}.source);  // nobody measured them
    const Roofline roofline =
        machine_roofline(target, ir::Type::f(32), {.hardware = hardware, .threads = 1, .clock = 1e9});
    EXPECT_EQ(roofline.peak, 1e9 * row.issue * 2 * row.bits / 32);
  }
}
#endif

}  // namespace
}  // namespace tw::autotune
