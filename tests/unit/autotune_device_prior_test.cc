// The estimate of a device's schedules: what is known to be faster is estimated so.
#include "autotune/model/device_prior.h"
#include "schedule/device_account.h"
#include "tensorwright/ops.h"
#include "tests/unit/autotune_sketch_cases.h"
#include "tests/unit/device.h"

namespace tw::autotune {
namespace {

using namespace testing;
using schedule::Bind;
using schedule::Split;

double estimate(const schedule::Schedule& s) {
  return estimate_device_seconds(s, schedule::describe_machine(test::device(), {}));
}

// The candidate of matmul's space with these values.
double product(int m, int n, int k, const std::string& tile, int terms) {
  const Task task(matmul(m, n, k), test::device());
  const std::string wanted = "{\"C.terms\":" + std::to_string(terms) + ",\"C.tile\":" + tile + "}";
  for (uint64_t index = 0; index < task.space().size(); ++index) {
    const std::string knobs = task.space().describe(index);
    if (knobs.find("\"C.tile\":" + tile) == knobs.npos ||
        knobs.find("\"C.terms\":" + std::to_string(terms)) == knobs.npos)
      continue;
    return estimate(task.candidate(index).value_or_throw().schedule);
  }
  ADD_FAILURE() << "no candidate " << wanted;
  return 0;
}

// A copy of [rows, columns], whose threads are neighbours along one axis or the other.
double copy(bool along_rows) {
  const Tensor A = te::placeholder({4096, 4096}, "float32", "A");
  const Tensor B = te::compute({4096, 4096}, [&](Var i, Var j) { return A(i, j); }, "B");
  schedule::Schedule s({B});
  const std::string block = along_rows ? "i" : "j", thread = along_rows ? "j" : "i";
  s.apply(Split{"B", thread, schedule::Factor(256), {}, ir::Tail::kAuto});
  s.apply(Bind{"B", block, "blockIdx.y"});
  s.apply(Bind{"B", thread + ".o", "blockIdx.x"});
  s.apply(Bind{"B", thread + ".i", "threadIdx.x"});
  return estimate(s);
}

TEST(DevicePrior, NeighboursInMemoryAreReadTogether) { EXPECT_GT(copy(false), 3 * copy(true)); }

TEST(DevicePrior, ACopyTakesWhatMemoryGives) {
  const double least = 2 * 4096.0 * 4096 * 4 / 3.35e12;
  EXPECT_GE(copy(true), least);
  EXPECT_LE(copy(true), 2 * least);
}

// Whose neighbours are the same: rows that are chosen by what is read, scales of groups, and what stops at an end.
TEST(DevicePrior, SubscriptsThatAreNoSumsOfAxes) {
  const Tensor A = te::placeholder({4096, 4096}, "float32", "A"), S = te::placeholder({4096, 32}, "float32", "S"),
               at = te::placeholder({4096}, "int32", "at");
  const auto seconds = [&](const std::function<Expr(Var, Var)>& element) {
    return estimate(default_schedule({te::compute({4096, 4096}, element, "B")}, test::device()));
  };
  const double one = seconds([&](Var i, Var j) { return A(i, j); });
  EXPECT_LT(seconds([&](Var i, Var j) { return A(ir::cast(ir::Type::index(), at(i)), j); }), 1.3 * one);
  EXPECT_LT(seconds([&](Var i, Var j) { return A(i, j) * S(Expr(i), ir::floordiv(j, 128)); }), 1.3 * one);
  EXPECT_LT(seconds([&](Var i, Var j) { return A(te::max(Expr(i) - 1, Expr(0)), j); }), 1.3 * one);
  EXPECT_GT(seconds([&](Var i, Var j) { return A(i, ir::cast(ir::Type::index(), at(j))); }), 2 * one);
}

TEST(DevicePrior, LargeTilesReadLess) {
  EXPECT_LT(product(4096, 4096, 4096, "[128,32,2,4,2,4]", 16), product(4096, 4096, 4096, "[32,8,1,4,1,2]", 16));
  EXPECT_LT(product(4096, 4096, 4096, "[128,32,2,4,2,4]", 16), product(4096, 4096, 4096, "[16,16,1,1,1,1]", 16));
}

TEST(DevicePrior, AProductTakesNoLessThanItsArithmetic) {
  const double least = 4096.0 * 4096 * 4096 / (132 * 1.76e9 * 128);
  EXPECT_GE(product(4096, 4096, 4096, "[128,32,2,4,2,4]", 16), least);
  EXPECT_LE(product(4096, 4096, 4096, "[128,32,2,4,2,4]", 16), 4 * least);
}

// Tensor cores do what they can, and a good part of it: 2048 multiply-adds of a processor in a cycle.
TEST(DevicePrior, AProductOfTensorCoresTakesNoLessThanItsProducts) {
  const Tensor A = te::placeholder({4096, 4096}, "bfloat16", "A"), B = te::placeholder({4096, 4096}, "bfloat16", "B");
  const te::IterVar k = te::reduce_axis(0, 4096, "k");
  const Tensor C = te::compute(
      {4096, 4096},
      [&](Var i, Var j) { return te::sum(te::astype(A(i, k), "float32") * te::astype(B(j, k), "float32"), {k}); }, "C");
  const double least = 4096.0 * 4096 * 4096 / (132 * 1.76e9 * 2048),
               chosen = estimate(default_schedule({C}, test::device()));
  EXPECT_GE(chosen, least);
  EXPECT_LE(chosen, 4 * least);
}

TEST(DevicePrior, SmallResultsWantSmallTiles) {
  EXPECT_LT(product(256, 256, 4096, "[32,8,1,4,1,2]", 16), product(256, 256, 4096, "[128,32,2,4,2,4]", 16));
}

// Of bfloat16, B as rows of terms or of columns.
Tensor product_of(int m, int n, int k, bool rows_of_terms) {
  const Tensor A = te::placeholder({m, k}, "bfloat16", "A");
  const Tensor B = rows_of_terms ? te::placeholder({n, k}, "bfloat16", "B") : te::placeholder({k, n}, "bfloat16", "B");
  const te::IterVar terms = te::reduce_axis(0, k, "k");
  const auto of = [](const Expr& e) { return te::astype(e, "float32"); };
  return te::compute(
      {m, n},
      [&](Var i, Var j) { return te::sum(of(A(i, terms)) * of(rows_of_terms ? B(j, terms) : B(terms, j)), {terms}); },
      "C");
}

// Blocks share the terms where tiles of the result leave processors idle, and only there.
TEST(DevicePrior, FewTilesAreDividedAmongBlocks) {
  const auto launches = [](const Tensor& C) {
    const schedule::Schedule s = default_schedule({C}, test::device());
    return schedule::device_account(s.nest(), schedule::place(s.nest(), {}).value_or_throw(),
                                    *schedule::describe_machine(test::device(), {}).device);
  };
  for (const Tensor& few : {product_of(257, 513, 1025, false), product_of(512, 512, 16384, true)}) {
    const auto all = launches(few);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_GT(all[0].used, 0.75);
  }
  EXPECT_EQ(launches(product_of(8192, 8192, 512, true)).size(), 1u);
  const auto rows = launches(product_of(16, 28672, 8192, true));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].bound, schedule::kMemory);
}

// Of fewer turns a block waits less, and less in each where more are on their way.
TEST(DevicePrior, TurnsThatWaitForMemoryAreCounted) {
  const Task task(matmul(64, 64, 1024), test::device());
  const auto of = [&](int64_t terms, int64_t stages) {
    for (uint64_t index = 0; index < task.space().size(); ++index) {
      const std::string knobs = task.space().describe(index);
      const auto has = [&](const std::string& what) { return knobs.find(what) != knobs.npos; };
      if (has("\"C.parts\":1,") && has("\"C.tile\":[16,16,") && has("\"C.terms\":" + std::to_string(terms)) &&
          has("\"C.stages\":" + std::to_string(stages)))
        return estimate(task.candidate(index).value_or_throw().schedule);
    }
    ADD_FAILURE() << "no candidate";
    return 0.0;
  };
  EXPECT_LT(of(32, 2), of(16, 2));
  EXPECT_LT(of(16, 3), of(16, 2));
}

// Blocks for all processors, and banks for all that a warp reads: of a hair's breadth too few tiles, of odd sizes, of
// rows of images.
TEST(DevicePrior, DefaultSchedulesLackNothing) {
  const schedule::Machine machine = schedule::describe_machine(test::device(), {});
  for (const Args& args : {matmul(1000, 1000, 1000), matmul(127, 129, 4001)})
    EXPECT_EQ(device_shortfalls(default_schedule({args.back()}, test::device()), machine), 0);
  const Tensor D = te::placeholder({1, 31, 27, 27}, "float32", "D"),
               W = te::placeholder({65, 31, 3, 3}, "float32", "W");
  const Tensor C = te::ops::conv2d(D, W, {.padding = {1}, .layout = "NCHW"});
  EXPECT_EQ(device_shortfalls(default_schedule({C}, test::device()), machine), 0);
}

// Of a window that slides along a vector's elements threads read single ones, 16 bytes apart, which banks hold up.
TEST(DevicePrior, WindowsAreNotReadInVectors) {
  const Tensor A = te::placeholder({132, 130}, "float32", "A");
  const auto conflicts = [&](int64_t width) {
    const te::IterVar k = te::reduce_axis(0, width, "k");
    const Tensor C = te::compute({132, 128}, [&](Var i, Var j) { return te::sum(A(i, Expr(j) + k), {k}); }, "C");
    schedule::Schedule s({C});
    s.apply(schedule::CacheRead{"A", ir::Scope::kShared, {"C"}});
    s.apply(Split{"C", "j", schedule::Factor(4), {}, ir::Tail::kAuto});
    s.apply(Bind{"C", "i", "blockIdx.x"});
    s.apply(Bind{"C", "j.o", "threadIdx.x"});
    s.apply(schedule::Reorder{"C", {"k", "j.i"}});
    s.apply(schedule::Vectorize{"C", "j.i"});
    s.apply(schedule::ComputeAt{"A.shared", "C", "i"});
    return device_shortfalls(s, schedule::describe_machine(test::device(), {}));
  };
  EXPECT_EQ(conflicts(1), 0);
  EXPECT_EQ(conflicts(3), 1);
}

// A block of channels in groups reads those of its groups, not all.
TEST(DevicePrior, GroupsOfChannelsAreRead) {
  for (const char* layout : {"NCHW", "NHWC"}) {
    std::vector<double> seconds;
    for (const int groups : {1, 4, 32}) {
      const bool first = std::string(layout) == "NCHW";
      const Tensor D = te::placeholder(first ? std::vector<Expr>{8, 128, 28, 28} : std::vector<Expr>{8, 28, 28, 128},
                                       "float32", "D");
      const Expr in = 128 / groups;
      const Tensor W =
          te::placeholder(first ? std::vector<Expr>{128, in, 3, 3} : std::vector<Expr>{3, 3, in, 128}, "float32", "W");
      const Tensor C = te::ops::conv2d(D, W, {.padding = {1}, .groups = groups, .layout = layout});
      seconds.push_back(estimate(default_schedule({C}, test::device())));
    }
    EXPECT_LT(1.5 * seconds[1], seconds[0]) << layout;
    EXPECT_LT(1.5 * seconds[2], seconds[1]) << layout;
  }
}

// Threads that are the parts of a block's lines and rows as one loop move each along its own axis.
TEST(DevicePrior, PartsOfAFusedLoopReadTheirOwn) {
  const Tensor D = te::placeholder({8, 56, 56, 64}, "float16", "D"),
               W = te::placeholder({3, 3, 64, 64}, "float16", "W");
  const Task task({D, W, te::ops::conv2d(D, W, {.padding = {1}, .out_dtype = "float32"})}, test::device());
  constexpr double kRows = 32, kColumns = 64, kTerms = 32, kSlots = 3, kBytes = 2;
  for (uint64_t index = 0; index < task.space().size(); ++index) {
    const std::string knobs = task.space().describe(index);
    const auto has = [&](const std::string& what) { return knobs.find(what) != knobs.npos; };
    if (!has("[32,64,16,32,1,1,1]") || !has("terms\":32") || !has("stages\":3")) continue;
    const schedule::Schedule s = task.candidate(index).value_or_throw().schedule;
    const auto launches = schedule::device_account(s.nest(), *schedule::place(s.nest(), {}),
                                                   *schedule::describe_machine(test::device(), {}).device);
    EXPECT_EQ(launches[0].shared, kSlots * kBytes * kTerms * (kRows + kColumns));
    return;
  }
  ADD_FAILURE() << "no candidate";
}

TEST(DevicePrior, TheDefaultScheduleIsAmongTheBest) {
  const Args args = matmul(4096, 4096, 4096);
  const double chosen = estimate(default_schedule({args.back()}, test::device()));
  EXPECT_LE(chosen, product(4096, 4096, 4096, "[128,32,2,4,2,4]", 16));
}

}  // namespace
}  // namespace tw::autotune
