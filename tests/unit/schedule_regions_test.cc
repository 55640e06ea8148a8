// How much of a producer is computed: elements stored, over all iterations, which no machine's speed changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "schedule/bounds.h"
#include "schedule/nest_view.h"
#include "schedule/unbounded.h"
#include "src/ir/interp.h"
#include "src/ir/verify.h"
#include "src/ir/walk.h"
#include "tensorwright/schedule.h"

namespace tw::schedule {
namespace {

using ir::Expr;
using te::Tensor;
using te::Var;

// The program, with one more argument: how often it stores to `name`.
ir::Program counting(const ir::Program& program, const std::string& name) {
  const ir::Buffer count("count", ir::Type::i(64), {Expr(1)}, Scope::kArgument);
  const Expr one = ir::imm(ir::Type::i(64), 1);
  const ir::Stmt body = ir::rewrite(
      program.body,
      [&](const ir::Stmt& s) {
        const auto* store = ir::as<ir::Store>(s);
        if (!store || store->buffer.name() != name) return s;
        return ir::seq({s, ir::store(count, {Expr(0)}, ir::load(count, {Expr(0)}) + one)});
      },
      [](const Expr& e) { return e; });
  ir::Program out = program;
  out.params.push_back({count, true});
  out.body = ir::seq({ir::store(count, {Expr(0)}, ir::imm(ir::Type::i(64), 0)), body});
  return out;
}

struct Rows {
  Tensor a, p, c;
};

Rows rows(const Expr& n, const Expr& m) {
  const Tensor a = te::placeholder({n, m}, "int32", "A");
  const Tensor p = te::compute({n, m}, [&](Var i, Var j) { return a(i, j) * te::constant(2, "int32"); }, "P");
  const Tensor c = te::compute({n, m}, [&](Var i, Var j) { return p(i, j) + te::constant(1, "int32"); }, "C");
  return {a, p, c};
}

// Stores to P over n x m; extents of `scalars` are variables.
int64_t work(const Rows& of, const std::vector<Step>& steps, int64_t n, int64_t m, std::vector<uint64_t> scalars) {
  Schedule s({of.c});
  for (const Step& step : steps) s.apply(step);
  const auto program = to_ir(s, {of.a, of.c});
  if (!program.ok()) {
    ADD_FAILURE() << program.error().render();
    return -1;
  }
  std::vector<int32_t> in(static_cast<size_t>(n * m), 5), out(in.size());
  int64_t count = 0;
  ir::InterpOptions options;
  options.scalars = std::move(scalars);
  const size_t bytes = in.size() * 4;
  const Status ran =
      ir::interpret(counting(*program, "P"),
                    std::vector<ir::InterpBuffer>{{in.data(), bytes}, {out.data(), bytes}, {&count, 8}}, options);
  EXPECT_TRUE(ran.ok()) << (ran.ok() ? "" : ran.error().render());
  for (int32_t value : out) EXPECT_EQ(value, 11);
  return count;
}

std::vector<Step> fused(int64_t factor, const std::string& at) {
  return {Fuse{"C", {"i", "j"}}, Split{"C", "i*j", Factor(factor), {}}, ComputeAt{"P", "C", at}};
}

// Of fixed extents, of variable rows, of variable rows and columns.
std::vector<int64_t> works(const std::vector<Step>& steps, int64_t n, int64_t m) {
  const Var rows_of = te::var("n"), columns = te::var("m");
  const auto value = [](int64_t v) { return static_cast<uint64_t>(v); };
  return {work(rows(n, m), steps, n, m, {}), work(rows(rows_of, m), steps, n, m, {value(n)}),
          work(rows(rows_of, columns), steps, n, m, {value(n), value(m)})};
}

TEST(ScheduleRegions, APartOfAFusedLoopComputesWhatItReads) {
  for (int64_t factor : {1, 3, 7, 8, 64})
    for (const char* at : {"i*j.o", "i*j.i"})
      for (const auto& [n, m] : std::vector<std::pair<int64_t, int64_t>>{{37, 40}, {40, 37}, {1, 100}, {100, 1}}) {
        const std::vector<int64_t> stores = works(fused(factor, at), n, m);
        EXPECT_LE(stores[1], stores[0] * 1.02) << factor << at << n << "x" << m;
        EXPECT_LE(stores[2], stores[0] * 1.02 + m) << factor << at << n << "x" << m;
        // Parts that reach into the next row compute both.
        EXPECT_LE(stores[0], factor <= m ? n * m + 2 * n * m : 3 * (n * m + factor)) << factor << at << n << "x" << m;
      }
}

TEST(ScheduleRegions, ThePartOfAnIterationIsOneElementAtTheInnerLoop) {
  for (int64_t stores : works(fused(3, "i*j.i"), 30, 41)) EXPECT_EQ(stores, 30 * 41);
}

TEST(ScheduleRegions, PartsOfVariableLength) {
  const std::vector<Step> quarters = {Split{"C", "i", {}, Factor(4)}, ComputeAt{"P", "C", "i.o"}};
  for (int64_t stores : works(quarters, 40, 9)) EXPECT_EQ(stores, 40 * 9);
  for (int64_t stores : works(quarters, 3, 9)) EXPECT_EQ(stores, 3 * 9);
}

TEST(ScheduleRegions, AConditionNarrowsWhatIsComputed) {
  const Tensor a = te::placeholder({100, 1}, "int32", "A");
  const Tensor p = te::compute({100, 1}, [&](Var i, Var j) { return a(i, j) + te::constant(6, "int32"); }, "P");
  const Tensor c = te::compute(
      {100, 1}, [&](Var i, Var j) { return te::if_then_else(Expr(i) < Expr(50), p(i, j), te::constant(11, "int32")); },
      "C");
  EXPECT_EQ(work({a, p, c}, {Split{"C", "i", Factor(16), {}}, ComputeAt{"P", "C", "i.o"}}, 100, 1, {}), 50);
}

TEST(ScheduleRegions, AFactorAboveTheExtentComputesTheExtent) {
  EXPECT_EQ(work(rows(5, 3), {Split{"P", "j", Factor(4), {}}}, 5, 3, {}), 15);
  Schedule s({rows(5, 3).c});
  s.apply(Split{"C", "j", Factor(4), {}});
  EXPECT_NE(to_string(s).find("for j.i in 0..3"), std::string::npos) << to_string(s);
}

TEST(ScheduleRegions, PartsOfTwiceFusedLoopsStayInARowWhereTheyCan) {
  for (const std::vector<int64_t>& n : std::vector<std::vector<int64_t>>{{6, 12, 16}, {2, 8, 3}, {1, 3, 2}})
    for (int64_t factor = 1; factor <= 12; ++factor) {
      const Tensor a = te::placeholder({n[0]}, "int32", "A");
      const Tensor p = te::compute({n[0]}, [&](Var i) { return a(i) + te::constant(1, "int32"); }, "P");
      const Tensor c =
          te::compute({n[0], n[1], n[2]}, [&](Var i, Var j, Var k) { return p(i) + te::astype(j + k, "int32"); }, "C");
      Schedule s({c});
      for (const Step& step : std::vector<Step>{Fuse{"C", {"i", "j", "k"}}, Split{"C", "i*j*k", Factor(factor), {}},
                                                ComputeAt{"P", "C", "i*j*k.o"}})
        s.apply(step);
      int64_t rows = 0;
      for (int64_t first = 0; first < n[0] * n[1] * n[2]; first += factor)
        rows = std::max(
            rows, std::min(first + factor - 1, n[0] * n[1] * n[2] - 1) / (n[1] * n[2]) - first / (n[1] * n[2]) + 1);
      const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
      const int stage = s.nest().find_stage("P");
      EXPECT_EQ(bounds.stages[stage].extent[0], rows) << factor;
      EXPECT_EQ(view_stages(s.nest())[0].loops[0].extent, rows) << factor;
    }
}

TEST(ScheduleRegions, ColumnsOfTheOnlyRowAreTheFusedLoop) {
  const Tensor a = te::placeholder({1}, "int32", "A");
  const Tensor c = te::compute({1, 7}, [&](Var i, Var j) { return a(i) + te::astype(j, "int32"); }, "C");
  Schedule s({c});
  for (const Step& step :
       std::vector<Step>{CacheWrite{"C", Scope::kLocal}, Fuse{"C", {"i", "j"}},
                         Split{"C", "i*j", Factor(3), {}, Tail::kShiftInward}, ComputeAt{"C.local", "C", "i*j.o"}})
    s.apply(step);
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  EXPECT_EQ(bounds.stages[s.nest().find_stage("C.local")].extent[1], 3);
  EXPECT_EQ(view_stages(s.nest())[0].loops[1].extent, 3);
}

// The last part reaches past the end of the row, and all of it is computed.
TEST(ScheduleRegions, PartsPastTheEndOfTheOnlyRowTakeAll) {
  const Tensor a = te::placeholder({5}, "int32", "A");
  const Tensor p = te::compute({5}, [&](Var i) { return a(i) + te::constant(1, "int32"); }, "P");
  const Tensor c = te::compute({3}, [&](Var i) { return p(i * 2); }, "C");
  Schedule s({c});
  for (const Step& step : std::vector<Step>{
           Split{"C", "i", {}, Factor(19), Tail::kMask}, Reorder{"C", {"i.i", "i.o"}}, Fuse{"C", {"i.i", "i.o"}},
           Split{"C", "i.i*i.o", Factor(2), {}, Tail::kPeel}, ComputeAt{"P", "C", "i.i*i.o.o"}})
    s.apply(step);
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  EXPECT_EQ(bounds.stages[s.nest().find_stage("P")].extent[0], 5);
  EXPECT_EQ(view_stages(s.nest())[0].loops[0].extent, 5);
}

TEST(ScheduleRegions, RowsPastTheLastOfTheOnlyMatrixTakeAll) {
  const Tensor a = te::placeholder({13}, "int32", "A");
  const Tensor p = te::compute({13}, [&](Var i) { return a(i) + te::constant(1, "int32"); }, "P");
  const Tensor c = te::compute({1, 13, 3}, [&](Var, Var i, Var) { return p(i); }, "C");
  Schedule s({c});
  for (const Step& step :
       std::vector<Step>{Fuse{"C", {"i", "j"}}, Fuse{"C", {"i*j", "k"}},
                         Split{"C", "i*j*k", Factor(19), {}, Tail::kPeel}, ComputeAt{"P", "C", "i*j*k.o"}})
    s.apply(step);
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  const std::vector<StageView> views = view_stages(s.nest());
  EXPECT_EQ(bounds.stages[s.nest().find_stage("P")].extent[0], views[0].loops[0].extent);
}

// Every second element from 4 * o or 4 * o + 1 on, two of them: three side by side, of one row of 16.
TEST(ScheduleRegions, PartsThatBeginBesideAMultipleStayInTheirRow) {
  const Tensor a = te::placeholder({16}, "int32", "A");
  const Tensor p = te::compute({16}, [&](Var i) { return a(i) + te::constant(1, "int32"); }, "P");
  const Tensor c = te::compute({2, 16}, [&](Var, Var j) { return p(j); }, "C");
  Schedule s({c});
  for (const Step& step :
       std::vector<Step>{Fuse{"C", {"i", "j"}}, Split{"C", "i*j", Factor(2), {}}, Reorder{"C", {"i*j.i", "i*j.o"}},
                         Split{"C", "i*j.o", Factor(2), {}}, ComputeAt{"P", "C", "i*j.o.o"}})
    s.apply(step);
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  const std::vector<StageView> views = view_stages(s.nest());
  EXPECT_EQ(bounds.stages[s.nest().find_stage("P")].extent[0], Extent(3));
  EXPECT_EQ(views[0].loops[0].extent, Extent(3));
}

// The fourth element from 8 * o + l on and that one, l < 4: five side by side, of one row of 32, though one loop runs
// over l and o.
TEST(ScheduleRegions, PartsBesideAMultipleOfAFusedLoopStayInTheirRow) {
  const Tensor a = te::placeholder({32}, "int32", "A");
  const Tensor p = te::compute({32}, [&](Var i) { return a(i) + te::constant(1, "int32"); }, "P");
  const Tensor c = te::compute({8, 32}, [&](Var, Var j) { return p(j); }, "C");
  Schedule s({c});
  for (const Step& step :
       std::vector<Step>{Fuse{"C", {"i", "j"}}, Split{"C", "i*j", Factor(4), {}}, Split{"C", "i*j.o", Factor(2), {}},
                         Reorder{"C", {"i*j.i", "i*j.o.o", "i*j.o.i"}}, Fuse{"C", {"i*j.i", "i*j.o.o"}},
                         ComputeAt{"P", "C", "i*j.i*i*j.o.o"}})
    s.apply(step);
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  EXPECT_EQ(bounds.stages[s.nest().find_stage("P")].extent[0], Extent(5));
  EXPECT_EQ(view_stages(s.nest())[0].loops[0].extent, 5);
}

// Two elements from a multiple of 2 on: of rows of 13 they may lie in two, of matrices of 8 such rows in one.
TEST(ScheduleRegions, PartsThatCrossRowsStayInTheirMatrix) {
  const Tensor a = te::placeholder({5, 8, 13}, "int32", "A");
  const Tensor p =
      te::compute({5, 8, 13}, [&](Var i, Var j, Var k) { return a(i, j, k) + te::constant(1, "int32"); }, "P");
  const Tensor c = te::compute({5, 8, 13}, [&](Var i, Var j, Var k) { return p(i, j, k); }, "C");
  Schedule s({c});
  for (const Step& step : std::vector<Step>{Fuse{"C", {"i", "j", "k"}}, Split{"C", "i*j*k", Factor(2), {}},
                                            Split{"C", "i*j*k.o", Factor(130), {}}, ComputeAt{"P", "C", "i*j*k.o.i"}})
    s.apply(step);
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  const std::vector<StageView> views = view_stages(s.nest());
  for (size_t d = 0; d < 3; ++d)
    EXPECT_EQ(bounds.stages[s.nest().find_stage("P")].extent[d], views[0].loops[d].extent) << d;
}

// The last of six parts of three begins at 14, not at 15: three from 9 on are counted up to 17, and take all of the
// row.
TEST(ScheduleRegions, SeveralPartsOfWhichTheLastIsMovedTakeAllOfTheOnlyRow) {
  const Tensor a = te::placeholder({17}, "int32", "A");
  const Tensor p = te::compute({17}, [&](Var i) { return a(i) + te::constant(1, "int32"); }, "P");
  const Tensor c = te::compute({1, 17}, [&](Var, Var j) { return p(j); }, "C");
  Schedule s({c});
  for (const Step& step : std::vector<Step>{Fuse{"C", {"i", "j"}}, Split{"C", "i*j", Factor(3), {}, Tail::kShiftInward},
                                            Split{"C", "i*j.o", Factor(3), {}}, ComputeAt{"P", "C", "i*j.o.o"}})
    s.apply(step);
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  const std::vector<StageView> views = view_stages(s.nest());
  EXPECT_EQ(bounds.stages[s.nest().find_stage("P")].extent[0], views[0].loops[0].extent);
}

// An int32 subscript is at most 2^31 - 1: no size of a tensor over n, and rows of max(n, 1) give no smaller one.
TEST(ScheduleRegions, TheRangeOfADtypeIsNoSize) {
  const Var n = te::var("n", "int32");
  const Expr last = ir::cast(ir::Type::i(32), n - 1);
  const Tensor a = te::placeholder({n}, "int32", "A"), at = te::placeholder({n}, "int32", "at");
  const Tensor t =
      te::compute({n}, [&](Var i) { return a(ir::max(ir::min(at(i), last), ir::imm(ir::Type::i(32), 0))); }, "T");
  const Tensor c = te::compute({n}, [&](Var i) { return t(i) + te::constant(1, "int32"); }, "C");
  Schedule s({c});
  for (const Step& step : std::vector<Step>{
           CacheRead{"A", Scope::kLocal, {"T"}}, Split{"A.local", "ax0", Factor(n * n + 2), {}},
           Fuse{"A.local", {"ax0.o", "ax0.i"}}, Split{"A.local", "ax0.o*ax0.i", Factor(ir::max(n, 1)), {}},
           CacheWrite{"A.local", Scope::kGlobal}, Split{"C", "i", Factor(Expr(n)), {}, Tail::kPeel},
           ComputeAt{"T", "C", "i.o"}, ComputeAt{"A.local", "C", "i.o"}, ComputeAt{"A.local.global", "C", "i.o"}})
    s.apply(step);
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  for (const Extent& extent : bounds.stages[s.nest().find_stage("A.local.global")].extent)
    EXPECT_FALSE(extent.known()) << ir::to_string(extent.expr());
}

// What a padded reader asks for past the end is nobody's: neither computed nor shown.
TEST(ScheduleRegions, PaddingPastTheEndAsksForNothing) {
  const Tensor a = te::placeholder({3}, "int32", "A");
  const Tensor p = te::compute({3}, [&](Var i) { return a(i) * te::constant(2, "int32"); }, "P");
  const Tensor q = te::compute({3}, [&](Var i) { return p(i) + te::constant(1, "int32"); }, "Q");
  const te::IterVar k = te::reduce_axis(2, 3, "k");
  const Tensor c = te::compute({5}, [&](Var) { return te::sum(q(Expr(k)), {k}); }, "C");
  Schedule s({c});
  s.apply(Split{"Q", "i", Factor{3}, {}, Tail::kPad});
  s.apply(ComputeAt{"Q", "C", "i"});
  s.apply(ComputeAt{"P", "Q", "i.o"});
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  EXPECT_EQ(bounds.stages[s.nest().find_stage("Q")].extent[0], 3);  // element 2 and two past the end
  EXPECT_EQ(bounds.stages[s.nest().find_stage("P")].extent[0], 1);
  const std::vector<StageView> views = view_stages(s.nest());
  EXPECT_EQ(views[0].loops[0].extent, 1);
  EXPECT_EQ(views[0].root_extents[0], 1);
}

TEST(ScheduleRegions, AScanInsideALoopShowsTheStatesThatItsUpdatesRead) {
  const Tensor a = te::placeholder({6, 9}, "int32", "A"), state = te::placeholder({6, 9}, "int32", "state");
  const Tensor init = te::compute({1, 9}, [&](Var t, Var i) { return a(t, i); }, "init");
  const Tensor update =
      te::compute({6, 9}, [&](Var t, Var i) { return state(t - 1, ir::max(i - 1, Expr(0))) + a(t, i); }, "update");
  const Tensor sums = te::scan({init}, {update}, {state}, "S")[0];
  const Tensor c = te::compute({9, 6}, [&](Var i, Var t) { return sums(t, i); }, "C");
  Schedule s({c});
  s.apply(Split{"C", "i", Factor{4}, {}});
  s.apply(ComputeAt{"S", "C", "i.o"});
  const NestBounds bounds = infer_bounds(s.nest(), place(s.nest(), s.steps()).value_or_throw());
  const int scan = s.nest().find_stage("S");
  EXPECT_EQ(bounds.stages[scan].extent[1], 9);  // not only the 4 that C reads
  const std::vector<StageView> views = view_stages(s.nest());
  const auto view = std::ranges::find(views, scan, &StageView::stage);
  ASSERT_NE(view, views.end());
  EXPECT_EQ(view->loops[1].extent, 9);
}

// F // F is no number to who does not know that F is 1 or more; the loop over all elements is one.
TEST(ScheduleRegions, ALoopOfKnownLengthHasOneInEachRegion) {
  const Tensor a = te::placeholder({4}, "int32", "A");
  const Tensor p = te::compute({4}, [&](Var i) { return a(i) * te::constant(2, "int32"); }, "P");
  const Tensor c = te::compute({4}, [&](Var i) { return p(i) + te::constant(1, "int32"); }, "C");
  const Var part = te::var("part");
  Schedule s({c});
  s.apply(Split{"P", "i", Factor(ir::max(ir::floormod(Expr(part), Expr(5)), Expr(1))), {}});
  s.apply(Split{"P", "i.o", Factor{8}, {}});
  s.apply(Vectorize{"P", "i.o.o"});
  s.apply(ComputeAt{"P", "C", "i"});
  const auto program = to_ir(s, {a, c}, "f", {{part, 2}});
  ASSERT_TRUE(program.ok()) << program.error().render();
  const Status valid = ir::verify(*program);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : valid.error().render());
}

TEST(ScheduleRegions, APartOfShiftedRowsKeepsWhatItReads) {
  const Tensor a = te::placeholder({3, 7}, "int32", "A");
  const Tensor p = te::compute({3, 7}, [&](Var i, Var j) { return a(i, j) * te::constant(2, "int32"); }, "P");
  const Tensor c = te::compute({3, 7}, [&](Var i, Var j) { return p(i, j) + te::constant(1, "int32"); }, "C");
  Schedule s({c});
  s.apply(Split{"C", "i", Factor{2}, {}, Tail::kShiftInward});
  s.apply(Fuse{"C", {"i.o", "i.i", "j"}});
  s.apply(Split{"C", "i.o*i.i*j", {}, Factor{27}, Tail::kGuard});
  s.apply(ComputeAt{"P", "C", "i.o*i.i*j.o"});
  const Placement placed = place(s.nest(), s.steps()).value_or_throw();
  EXPECT_EQ(infer_bounds(s.nest(), placed).stages[s.nest().find_stage("P")].extent[0],
            2);  // two elements reach into two rows at most
}

TEST(ScheduleRegions, WhatHasNoBoundIsShownAndRefusedWhenAsked) {
  const Var n = te::var("n");
  const Tensor a = te::placeholder({n}, "int32", "A"), k = te::placeholder({n}, "int32", "K");
  const Tensor p = te::compute({n}, [&](Var i) { return a(i) + te::constant(1, "int32"); }, "P");
  const Tensor c = te::compute({n}, [&](Var i) { return p(k(i)); }, "C");
  Schedule s({c});
  EXPECT_TRUE(check_strictly(s).ok());
  s.apply(ComputeAt{"P", "C", "i"});
  EXPECT_TRUE(s.check().ok());
  const Status strict = check_strictly(s);
  ASSERT_FALSE(strict.ok());
  EXPECT_NE(strict.error().render().find("what an iteration of C's loop i reads of P must have a bound along i"),
            std::string::npos)
      << strict.error().render();
  EXPECT_NE(to_string(s).find("# all of i in each iteration of C's loop i: C's subscript"), std::string::npos)
      << to_string(s);
}

}  // namespace
}  // namespace tw::schedule
