// How many terms `where=` leaves to a sum, in all and to loops.
#include <gtest/gtest.h>

#include "schedule/counted_terms.h"
#include "schedule/placement.h"
#include "tensorwright/schedule.h"

namespace tw::schedule {
namespace {

using ir::Expr;
using ir::Var;

// Rows of 8 pixels and 3 taps, the outer ones of which lie outside of the first and the last pixel.
Schedule windows() {
  const te::Tensor a = te::placeholder({4, 8}, "float32", "A"), w = te::placeholder({3}, "float32", "W");
  const te::IterVar k = te::reduce_axis(0, 3, "k");
  const te::Tensor sums = te::compute(
      {4, 8},
      [&](Var i, Var j) {
        const Expr at = j + k - 1;
        return te::sum(a(i, at) * w(k), {k}, te::all({at >= 0, at < 8}));
      },
      "S");
  return Schedule({sums});
}

CountedTerms counted(const Schedule& s) {
  const LoopNest& nest = s.nest();
  const StageNest& stage = nest.stage(nest.find_stage("S"));
  return counted_terms(stage, *stage.reduction());
}

TEST(CountedTerms, ThoseOfAWindowInsideOfALine) {
  const CountedTerms terms = counted(windows());
  EXPECT_DOUBLE_EQ(terms.counted, 22.0 / 24);
  EXPECT_DOUBLE_EQ(terms.visited, 22.0 / 24);
  EXPECT_FALSE(terms.masks);
  EXPECT_TRUE(terms.exact);
}

TEST(CountedTerms, LanesVisitAllTerms) {
  Schedule s = windows();
  s.apply(Vectorize{"S", "j"});
  const CountedTerms terms = counted(s);
  EXPECT_DOUBLE_EQ(terms.counted, 22.0 / 24);
  EXPECT_DOUBLE_EQ(terms.visited, 1);
  EXPECT_TRUE(terms.masks);
}

TEST(CountedTerms, LanesElsewhereDoNot) {
  Schedule s = windows();
  s.apply(Vectorize{"S", "i"});
  EXPECT_DOUBLE_EQ(counted(s).visited, 22.0 / 24);
}

TEST(CountedTerms, ALongAxisIsSampled) {
  const te::Tensor a = te::placeholder({5000, 5000}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, 5000, "k");
  const te::Tensor sums = te::compute({5000}, [&](Var i) { return te::sum(a(i, k), {k}, k.var <= i); }, "S");
  EXPECT_NEAR(counted(Schedule({sums})).counted, .5, .01);
  EXPECT_FALSE(counted(Schedule({sums})).exact);
}

TEST(CountedTerms, WhatIsNotKnownCounts) {
  const Var n = te::var("n");
  const te::Tensor a = te::placeholder({Expr(n)}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, n, "k");
  const te::Tensor sums = te::compute({4}, [&](Var i) { return te::sum(a(k), {k}, k.var < i); }, "S");
  EXPECT_DOUBLE_EQ(counted(Schedule({sums})).counted, 1);
  EXPECT_FALSE(counted(Schedule({sums})).exact);
}

}  // namespace
}  // namespace tw::schedule
