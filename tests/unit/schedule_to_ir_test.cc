// Loop programs at the edges: long chains, diamonds, building twice, time.
#include <gtest/gtest.h>

#include <numeric>

#include "src/ir/interp.h"
#include "src/ir/verify.h"
#include "src/ir/walk.h"
#include "tensorwright/schedule.h"

namespace tw::schedule {
namespace {

using ir::Expr;
using te::IterVar;
using te::Tensor;
using te::Var;

Expr one() { return te::constant(1, "int32"); }

int64_t nodes(const ir::Program& program) {
  int64_t count = 0;
  ir::walk(program.body, [](const ir::Stmt&) { return true; }, [&](const Expr&) { return ++count, true; });
  return count;
}

TEST(ScheduleToIr, TwoThousandInlinedStages) {
  Tensor a = te::placeholder({8}, "int32", "A"), t = a;
  for (int n = 0; n < 2000; ++n) t = te::compute({8}, [&](Var i) { return t(i) + one(); }, "t");
  Schedule s({t});
  for (int n = 0; n < 1999; ++n) s.apply(ComputeInline{n == 0 ? "t" : "t_" + std::to_string(n)});
  auto program = to_ir(s, {a, t});
  ASSERT_TRUE(program.ok()) << program.error().render();
  std::vector<int32_t> in(8, 5), out(8);
  ASSERT_TRUE(ir::interpret(*program, std::vector<ir::InterpBuffer>{{in.data(), 32}, {out.data(), 32}}).ok());
  EXPECT_EQ(out[7], 2005);
}

TEST(ScheduleToIr, TwoThousandStagesAtRootAndInsideEachOther) {
  for (bool attached : {false, true}) {
    Tensor a = te::placeholder({8}, "int32", "A"), t = a;
    int stages = attached ? 500 : 2000;
    for (int n = 0; n < stages; ++n) t = te::compute({8}, [&](Var i) { return t(i) + one(); }, "t");
    Schedule s({t});
    auto name = [](int n) { return n == 0 ? std::string("t") : "t_" + std::to_string(n); };
    for (int n = 0; attached && n + 1 < stages; ++n) s.apply(ComputeAt{name(n), name(n + 1), "i"});
    auto program = to_ir(s, {a, t});
    ASSERT_TRUE(program.ok()) << program.error().render();
    std::vector<int32_t> in(8, 5), out(8);
    Status ran = ir::interpret(*program, std::vector<ir::InterpBuffer>{{in.data(), 32}, {out.data(), 32}});
    ASSERT_TRUE(ran.ok()) << ran.error().render();
    EXPECT_EQ(out[7], 5 + stages);
  }
}

TEST(ScheduleToIr, DiamondsOfInlinedStagesStaySmall) {
  Tensor a = te::placeholder({8}, "int32", "A"), t = a;
  for (int n = 0; n < 60; ++n) t = te::compute({8}, [&](Var i) { return t(i) * t(i) + t(i); }, "t");
  Schedule s({t});
  for (int n = 0; n < 59; ++n) s.apply(ComputeInline{n == 0 ? "t" : "t_" + std::to_string(n)});
  auto program = to_ir(s, {a, t});
  ASSERT_TRUE(program.ok());
  EXPECT_LT(nodes(*program), 1000);
}

TEST(ScheduleToIr, ASumOfFiveThousandTerms) {
  Tensor a = te::placeholder({8}, "int32", "A");
  Tensor c = te::compute(
      {8},
      [&](Var i) {
        Expr total = a(i);
        for (int n = 1; n < 5000; ++n) total = total + a(i);
        return total;
      },
      "C");
  Schedule s({c});
  s.apply(CacheWrite{"C", Scope::kLocal});
  s.apply(ComputeAt{"C.local", "C", "i"});
  auto program = to_ir(s, {a, c});
  ASSERT_TRUE(program.ok());
  std::vector<int32_t> in(8, 3), out(8);
  ASSERT_TRUE(ir::interpret(*program, std::vector<ir::InterpBuffer>{{in.data(), 32}, {out.data(), 32}}).ok());
  EXPECT_EQ(out[0], 15000);
}

TEST(ScheduleToIr, AScheduleIsBuiltScheduledFurtherAndBuiltAgain) {
  Tensor a = te::placeholder({16}, "int32", "A");
  Tensor c = te::compute({16}, [&](Var i) { return a(i) + one(); }, "C");
  Schedule s({c});
  std::string first = ir::to_string(*to_ir(s, {a, c}));
  EXPECT_EQ(ir::to_string(*to_ir(s, {a, c})), first);
  s.apply(Split{"C", "i", Factor(4), {}});
  EXPECT_NE(ir::to_string(*to_ir(s, {a, c})), first);
}

TEST(ScheduleToIr, AReduceAxisOfTwoStages) {
  Tensor a = te::placeholder({4, 6}, "int32", "A");
  IterVar k = te::reduce_axis(0, 6, "k");
  Tensor p = te::compute({4}, [&](Var i) { return te::sum(a(i, k), {k}); }, "P");
  Tensor c = te::compute({4}, [&](Var i) { return te::max(a(i, k) + p(i), std::vector<IterVar>{k}); }, "C");
  Schedule s({c});
  s.apply(Split{"P", "k", Factor(4), {}, Tail::kGuard});
  s.apply(ComputeAt{"P", "C", "i"});
  auto program = to_ir(s, {a, c});
  ASSERT_TRUE(program.ok()) << program.error().render();
  Status valid = ir::verify(*program);
  EXPECT_TRUE(valid.ok()) << valid.error().render();
}

// That parts of the reduction are empty is known before any loop runs, but not that its start may be left out.
TEST(ScheduleToIr, AReductionOfNothingInPartsOfSomeSizeIsItsStart) {
  Tensor a = te::placeholder({0}, "int32", "A");
  IterVar k = te::reduce_axis(0, 0, "k");
  Tensor p = te::compute({3}, [&](Var i) { return te::sum(a(Expr(k)), {k}); }, "P");
  const Var part = te::var("part");
  Schedule s({p});
  s.apply(Split{"P", "k", Factor(ir::max(Expr(part), Expr(1))), {}});
  auto program = to_ir(s, {a, p}, "f", {{part, 2}});
  ASSERT_TRUE(program.ok()) << program.error().render();
  std::vector<int32_t> out(3, 7);
  ir::InterpOptions options;
  options.scalars = {4};
  ASSERT_TRUE(ir::interpret(*program, std::vector<ir::InterpBuffer>{{nullptr, 0}, {out.data(), 12}}, options).ok());
  EXPECT_EQ(out, std::vector<int32_t>(3, 0)) << ir::to_string(*program);
}

// A part of the fused axis that reaches into a row past the last one reads row -1, which there is none of.
TEST(ScheduleToIr, RowsReadBackwardsByPartsOfAFusedAxisBeginInside) {
  Tensor a = te::placeholder({1, 7}, "int32", "A");
  Tensor p = te::compute({1, 7}, [&](Var i, Var j) { return a(i, j) + te::constant(1, "int32"); }, "P");
  Tensor c = te::compute({1, 7}, [&](Var i, Var j) { return p(Expr(0) - i, j); }, "C");
  Schedule s({c});
  s.apply(Fuse{"C", {"i", "j"}});
  s.apply(Split{"C", "i*j", {}, Factor(5), Tail::kGuard});
  s.apply(ComputeAt{"P", "C", "i*j.o"});
  auto program = to_ir(s, {a, c}, "f");
  ASSERT_TRUE(program.ok()) << program.error().render();
  std::vector<int32_t> in(7), out(7, -1);
  std::iota(in.begin(), in.end(), 0);
  const auto ran = ir::interpret(*program, std::vector<ir::InterpBuffer>{{in.data(), 28}, {out.data(), 28}});
  ASSERT_TRUE(ran.ok()) << ran.error().render() << ir::to_string(*program);
  EXPECT_EQ(out, (std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace tw::schedule
