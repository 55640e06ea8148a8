// compute_at at every loop there is: a stencil P, a convolution R that reads it, and C that reads R, under splits with
// every tail, fuses and reorders. What is accepted gives the values of the definition, and what is refused would be
// read outside of the loop.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "schedule/loop_nest.h"
#include "src/ir/interp.h"

namespace tw::schedule {
namespace {

using te::IterVar;
using te::Tensor;
using te::Var;

constexpr int64_t kRows = 5, kColumns = 7, kTaps = 2, kDepth = 3;

struct Chain {
  Tensor a, w, c;

  Chain() {
    a = te::placeholder({kRows + kTaps, kDepth + 1}, "int32", "A");
    w = te::placeholder({kTaps, kDepth, kColumns}, "int32", "W");
    const Tensor p = te::compute(
        {kRows + kTaps - 1, kDepth}, [&](Var i, Var j) { return a(i, j) + a(i + 1, j) * a(i, j + 1); }, "P");
    const IterVar r = te::reduce_axis(0, kTaps, "r"), k = te::reduce_axis(0, kDepth, "k");
    const Tensor sums =
        te::compute({kRows, kColumns}, [&](Var i, Var j) { return te::sum(p(i + r, k) * w(r, k, j), {r, k}); }, "R");
    c = te::compute({kRows, kColumns}, [&](Var i, Var j) { return sums(i, j) * sums(i, j) + sums(i, j); }, "C");
  }

  std::vector<int32_t> run(const ir::Program& program) const {
    std::vector<int32_t> in((kRows + kTaps) * (kDepth + 1)), weights(kTaps * kDepth * kColumns);
    std::vector<int32_t> out(kRows * kColumns, -1);
    std::iota(in.begin(), in.end(), 1);
    std::iota(weights.begin(), weights.end(), -20);
    const std::vector<ir::InterpBuffer> buffers = {
        {in.data(), in.size() * 4}, {weights.data(), weights.size() * 4}, {out.data(), out.size() * 4}};
    const Status ran = ir::interpret(program, buffers);
    EXPECT_TRUE(ran.ok()) << ran.error().render() << ir::to_string(program);
    return out;
  }
};

// Loops made of i and j, and of the reduction's where there is one.
struct Loops {
  const char* name;
  std::function<std::vector<Step>(const std::string& stage, Tail)> steps;
};

const std::vector<Loops>& data_loops() {
  static const std::vector<Loops> all = {
      {"plain", [](const std::string&, Tail) { return std::vector<Step>{}; }},
      {"reordered", [](const std::string& s, Tail) { return std::vector<Step>{Reorder{s, {"j", "i"}}}; }},
      {"fused", [](const std::string& s, Tail) { return std::vector<Step>{Fuse{s, {"i", "j"}}}; }},
      {"split", [](const std::string& s, Tail t) { return std::vector<Step>{Split{s, "i", Factor(2), {}, t}}; }},
      {"split twice",
       [](const std::string& s, Tail t) {
         return std::vector<Step>{Split{s, "j", Factor(2), {}, t}, Split{s, "j.o", Factor(3), {}, t}};
       }},
      {"in parts", [](const std::string& s, Tail t) { return std::vector<Step>{Split{s, "j", {}, Factor(3), t}}; }},
      {"fused and split",
       [](const std::string& s, Tail t) {
         return std::vector<Step>{Fuse{s, {"i", "j"}}, Split{s, "i*j", Factor(4), {}, t}};
       }},
      {"tiled, outer loops fused",
       [](const std::string& s, Tail t) {
         return std::vector<Step>{Tile{s, "i", "j", Factor(2), Factor(3), t}, Fuse{s, {"i.o", "j.o"}}};
       }},
      {"tiled, tiles turned and fused",
       [](const std::string& s, Tail t) {
         return std::vector<Step>{Tile{s, "i", "j", Factor(3), Factor(4), t}, Reorder{s, {"j.o", "i.o", "j.i", "i.i"}},
                                  Fuse{s, {"j.i", "i.i"}}};
       }},
  };
  return all;
}

const std::vector<Loops>& reduction_loops() {
  static const std::vector<Loops> all = {
      {"sums inside", [](const std::string&, Tail) { return std::vector<Step>{}; }},
      {"sums outside",
       [](const std::string& s, Tail t) {
         return std::vector<Step>{Split{s, "k", Factor(2), {}, t}, Reorder{s, {"k.o", "r", "i", "j", "k.i"}}};
       }},
      {"all split, turned and fused",
       [](const std::string& s, Tail t) {
         return std::vector<Step>{Fuse{s, {"r", "k"}}, Split{s, "r*k", Factor(4), {}, t},
                                  Split{s, "j", Factor(3), {}, t}, Reorder{s, {"j.o", "r*k.o", "i", "j.i", "r*k.i"}},
                                  Fuse{s, {"i", "j.i"}}};
       }},
  };
  return all;
}

bool apply_all(Schedule& s, const std::vector<Step>& steps) {
  for (const Step& step : steps)
    if (!s.try_apply(step).ok()) return false;
  return true;
}

std::vector<std::string> loops_of(const Schedule& s, const std::string& stage) {
  const StageNest& nest = s.nest().stage(s.nest().find_stage(stage));
  std::vector<std::string> names;
  for (AxisId leaf : nest.leaves) names.push_back(nest.axes[leaf].name);
  return names;
}

class Places : public ::testing::Test {
 protected:
  Places() { expected_ = chain_.run(te::naive_program({chain_.c}, {chain_.a, chain_.w, chain_.c}, "naive")); }

  // Whether the schedule is accepted; then its values are right.
  bool right(const Schedule& s) {
    const Result<ir::Program> program = to_ir(s, {chain_.a, chain_.w, chain_.c});
    EXPECT_EQ(program.ok(), s.check().ok());
    if (!program.ok()) {
      why_ = program.error().what;
      return false;
    }
    ++accepted_;
    EXPECT_EQ(chain_.run(*program), expected_) << ir::to_string(*program);
    return true;
  }

  // P at every loop of R, and of C where R stands inside that loop.
  void place_the_stencil(const Schedule& s, int convolution_at) {
    for (const std::string& loop : loops_of(s, "R")) {
      Schedule placed = s;
      placed.apply(ComputeAt{"P", "R", loop});
      EXPECT_TRUE(right(placed)) << loop << " of R: " << why_;
    }
    const std::vector<std::string> loops = loops_of(s, "C");
    for (int at = 0; at < static_cast<int>(loops.size()); ++at) {
      Schedule placed = s;
      placed.apply(ComputeAt{"P", "C", loops[at]});
      EXPECT_EQ(right(placed), at <= convolution_at) << loops[at] << " of C: " << why_;
    }
  }

  // R at root and at every loop of C.
  void place_all(const Schedule& s) {
    if (!s.check().ok()) return;  // a tail that these loops cannot have, wherever the stages stand
    place_the_stencil(s, -1);
    const std::vector<std::string> loops = loops_of(s, "C");
    for (int at = 0; at < static_cast<int>(loops.size()); ++at) {
      Schedule placed = s;
      placed.apply(ComputeAt{"R", "C", loops[at]});
      EXPECT_TRUE(right(placed)) << loops[at] << " of C: " << why_;
      place_the_stencil(placed, at);
    }
  }

  Chain chain_;
  std::vector<int32_t> expected_;
  std::string why_;
  int accepted_ = 0;
};

constexpr Tail kTails[] = {Tail::kAuto, Tail::kGuard, Tail::kMask, Tail::kPeel, Tail::kShiftInward, Tail::kPad};

TEST_F(Places, UnderEveryReaderAtRoot) {
  for (Tail tail : kTails)
    for (const Loops& loops : data_loops()) {
      SCOPED_TRACE(std::string(loops.name) + ", tail " + to_string(tail));
      Schedule s({chain_.c});
      if (!apply_all(s, loops.steps("C", tail == Tail::kPad ? Tail::kGuard : tail))) FAIL();
      place_all(s);
    }
  EXPECT_GT(accepted_, 500);
}

TEST_F(Places, UnderEveryReaderThatIsPlacedItself) {
  for (Tail tail : kTails)
    for (const Loops& inner : data_loops()) {
      SCOPED_TRACE(std::string("R ") + inner.name + ", tail " + to_string(tail));
      Schedule s({chain_.c});
      s.apply(Tile{"C", "i", "j", Factor(2), Factor(3), Tail::kGuard});
      s.apply(Fuse{"C", {"j.o", "i.i"}});
      if (!apply_all(s, inner.steps("R", tail))) continue;  // pad of a fused axis
      place_all(s);
    }
  EXPECT_GT(accepted_, 500);
}

TEST_F(Places, UnderReductions) {
  for (Tail tail : {Tail::kAuto, Tail::kGuard, Tail::kMask, Tail::kPeel})
    for (const Loops& inner : reduction_loops()) {
      SCOPED_TRACE(std::string("R ") + inner.name + ", tail " + to_string(tail));
      Schedule s({chain_.c});
      s.apply(Split{"C", "j", Factor(4), {}, Tail::kGuard});
      if (!apply_all(s, inner.steps("R", tail))) FAIL();
      place_all(s);
    }
  EXPECT_GT(accepted_, 200);
}

TEST_F(Places, OfAPaddedStencil) {
  for (const Loops& loops : data_loops()) {
    SCOPED_TRACE(loops.name);
    Schedule s({chain_.c});
    if (!apply_all(s, loops.steps("C", Tail::kGuard))) FAIL();
    s.apply(Split{"P", "i", Factor(4), {}, Tail::kPad});
    s.apply(Split{"P", "j", Factor(2), {}, Tail::kPad});
    s.apply(Split{"R", "j", Factor(4), {}, Tail::kPad});
    place_all(s);
  }
  EXPECT_GT(accepted_, 100);
}

}  // namespace
}  // namespace tw::schedule
