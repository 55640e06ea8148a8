// The loops of scans and of reductions of tuples.
#include <gtest/gtest.h>

#include "te/promote.h"
#include "tensorwright/schedule.h"

namespace tw::schedule {
namespace {

using ir::BinOp;
using te::Expr;
using te::Tensor;
using te::Var;

Expr plus(Expr a, Expr b) { return te::arith(BinOp::kAdd, std::move(a), std::move(b)); }

Tensor running_sums() {
  const Tensor X = te::placeholder({5, 8}, "float32", "X"), state = te::placeholder({5, 8}, "float32", "state");
  const Tensor init = te::compute({1, 8}, [&](Var t, Var i) { return X(0, i); }, "init");
  const Tensor update =
      te::compute({5, 8}, [&](Var t, Var i) { return plus(state(plus(t, -1), i), X(t, i)); }, "update");
  return te::scan({init}, {update}, {state}, "S")[0];
}

TEST(Scan, WhatDependsOnTheStateIsComputedAtItsTime) {
  const Tensor X = te::placeholder({5, 8}, "float32", "X"), state = te::placeholder({5, 8}, "float32", "state");
  const Tensor init = te::compute({1, 8}, [&](Var t, Var i) { return X(0, i); }, "init");
  const Tensor twice =
      te::compute({5, 8}, [&](Var t, Var i) { return plus(state(plus(t, -1), i), state(plus(t, -1), i)); }, "twice");
  const Tensor update = te::compute({5, 8}, [&](Var t, Var i) { return plus(twice(t, i), X(t, i)); }, "update");
  const Tensor S = te::scan({init}, {update}, {state}, "S")[0];
  Schedule s({S});
  s.apply(Split{"S", "i1", 4, {}, Tail::kAuto});
  s.apply(ComputeAt{"update", "S", "i1.o"});
  s.apply(Vectorize{"update", "j"});
  EXPECT_EQ(ir::to_string(to_ir(s, {X, S}, "f").value_or_throw()),
            "kernel f(X: float32[5, 8], S: out float32[5, 8]):\n"
            "  alloc init: float32[1, 8] global\n"
            "  for j in 0..8:\n"
            "    init[0, j] = X[0, j]\n"
            "  for t in 0..5:\n"
            "    alloc twice: float32[1, 8] local\n"
            "    if 0 < t:\n"
            "      for j in 0..8:\n"
            "        twice[0, j] = S[t - 1, j] + S[t - 1, j]\n"
            "    for i1.o in 0..2:\n"
            "      alloc update: float32[1, 4] local\n"
            "      if 0 < t:\n"
            "        for j in 0..4 vectorized:\n"
            "          update[0, j] = twice[0, i1.o * 4 + j] + X[t, i1.o * 4 + j]\n"
            "      for i1.i in 0..4:\n"
            "        S[t, i1.o * 4 + i1.i] = select(t < 1, init[t, i1.o * 4 + i1.i], update[0, i1.i])\n");
}

TEST(Scan, APredicateMayNotLeaveOutWhatTheUpdatesRead) {
  const Tensor S = running_sums();
  const Tensor C = te::compute({5, 4}, [&](Var t, Var i) { return S(t, i); }, "C");
  Schedule s({C});
  s.apply(SetStorePredicate{"S", "i1 < 4"});
  const Status checked = s.check();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().what,
            "set_store_predicate: condition must hold for every element of S that is read; its updates read the times "
            "before");
}

// Its first axis is the time at which it is computed.
TEST(Scan, ACopyOfAnUpdateKeepsItsAxes) {
  const Tensor S = running_sums();
  const Tensor C = te::compute({5, 8}, [&](Var t, Var i) { return S(t, i); }, "C");
  Schedule s({C});
  s.apply(CacheRead{"S", ir::Scope::kGlobal, {"C"}, {"ax1", "ax0"}});
  EXPECT_TRUE(s.check().ok());
  try {
    s.apply(CacheRead{"update", ir::Scope::kGlobal, {"S"}, {"ax1", "ax0"}});
    FAIL() << "not refused";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("axes must be those of update, which a scan computes"), std::string::npos)
        << e.what();
  }
}

TEST(Tuple, OldValuesAreReadBeforeNewOnesAreWritten) {
  te::Reducer argmax;
  argmax.combine = [](const std::vector<Var>& x, const std::vector<Var>& y) -> std::vector<Expr> {
    return {te::select(te::arith(BinOp::kGe, x[1], y[1]), x[0], y[0]), te::max(Expr(x[1]), Expr(y[1]))};
  };
  argmax.identity = [](const std::vector<ir::Type>&) -> std::vector<Expr> { return {-1, te::min_value("float32")}; };
  const Tensor A = te::placeholder({4, 8}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, 4, "k");
  const std::vector<Tensor> T =
      te::compute_tuple({8}, [&](const std::vector<Var>& v) { return argmax({k, A(k, v[0])}, {k}); }, "T");
  Schedule s(T);
  s.apply(Reorder{"T", {"k", "i"}});
  s.apply(Vectorize{"T", "i"});
  EXPECT_EQ(ir::to_string(to_ir(s, {A, T[0], T[1]}, "f").value_or_throw()),
            "kernel f(A: float32[4, 8], T.v0: out int32[8], T.v1: out float32[8]):\n"
            "  for i in 0..8 vectorized:\n"
            "    T.v0[i] = -1i32\n"
            "    T.v1[i] = -3.4028235e+38\n"
            "  for k in 0..4:\n"
            "    for i in 0..8 vectorized:\n"
            "      let v0 = select(T.v1[i] >= A[k, i], T.v0[i], int32(k))\n"
            "      let v1 = max(T.v1[i], A[k, i])\n"
            "      T.v0[i] = v0\n"
            "      T.v1[i] = v1\n");
}

}  // namespace
}  // namespace tw::schedule
