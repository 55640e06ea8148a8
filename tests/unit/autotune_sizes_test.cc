// Kernels of any size that are tuned at several: tasks, records, and what is frozen by them.
#include <gtest/gtest.h>

#include "autotune/log/record.h"
#include "tensorwright/aot.h"
#include "tests/unit/folder.h"

namespace tw::aot {
namespace {

using autotune::Task;

#if TW_LLVM

struct Rows {
  ir::Var n = te::var("n");
  std::vector<te::Tensor> args;
  Rows() {
    const te::Tensor A = te::placeholder({n, 16}, "float32", "A"), B = te::placeholder({16, 24}, "float32", "B");
    const te::IterVar k = te::reduce_axis(0, 16, "k");
    const te::Tensor C =
        te::compute({n, 24}, [&](te::Var i, te::Var j) { return te::sum(A(i, k) * B(k, j), {k}); }, "C");
    args = {A, B, C};
  }
};

TEST(Sizes, ATaskIsOfTheComputationAndTheSize) {
  const Rows rows, other;
  const Task one = Task::at_size(rows.args, Target::host(), rows.n, 1),
             eight = Task::at_size(rows.args, Target::host(), rows.n, 8);
  EXPECT_EQ(eight.args(), "{\"n\":8}");
  EXPECT_NE(one.hash(), eight.hash());
  EXPECT_EQ(Task::at_size(other.args, Target::host(), other.n, 8).hash(), eight.hash()) << "not by what is allocated";
  for (uint64_t i = 0; i < eight.space().size(); i += 17) {
    const auto here = eight.candidate(i);
    if (!here) continue;
    const auto built = eight.built(*here);
    ASSERT_TRUE(built.ok()) << i << built.error().render();
    EXPECT_EQ(built->schedule.steps(), eight.steps(i).value_or_throw());
    EXPECT_EQ(built->args, rows.args);
  }
}

// Whether they divide or not: the loops of a size that is known are no longer known.
TEST(Sizes, ColumnsMayVary) {
  const ir::Var n = te::var("n");
  const te::Tensor A = te::placeholder({32, 16}, "float32", "A"), B = te::placeholder({16, n}, "float32", "B");
  const te::IterVar k = te::reduce_axis(0, 16, "k");
  const te::Tensor C = te::compute({32, n}, [&](te::Var i, te::Var j) { return te::sum(A(i, k) * B(k, j), {k}); }, "C");
  for (const int64_t size : {64, 1000, 1024, 1025}) {
    const Task task = Task::at_size({A, B, C}, Target::host(), n, size);
    int built = 0, here = 0;
    for (uint64_t i = 0; i < task.space().size(); i += 37) {
      const auto candidate = task.candidate(i);
      here += candidate.ok();
      built += candidate.ok() && task.built(*candidate).ok();
    }
    EXPECT_GE(built, here / 2) << size;  // not where the columns of a tile are all columns
  }
}

TEST(Sizes, WhatIsTunedIsFrozen) {
  const Rows rows;
  const test::Folder folder;
  const std::string log = folder / "log.jsonl";
  for (const int64_t size : {3, 40}) {
    const autotune::TuneResult tuned =
        tune(Task::at_size(rows.args, Target::host(), rows.n, size), {.trials = 2, .log = log});
    ASSERT_TRUE(tuned.best.has_value()) << size;
  }
  const Frozen f = freeze_any_size(rows.args, Target::host(), {.name = "rows", .log = log});
  EXPECT_EQ(f.size, "n");
  EXPECT_EQ(f.at_size, 40);
  ASSERT_TRUE(f.record.has_value());
  const Frozen again = from_text(to_text(f), "rows.twk");
  EXPECT_EQ(to_text(again), to_text(f));
  EXPECT_EQ(again.sized, f.sized);
  EXPECT_EQ(again.at_size, 40);
  EXPECT_EQ(stale(f, log), std::nullopt);
  try {
    freeze_any_size(rows.args, Target::parse("llvm -mcpu=cortex-a72").value_or_throw(), {.name = "rows", .log = log});
    FAIL() << "it was done";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kNoRecord);
  }
}

// A record of one candidate at each size, whose line says `recorded`.
void append_sizes(const Rows& rows, const Target& target, const std::string& recorded, const std::string& log) {
  autotune::Journal journal(log);
  for (const int64_t size : {3, 40}) {
    const Task task = Task::at_size(rows.args, target, rows.n, size);
    uint64_t index = 0;
    while (!task.candidate(index).ok()) ++index;
    autotune::Record r;
    r.key = {task.hash(), recorded, 2, "a CPU"};
    r.name = task.name();
    r.args = task.args();
    r.trial.index = index;
    r.trial.knobs = task.space().describe(index);
    r.trial.steps = task.steps(index).value_or_throw();
    r.trial.status = "ok";
    r.trial.seconds = 1e-3;
    journal.append(r);
  }
}

TEST(Sizes, ATargetIsKnownByWhatItsCodeMayUse) {
  const Rows rows;
  const Target target = Target::parse("llvm -mcpu=x86-64-v3").value_or_throw();
  for (const char* recorded :
       {"llvm -mcpu=x86-64-v3", "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v3 -mattr=-pku"}) {
    const test::Folder folder;
    append_sizes(rows, target, recorded, folder / "log.jsonl");
    const Frozen f =
        freeze_any_size(rows.args, target, {.name = "rows", .log = folder / "log.jsonl", .allow_default = true});
    EXPECT_EQ(f.at_size, 40) << recorded;
  }
}

#else
TEST(Sizes, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw::aot
