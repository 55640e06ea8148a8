// Schedules as values, Steps as data.
#include <gtest/gtest.h>

#include "schedule/factors.h"
#include "schedule/loop_nest.h"
#include "tensorwright/schedule.h"
#include "tensorwright/te_extern.h"

namespace tw::schedule {
namespace {

using ir::Expr;
using te::IterVar;
using te::Tensor;
using te::Var;

struct Matmul {
  Tensor a = te::placeholder({24, 16}, "float32", "A");
  Tensor b = te::placeholder({16, 32}, "float32", "B");
  IterVar k = te::reduce_axis(0, 16, "k");
  Tensor c = te::compute({24, 32}, [&](Var i, Var j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
};

std::vector<Step> one_of_each() {
  return {CacheWrite{"C", Scope::kLocal},
          CacheRead{"B", Scope::kGlobal, {"C.local"}},
          Tile{"C", "i", "j", 6, Factor("tile_j", 1, 16), Tail::kPeel},
          Split{"C.local", "k", Factor(4), {}, Tail::kMask},
          Split{"C.local", "i", {}, Factor(3), Tail::kGuard},
          Reorder{"C", {"j.o", "i.o"}},
          Fuse{"C", {"j.o", "i.o"}},
          Parallel{"C", "j.o*i.o"},
          Vectorize{"C", "j.i"},
          Unroll{"C", "i.i"},
          ComputeAt{"C.local", "C", "j.o*i.o"},
          ComputeRoot{"B.global"},
          SetScope{"C.local", Scope::kGlobal},
          Pragma{"C.local", "k.o", "auto_unroll_max_step", 16}};
}

TEST(ScheduleSteps, JsonGivesThemBack) {
  std::vector<Step> steps = one_of_each();
  steps.push_back(ComputeInline{"D"});
  steps.push_back(CacheRead{"B", Scope::kShared, {"C"}, {"ax1", "ax0"}});
  auto read = steps_from_json(to_json(steps));
  ASSERT_TRUE(read.ok()) << read.error().render();
  EXPECT_EQ(*read, steps);
}

TEST(ScheduleSteps, KnobReferencesSurviveJson) {
  std::vector<Step> steps = {Split{"C", "i", Factor("tile_i", 2, 0), {}}};
  auto read = steps_from_json(to_json(steps));
  ASSERT_TRUE(read.ok());
  const Factor& factor = *std::get<Split>((*read)[0].kind).factor;
  EXPECT_TRUE(factor.is_reference());
  EXPECT_EQ(factor, Factor("tile_i", 2, 0));
}

TEST(ScheduleSteps, FactorsAreFoundWhereverTheyStand) {
  const Factor one("one", 0, 8), other("other", 1, 4);
  std::vector<Step> steps = {Split{"C", "i", one, {}},  Split{"C", "i", {}, one},  Tile{"C", "i", "j", one, other},
                             Pipeline{"C", "k", one},   Persistent{"C", "i", one}, Persistent{"C", "i", {}},
                             Roles{"C", one, {}, 0, 0}, Unroll{"C", "i"}};
  std::vector<size_t> found;
  for (Step& step : steps) {
    found.push_back(0);
    for_each_factor(std::as_const(step), [&](const Factor& f) { found.back() += f.is_reference() ? 1 : 0; });
    for_each_factor(step, [](Factor& f) { f = Factor(f.value); });
  }
  EXPECT_EQ(found, (std::vector<size_t>{1, 1, 2, 1, 1, 0, 1, 0}));
  EXPECT_EQ(to_json(steps).find("knob"), std::string::npos);
  EXPECT_EQ(std::get<Tile>(steps[2].kind).y_factor, Factor(4));
}

// Names stand in the Steps: of the tensor expression's own scalars, and of those that the kernel gets besides.
TEST(ScheduleSteps, SizesAreFoundByTheirNames) {
  const Var n = te::var("n"), f = te::var("f"), later = te::var("f");
  const Tensor a = te::placeholder({n}, "float32", "A");
  const Tensor c = te::compute({n}, [&](Var i) { return a(i) + a(i); }, "C");
  Schedule s({c});
  s.apply(Split{"C", "i", Factor(ir::floordiv(n, Expr(4)) + Expr(f)), {}});
  s.apply(Split{"C", "i.i", {}, Factor(Expr(f))});
  s.apply(Split{"C", "i.o", {}, Factor(Expr(f))});
  EXPECT_EQ(s.nest().stage(1).axes[2].extent, Extent(ir::floordiv(n, Expr(4)) + Expr(f)));
  EXPECT_EQ(s.nest().positive_sizes().size(), 2U);
  EXPECT_EQ(s.nest().named_scalars(), std::vector<Var>{f});

  auto read = steps_from_json(to_json(s.steps()));
  ASSERT_TRUE(read.ok()) << read.error().render();
  EXPECT_EQ(*read, s.steps());
  const Schedule again = Schedule::from_steps({c}, *read).value_or_throw();
  EXPECT_EQ(to_string(again), to_string(s));
  const std::string program = ir::to_string(to_ir(s, {a, c}, "k", {{f, 2}}).value_or_throw());
  EXPECT_EQ(ir::to_string(to_ir(again, {a, c}, "k", {{later, 2}}).value_or_throw()), program);
  const auto without = to_ir(again, {a, c}, "k");
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().what,
            "args: the variable f, which C.split(i, factor=n // 4 + f, tail=auto) uses, has no value");
}

TEST(ScheduleSteps, AStepThatWaitsForItsKnobIsRefused) {
  Matmul m;
  Schedule s({m.c});
  Status applied = s.try_apply(Split{"C", "i", Factor("tile_i", 2, 0), {}});
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().what, "split: factor must have a value, not only the knob tile_i[2]");
}

TEST(ScheduleSteps, ALaunchSurvivesJson) {
  Matmul m;
  const std::vector<Step> steps = {CacheRead{"A", Scope::kShared, {"C"}}, Split{"C", "j", Factor(8), {}},
                                   Bind{"C", "i", "blockIdx.x"}, Bind{"C", "j.i", "threadIdx.x"},
                                   ComputeAt{"A.shared", "C", "i"}};
  const auto read = steps_from_json(to_json(steps));
  ASSERT_TRUE(read.ok()) << read.error().render();
  EXPECT_EQ(*read, steps);
  EXPECT_EQ(to_string(steps[2]), "C.bind(i, blockIdx.x)");
  const auto s = Schedule::from_steps({m.c}, *read);
  ASSERT_TRUE(s.ok()) << s.error().render();
  EXPECT_TRUE(s->check().ok());
  EXPECT_NE(to_string(*s).find("blockIdx.x i in 0.."), std::string::npos) << to_string(*s);
}

TEST(ScheduleSteps, MalformedJsonIsAParseError) {
  for (const char* text :
       {"", "{", "3", "{}", "[3]", "[[]]", "[[3]]", R"([["splat","C"]])", R"([["split","C"]])",
        R"([["split","C","i","",null,"auto"]])", R"([["split","C","i",4,null,"sideways"]])",
        R"([["split","C","i",{"knob":"x"},null,"auto"]])", R"([["fuse","C","i"]])",
        R"([["cache_read","A","texture",["C"]]])", R"([["vectorize","C","i","j"]])", R"([["unroll",null,"i"]])",
        R"([["pragma","C","i","key",1.5]])", "[[\"unroll\",\"\xff\",\"i\"]]"}) {
    auto read = steps_from_json(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::kParse) << text;
  }
}

TEST(ScheduleSteps, ReplayMakesTheSameNest) {
  Matmul m;
  auto s = Schedule::from_steps({m.c}, one_of_each());
  ASSERT_TRUE(s.ok()) << s.error().render();
  auto again = Schedule::from_steps({m.c}, s->steps());
  EXPECT_EQ(to_string(*s), to_string(*again));
  EXPECT_TRUE(s->check().ok());
}

TEST(ScheduleSteps, ARefusedStepLeavesTheScheduleAsItWas) {
  Matmul m;
  Schedule s({m.c});
  s.apply(Split{"C", "i", Factor(5), {}});
  std::string before = to_string(s);
  for (const Step& step : std::vector<Step>{Tile{"C", "j", "j", 2, 2}, Tile{"C", "j", "k", 4, 0},
                                            Fuse{"C", {"i.o", "i.i", "k"}}, Fuse{"C", {"i.o", "i.i", "j", "k"}},
                                            Reorder{"C", {"j", "i"}}, CacheRead{"A", Scope::kLocal, {"C", "B"}}}) {
    EXPECT_FALSE(s.try_apply(step).ok());
    EXPECT_EQ(to_string(s), before);
    EXPECT_EQ(s.steps().size(), 1u);
  }
}

TEST(ScheduleSteps, CopiesAreIndependent) {
  Matmul m;
  Schedule s({m.c});
  Schedule copy = s;
  copy.apply(Fuse{"C", {"i", "j"}});
  EXPECT_EQ(s.nest().stage(2).leaves.size(), 3u);
  EXPECT_EQ(copy.nest().stage(2).leaves.size(), 2u);
  EXPECT_EQ(&s.nest().stage(0), &copy.nest().stage(0)) << "stages that a Step does not touch are shared";
}

TEST(ScheduleSteps, ErrorsCarryTheLineOfTheStep) {
  Matmul m;
  Schedule s({m.c});
  s.apply({Split{"C", "k", Factor(3), {}, Tail::kShiftInward}, SourceLine{"tune_me.py", 31, "s[C].split(k, 3)"}});
  Status checked = s.check();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().where.line, 31);
  EXPECT_EQ(to_ir(s, {m.a, m.b, m.c}).error().where.line, 31);
  s.apply({Unroll{"C", "i"}, SourceLine{"tune_me.py", 32, ""}});
  EXPECT_EQ(s.check().error().where.line, 31) << "the Step at fault, not the last one";
}

// Two slots of a row: only with loops is it known how much a block shares.
TEST(ScheduleSteps, WhatABlockSharesIsCheckedToo) {
  for (const int rows : {28'000, 30'000}) {
    const Tensor a = te::placeholder({64, rows}, "float32", "A");
    const IterVar k = te::reduce_axis(0, 64, "k");
    const Tensor c = te::compute({rows}, [&](Var i) { return te::sum(a(k, i), {k}); }, "C");
    Schedule s({c});
    for (const Step& step : std::vector<Step>{CacheRead{"A", Scope::kShared, {"C"}}, Split{"C", "i", Factor(1024), {}},
                                              Reorder{"C", {"k", "i.o", "i.i"}}, Bind{"C", "i.i", "threadIdx.x"},
                                              ComputeAt{"A.shared", "C", "k"}, Pipeline{"C", "k", Factor(2)}})
      s.apply(step);
    const Status checked = s.check();
    EXPECT_EQ(checked.ok(), rows == 28'000);
    EXPECT_EQ(to_ir(s, {a, c}).ok(), checked.ok());
    const std::string why = checked.ok() ? "" : checked.error().what;
    EXPECT_EQ(why.find("must share at most") != std::string::npos, rows == 30'000) << why;
  }
}

TEST(ScheduleSteps, EqualNamesAreTold) {
  Tensor a = te::placeholder({4}, "float32", "T"),
         b = te::compute({4}, [&](Var i) { return a(i) + te::constant(1, "float32"); }, "T");
  Tensor c =
      te::compute({4, 4}, [&](const std::vector<Var>& v) -> Expr { return b(v[0]) + b(v[1]); }, "a.b*c", {"i", "i"});
  Schedule s({c});
  EXPECT_EQ(s.nest().stage(0).name, "T");
  EXPECT_EQ(s.nest().stage(1).name, "T_1");
  EXPECT_EQ(s.nest().stage(2).name, "a_b_c");
  EXPECT_EQ(s.nest().stage(2).axes[1].name, "i_1");
}

TEST(ScheduleSteps, AxesStayValidAcrossCacheWrite) {
  Matmul m;
  Schedule s({m.c});
  s.apply(CacheWrite{"C", Scope::kLocal});
  const StageNest& local = s.nest().stage(s.nest().find_stage("C.local"));
  const StageNest& copy = s.nest().stage(s.nest().find_stage("C"));
  const te::Compute& op = *m.c.op()->compute();
  EXPECT_EQ(copy.axis_of(op.axis[1].var), 1);
  EXPECT_EQ(local.axis_of(op.axis[1].var), 1);
  EXPECT_EQ(copy.axis_of(m.k.var), kNone);
  EXPECT_EQ(local.axis_of(m.k.var), 2);
}

TEST(ScheduleSteps, AnExtentHasToBeANumber) {
  EXPECT_THROW(Schedule({}), Error);
  EXPECT_THROW(Schedule({Tensor()}), Error);
}

// Nobody knows what of it the statement reads.
TEST(ScheduleSteps, NoPredicateOnWhatAnExternStageReads) {
  const Tensor a = te::placeholder({4}, "int32", "A");
  const Tensor t = te::compute({4}, [&](Var i) { return a(i) + te::constant(1, "int32"); }, "T");
  const auto copy = [](const std::vector<ir::Buffer>& in, const std::vector<ir::Buffer>& out) {
    const Var i("i");
    return ir::loop(i, 4, ir::store(out[0], {i}, ir::load(in[0], {i})));
  };
  Schedule s(te::external({{ir::Type::i(32), {4}}}, {t}, copy, "E"));
  s.apply(SetStorePredicate{"T", "i < 4"});
  EXPECT_TRUE(s.check().ok());
  s.apply(SetStorePredicate{"T", "i < 3"});
  ASSERT_FALSE(s.check().ok());
  EXPECT_NE(s.check().error().what.find("E is an extern stage"), std::string::npos) << s.check().error().what;
}

}  // namespace
}  // namespace tw::schedule
