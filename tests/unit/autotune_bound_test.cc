// The lower bound: what it counts, what it leaves out, and that no measured time lies under it. And the roofline that
// people are shown.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "autotune/log/stock.h"
#include "autotune/model/bound.h"
#include "autotune/model/roofline.h"
#include "tests/unit/autotune_templates.h"

namespace tw::autotune {
namespace {

namespace S = schedule;
using schedule::Machine;
using testing::declare_dense;
using testing::machine_of;
using testing::tiled;

TEST(Bound, CountsTheWorkAndWhatTheLoopsAllow) {
  const Machine machine = machine_of(2);
  const int lanes = Target::host().lanes(32);
  const double vectors = lower_bound_seconds(tiled(4, 2 * lanes, true, true), machine);
  const double scalars = lower_bound_seconds(tiled(4, 2 * lanes, false, true), machine);
  const double serial = lower_bound_seconds(tiled(4, 2 * lanes, true, false), machine);
  EXPECT_GT(vectors, 0);
  EXPECT_DOUBLE_EQ(scalars, vectors) << "lowering may give lanes to plain loops";
  EXPECT_DOUBLE_EQ(serial, 2 * vectors);
  EXPECT_LT(vectors, 512.0 * 512 * 512 / (lanes * 1e9 * 2)) << "a CPU of one gigahertz would do better";
}

TEST(Bound, ClaimsNothingOfWorkUnderACondition) {
  const te::Tensor A = te::placeholder({64, 64}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, 64, "k");
  const te::Tensor sums =
      te::compute({64, 64}, [&](te::Var i, te::Var j) { return te::sum(A(i, k) * A(k, j), {k}); }, "sums");
  const te::Tensor lower = te::compute(
      {64, 64}, [&](te::Var i, te::Var j) { return te::if_then_else(j <= i, sums(i, j), te::constant(0, "float32")); },
      "lower");
  EXPECT_EQ(lower_bound_seconds(S::Schedule({lower}), machine_of(1)), 0);
}

// s[i] = sum over k < 64 of A[i, k] * A[i, k], where `counts`
double bound_of_sums(const std::function<te::Expr(te::Var i, te::Var k)>& counts) {
  const te::Tensor A = te::placeholder({64, 64}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, 64, "k");
  const te::Tensor s = te::compute(
      {64}, [&](te::Var i) { return te::sum(A(i, k) * A(i, k), {k}, counts ? counts(i, k.var) : te::Expr()); }, "s");
  return lower_bound_seconds(S::Schedule({s}), machine_of(1));
}

TEST(Bound, CountsTheTermsThatWhereLeaves) {
  const double all = bound_of_sums({});
  EXPECT_DOUBLE_EQ(bound_of_sums([](te::Var, te::Var k) { return k < 16; }), all / 4);
  EXPECT_DOUBLE_EQ(bound_of_sums([](te::Var i, te::Var k) { return k <= i; }), all * 65 / 128);
  EXPECT_DOUBLE_EQ(bound_of_sums([](te::Var i, te::Var k) { return te::all({k < 16, i < 32}); }), all / 8);
  EXPECT_EQ(bound_of_sums([](te::Var i, te::Var k) { return k * i < 16; }), 0) << "nobody knows how many";
}

// A, and s[i] = sum over k of A[k, i]
std::vector<te::Tensor> column_sums(int rows, int columns) {
  const te::Tensor A = te::placeholder({rows, columns}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, rows, "k");
  return {A, te::compute({columns}, [&](te::Var i) { return te::sum(A(k, i), {k}); }, "s")};
}

// The sums in vectors: for a few columns at a time over all rows.
S::Schedule in_vectors(const te::Tensor& sums, int columns) {
  S::Schedule s({sums});
  s.apply(S::Split{"s", "i", columns, {}});
  s.apply(S::Reorder{"s", {"i.o", "k", "i.i"}});
  s.apply(S::Vectorize{"s", "i.i"});
  return s;
}

// Of the sums, two columns at a time: each line comes once for each two of its values.
double seconds_across(int rows, int columns, const Machine& machine) {
  const double kept = 2.0 * static_cast<double>(machine.l1_bytes);
  return (64.0 * rows - kept) * columns / 2 / 64 / 6e9;
}

TEST(Bound, CountsLinesThatLeaveTheCacheBeforeTheyAreUsedAgain) {
  const Machine machine = machine_of(1);
  const int rows = static_cast<int>(4 * machine.l1_bytes / 64), columns = 256;
  const te::Tensor sums = column_sums(rows, columns)[1];
  const S::Schedule across = in_vectors(sums, 2), vectors = in_vectors(sums, 16), plain({sums});
  S::Schedule along = across;
  along.apply(S::Reorder{"s", {"k", "i.o"}});
  EXPECT_DOUBLE_EQ(lower_bound_seconds(across, machine), seconds_across(rows, columns, machine));
  EXPECT_LT(lower_bound_seconds(along, machine), lower_bound_seconds(across, machine));
  EXPECT_LT(4 * lower_bound_seconds(vectors, machine), lower_bound_seconds(across, machine));
  EXPECT_LE(lower_bound_seconds(plain, machine), lower_bound_seconds(vectors, machine))
      << "lowering may order plain loops";
}

TEST(Bound, ClaimsNoTrafficOfWhatIsComputedNearby) {
  const Machine machine = machine_of(1);
  const int rows = static_cast<int>(4 * machine.l1_bytes / 64), columns = 256;
  S::Schedule s = in_vectors(column_sums(rows, columns)[1], 2);
  s.apply(S::CacheRead{"A", ir::Scope::kGlobal, {"s"}});
  EXPECT_GT(lower_bound_seconds(s, machine), seconds_across(rows, columns, machine)) << "the copy as well";
  s.apply(S::ComputeAt{"A.global", "s", "i.o"});
  EXPECT_DOUBLE_EQ(lower_bound_seconds(s, machine), seconds_across(rows, columns, machine)) << "the copy alone";
}

// Tunes a few random candidates: all that were timed, were it only once.
void expect_no_time_under_the_bound(const Task& task, int trials) {
  TuneOptions o;
  o.trials = trials;
  o.search = "random";
  o.model = "none";
  o.confirm = 0;
  o.number = 1;
  o.repeat = 3;
  const TuneResult result = tune(task, o);
  const Machine machine = machine_of(runtime::num_threads());
  int timed = 0;
  for (const Trial& t : result.trials) {
    EXPECT_NE(t.status, "too_fast") << task.name() << " " << t.knobs;
    if (!t.timed()) continue;  // a beaten one was timed once
    ++timed;
    EXPECT_GE(t.seconds, lower_bound_seconds(task.candidate(t.index).value_or_throw().schedule, machine))
        << task.name() << " " << t.knobs;
  }
  EXPECT_GT(timed, trials / 4) << task.name();
}

// Loops in any order around vectors of any width: much of what the automatic spaces never propose.
Task column_sums_in_any_order(int rows, int columns) {
  const auto candidate = [=](Config& cfg) {
    const std::vector<te::Tensor> args = column_sums(rows, columns);
    S::Schedule s({args[1]});
    cfg.define_knob("width", {1, 16, 64});
    s.apply(S::Split{"s", "i", cfg.factor("width"), {}});
    cfg.define_reorder("order", {"i.o", "k"});
    cfg.apply_reorder("order", s, "s", {"i.o", "k"});
    s.apply(S::Vectorize{"s", "i.i"});
    return Scheduled{s, args};
  };
  return Task("column_sums", "[" + std::to_string(rows) + "," + std::to_string(columns) + "]", candidate,
              Target::host());
}

TEST(Bound, NoMeasuredTimeLiesUnderIt) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "skipped: built without LLVM, where nothing is tuned";
  expect_no_time_under_the_bound(testing::dense_task(129, 257, 300), 32);
  expect_no_time_under_the_bound(column_sums_in_any_order(4096, 200), 6);
  const Target host = Target::host();
  expect_no_time_under_the_bound(stock_task("conv2d",
                                            {{"N", "1"},
                                             {"H", "28"},
                                             {"W", "28"},
                                             {"CI", "32"},
                                             {"CO", "48"},
                                             {"KH", "3"},
                                             {"KW", "3"},
                                             {"padding", "1"}},
                                            host),
                                 12);
  expect_no_time_under_the_bound(stock_task("softmax", {{"M", "200"}, {"N", "1023"}}, host), 12);
  expect_no_time_under_the_bound(stock_task("transpose", {{"shape", "500x700"}}, host), 8);
}

TEST(Roofline, NoRateThatWasSeenLiesAboveIt) {
  const Task task = testing::dense_task(64, 64, 64);
  Roofline r = roofline_of(task, {.hardware = host_hardware()});
  const double roof = r.roof();
  ASSERT_GT(roof, 0);
  r.raise_to(roof / 2);
  EXPECT_EQ(r.roof(), roof);
  r.raise_to(3 * roof);
  EXPECT_NEAR(r.roof(), 3 * roof, 1e-6 * roof);
  Roofline unknown;
  unknown.flops = 1;
  unknown.raise_to(roof);
  EXPECT_EQ(unknown.peak, 0) << "another machine's records have no roof";
}

}  // namespace
}  // namespace tw::autotune
