// What the interpreter says of candidates for a device, and at which sizes it is asked.
#include <atomic>
#include <fstream>

#include "autotune/measure/measure.h"
#include "autotune/measure/small_sizes.h"
#include "src/ir/walk.h"
#include "tensorwright/ops.h"
#include "tests/unit/autotune_sketch_cases.h"
#include "tests/unit/device.h"
#include "tests/unit/gpu_corpus.h"
#include "tests/unit/setting.h"

namespace tw::autotune {
namespace {

using namespace testing;
using Shape = std::vector<int64_t>;

Shape shape_of(const Tensor& t) {
  Shape out;
  for (const Expr& extent : t.shape()) out.push_back(*ir::as_int(extent));
  return out;
}

// A product of float32, blocks of 32 x 32 elements of 16 x 16 threads, `ring` slots of 8 terms.
Scheduled tiled_product(int m, int n, int k, int ring) {
  const Args args = matmul(m, n, k);
  schedule::Schedule s({args[2]});
  const auto apply = [&](auto step) { s.apply(schedule::Step(std::move(step))); };
  using namespace schedule;
  apply(CacheWrite{"C", ir::Scope::kLocal});
  for (const char* in : {"A", "B"}) apply(CacheRead{in, ir::Scope::kShared, {"C.local"}});
  apply(Tile{"C", "i", "j", 32, 32, ir::Tail::kAuto});
  apply(Split{"C", "i.i", Factor(2), {}, ir::Tail::kAuto});
  apply(Split{"C", "j.i", Factor(2), {}, ir::Tail::kAuto});
  apply(Reorder{"C", {"i.o", "j.o", "i.i.o", "j.i.o", "i.i.i", "j.i.i"}});
  apply(Bind{"C", "i.o", "blockIdx.y"});
  apply(Bind{"C", "j.o", "blockIdx.x"});
  apply(Bind{"C", "i.i.o", "threadIdx.y"});
  apply(Bind{"C", "j.i.o", "threadIdx.x"});
  apply(ComputeAt{"C.local", "C", "j.i.o"});
  apply(Split{"C.local", "k", Factor(8), {}, ir::Tail::kAuto});
  apply(Reorder{"C.local", {"k.o", "k.i", "i", "j"}});
  apply(ComputeAt{"A.shared", "C.local", "k.o"});
  apply(ComputeAt{"B.shared", "C.local", "k.o"});
  apply(Pipeline{"C.local", "k.o", ring, "auto"});
  return {s, args};
}

TEST(SmallSizes, LeaveWhatTheFactorsLeave) {
  const auto small = at_small_sizes(tiled_product(1000, 4096, 8192, 3));
  ASSERT_TRUE(small);
  EXPECT_EQ(shape_of(small->args[0]), (Shape{40, 40}));  // a block and a tail of 8; 3 slots and 2 iterations more
  EXPECT_EQ(shape_of(small->args[1]), (Shape{40, 64}));
  EXPECT_EQ(shape_of(small->args[2]), (Shape{40, 64}));
  const auto tail = at_small_sizes(tiled_product(64, 64, 8195, 2));
  ASSERT_TRUE(tail);
  EXPECT_EQ(shape_of(tail->args[0]), (Shape{64, 27}));
}

TEST(SmallSizes, StayWhereTheyAreSmall) { EXPECT_FALSE(at_small_sizes(tiled_product(20, 33, 9, 2))); }

TEST(SmallSizes, StayWhereAnExpressionKnowsThem) {
  const Tensor A = te::placeholder({4096, 512}, "float32", "A");
  const Tensor B = te::compute(
      {4094, 512}, [&](Var i, Var j) { return A(i + 2, j) + te::select(Expr(i) < 4000, A(i, j), zero()); }, "B");
  schedule::Schedule s({B});
  s.apply(schedule::Bind{"B", "i", "blockIdx.x"});
  s.apply(schedule::Split{"B", "j", schedule::Factor(32), {}, ir::Tail::kAuto});
  s.apply(schedule::Bind{"B", "j.i", "threadIdx.x"});
  const auto small = at_small_sizes({s, {A, B}});
  ASSERT_TRUE(small);
  EXPECT_EQ(shape_of(small->args[0]), (Shape{4096, 64}));
  EXPECT_EQ(shape_of(small->args[1]), (Shape{4094, 64}));
}

// A block that has two tiles, and two that have one.
TEST(SmallSizes, HaveFewBlocksWhereThoseHaveSeveralTiles) {
  const Tensor A = te::placeholder({1 << 20}, "float32", "A");
  const Tensor B = te::compute({1 << 20}, [&](Var i) { return A(i) + A(i); }, "B");
  const auto small = [&](int64_t blocks) {
    schedule::Schedule s({B});
    s.apply(schedule::Split{"B", "i", schedule::Factor(32), {}, ir::Tail::kAuto});
    s.apply(schedule::Bind{"B", "i.o", "blockIdx.x"});
    s.apply(schedule::Bind{"B", "i.i", "threadIdx.x"});
    s.apply(schedule::Persistent{"B", "i.o", schedule::Factor(blocks)});
    return at_small_sizes({s, {A, B}}).value();
  };
  EXPECT_EQ(shape_of(small(132).args[0]), (Shape{128}));
  EXPECT_NE(to_string(small(132).schedule).find("blockIdx.x i.o.i in 0..3"), std::string::npos);
  EXPECT_NE(to_string(small(1 << 20).schedule).find("blockIdx.x i.o.i in 0..4"), std::string::npos);
}

TEST(SmallSizes, AreOfKnownExtentsOnly) {
  const Var n = te::var("n");
  const Tensor A = te::placeholder({n}, "float32", "A");
  const Tensor B = te::compute({n}, [&](Var i) { return A(i) + A(i); }, "B");
  schedule::Schedule s({B});
  s.apply(schedule::Split{"B", "i", schedule::Factor(32), {}, ir::Tail::kAuto});
  s.apply(schedule::Bind{"B", "i.o", "blockIdx.x"});
  s.apply(schedule::Bind{"B", "i.i", "threadIdx.x"});
  EXPECT_FALSE(at_small_sizes({s, {A, B}}));
  Verdicts verdicts(test::device());
  EXPECT_EQ(verdicts.of({s, {A, B}}, schedule::to_ir(s, {A, B}).value_or_throw()), "");
}

TEST(Verdicts, SayWhatThePagesSayOfLaunchesOfKnownSizes) {
  int faulty = 0;
  for (const CorpusPage& page : gpu_corpus()) {
    if (!page.program.scalars.empty()) continue;
    SCOPED_TRACE(page.name);
    const std::string& expected = page.tuner.empty() ? page.interpreter : page.tuner;
    expect_verdict(expected, interpreters_finding(page.program, 0));
    faulty += expected != "ok" ? 1 : 0;
  }
  EXPECT_GT(faulty, 24);
}

// Four million elements and more are not interpreted.
TEST(Verdicts, OfLargeArraysAreNone) {
  const auto finding = [](const std::string& size) {
    return interpreters_finding(parse("kernel f(A: float32[" + size +
                                      "], B: out float32[32]):\n  for tx in 0..32 threadIdx.x:\n    B[0] = A[tx]\n"),
                                0);
  };
  EXPECT_NE(finding("32").find("data race on B[0]"), std::string::npos);
  EXPECT_EQ(finding("8388608"), "");
}

TEST(Verdicts, ThatTakesTooLongIsNone) {
  for (const CorpusPage& page : gpu_corpus())
    EXPECT_EQ(page.name == "ring_waits_for_less" ? interpreters_finding(page.program, 3) : "", "");
}

TEST(Verdicts, ProductsOfDifferentFactorsAreOneStructure) {
  Verdicts verdicts(test::device());
  for (const int size : {1000, 2000, 4072}) {
    const Scheduled candidate = tiled_product(size, 4096, 8192, 3);
    EXPECT_EQ(verdicts.of(candidate, schedule::to_ir(candidate.schedule, candidate.args).value_or_throw()), "");
  }
  EXPECT_EQ(verdicts.structures(), 1);
  const Scheduled candidate = tiled_product(1000, 4096, 8192, 2);
  EXPECT_EQ(verdicts.of(candidate, schedule::to_ir(candidate.schedule, candidate.args).value_or_throw()), "");
  EXPECT_EQ(verdicts.structures(), 2);
  EXPECT_EQ(verdicts.at_small_sizes(), 2);
}

// What the interpreter finds is recorded, and no object is made of it.
TEST(Verdicts, FaultyCandidatesAreNotBuilt) {
  const test::Setting images("TW_CUDA_IMAGES", "ir");
  const auto tiles = [](Config& cfg) {
    cfg.define_knob("unused", {0});
    return tiled_product(20, 33, 19, 2);
  };
  const Task task("tiles", "[]", tiles, test::device());
  TuneOptions options;
  std::atomic<int> made = 0;
  options.build = [&](uint64_t, const std::string& path) {
    ++made;
    std::ofstream(path) << "an object";
    return std::string();
  };
  Measurer measurer(task, options, {.hardware = "a GPU", .threads = 1});
  const Candidate right = prepare(task, 0).value_or_throw();
  Candidate wrong = right;
  const auto without_barriers = [](const ir::Stmt& s) {
    const auto* sync = ir::as<ir::Sync>(s);
    return sync && sync->op == ir::SyncOp::kBlock ? ir::seq({}) : s;
  };
  wrong.loops.body = ir::rewrite(wrong.loops.body, without_barriers, [](const Expr& e) { return e; });
  const std::vector<Candidate> both{right, wrong};
  const std::vector<Built> built = measurer.build(both);
  ASSERT_EQ(built.size(), 2u);
  EXPECT_TRUE(built[0].ok()) << built[0].trial.detail;
  EXPECT_FALSE(built[1].ok());
  EXPECT_EQ(built[1].trial.status, "faulty");
  EXPECT_NE(built[1].trial.detail.find(".shared["), std::string::npos) << built[1].trial.detail;
  EXPECT_EQ(made, 1);
}

// Of each rule's space some candidates, at sizes at which nobody could interpret them.
TEST(Verdicts, CandidatesOfSpacesAreRight) {
  const Tensor X = te::placeholder({4096, 6000}, "float32", "X");
  const te::IterVar k = te::reduce_axis(0, 6000, "k");
  const Tensor sums = te::compute({4096}, [&](Var i) { return te::sum(X(i, k), {k}); }, "S");
  const Tensor twice = te::compute({4096, 6000}, [&](Var i, Var j) { return X(i, j) + X(i, j); }, "T");
  for (const Args& args : {matmul(4096, 4096, 4096), matmul(1001, 1003, 1005), Args{X, sums}, Args{X, twice}}) {
    const Task task = task_of(args, test::device());
    Verdicts verdicts(test::device());
    support::Rng rng(3);
    int judged = 0;
    for (int n = 0; n < fewer(6); ++n) {
      const Result<Scheduled> candidate = task.candidate(rng.below(task.space().size()));
      if (!candidate) continue;
      ++judged;
      EXPECT_EQ(verdicts.of(*candidate, schedule::to_ir(candidate->schedule, candidate->args).value_or_throw()), "");
    }
    EXPECT_GT(judged, 0);
    EXPECT_EQ(verdicts.at_small_sizes(), verdicts.structures());
    std::printf("%d candidates, %d structures\n", judged, verdicts.structures());
  }
}

}  // namespace
}  // namespace tw::autotune
