// The naive program: the meaning of a tensor expression, run by the interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "src/ir/verify.h"
#include "te/promote.h"
#include "tensorwright/te.h"

namespace tw::te {
namespace {

using ir::BinOp;
using ir::InterpBuffer;

Expr plus(Expr a, Expr b) { return arith(BinOp::kAdd, std::move(a), std::move(b)); }
Expr times(Expr a, Expr b) { return arith(BinOp::kMul, std::move(a), std::move(b)); }

template <class T>
InterpBuffer buffer(std::vector<T>& v) {
  return {v.data(), v.size() * sizeof(T)};
}

void run(const ir::Program& p, std::vector<InterpBuffer> buffers) {
  const Status verified = ir::verify(p);
  ASSERT_TRUE(verified.ok()) << verified.error().render();
  const Status done = ir::interpret(p, buffers);
  ASSERT_TRUE(done.ok()) << done.error().render();
}

TEST(NaiveProgram, StagesInOrderScratchForIntermediates) {
  const Tensor A = placeholder({2, 3}, "float32", "A"), B = placeholder({3, 2}, "float32", "B");
  const IterVar k = reduce_axis(0, 3, "k");
  const Tensor C = compute({2, 2}, [&](Var i, Var j) { return sum(times(A(i, k), B(k, j)), {k}); }, "C");
  const Tensor D = compute({2, 2}, [&](Var i, Var j) { return te::max(plus(C(i, j), 1), 0); }, "D");
  const ir::Program p = naive_program({D}, {A, B, D}, "dense");
  EXPECT_EQ(ir::to_string(p),
            "kernel dense(A: float32[2, 3], B: float32[3, 2], D: out float32[2, 2]):\n"
            "  alloc C: float32[2, 2] global\n"
            "  for i in 0..2:\n"
            "    for j in 0..2:\n"
            "      C[i, j] = 0.0\n"
            "      for k in 0..3:\n"
            "        C[i, j] = C[i, j] + A[i, k] * B[k, j]\n"
            "  for i in 0..2:\n"
            "    for j in 0..2:\n"
            "      D[i, j] = max(C[i, j] + 1.0, 0.0)\n");
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, -10, 1, 1, 0}, d(4);
  run(p, {buffer(a), buffer(b), buffer(d)});
  EXPECT_EQ(d, (std::vector<float>{0, 3, 0, 6}));
}

TEST(NaiveProgram, ReductionsOverNothing) {
  const IterVar k = reduce_axis(0, 0, "k");
  const Tensor A = placeholder({0}, "int8", "A");
  const Tensor lowest = compute({1}, [&](Var) { return max(A(k), {k}); }, "lowest");
  const Tensor highest = compute({1}, [&](Var) { return min(astype(A(k), "float32"), {k}); }, "highest");
  std::vector<int8_t> a, low(1);
  std::vector<float> high(1);
  run(naive_program({lowest, highest}, {A, lowest, highest}), {{nullptr, 0}, buffer(low), buffer(high)});
  EXPECT_EQ(low[0], -128);
  EXPECT_EQ(high[0], std::numeric_limits<float>::infinity());
}

TEST(NaiveProgram, RoundTakesHalvesAwayFromZero) {
  std::vector<float> x = {-2.5f, -0.5f, -0.25f, 0.5f, 1.5f, 0.49999997f, 8388607.5f, 1e30f, INFINITY}, y(x.size());
  const Tensor A = placeholder({static_cast<int64_t>(x.size())}, "float32", "A");
  const Tensor B = compute(A.shape(), [&](Var i) { return round(A(i)); }, "B");
  run(naive_program({B}, {A, B}), {buffer(x), buffer(y)});
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], std::round(x[i])) << x[i];
}

TEST(NaiveProgram, AnIntermediateAmongTheArgumentsIsWrittenOut) {
  const Tensor A = placeholder({3}, "int32", "A");
  const Tensor B = compute({3}, [&](Var i) { return plus(A(i), 1); }, "B");
  const Tensor C = compute({3}, [&](Var i) { return times(B(i), 2); }, "C");
  std::vector<int32_t> a = {1, 2, 3}, b(3), c(3);
  run(naive_program({C}, {A, B, C}), {buffer(a), buffer(b), buffer(c)});
  EXPECT_EQ(b, (std::vector<int32_t>{2, 3, 4}));
  EXPECT_EQ(c, (std::vector<int32_t>{4, 6, 8}));
}

TEST(NaiveProgram, EqualNamesAndASharedReduceAxis) {
  const Tensor A = placeholder({3}, "int32", "T"), B = placeholder({3}, "int32", "T");
  const IterVar k = reduce_axis(0, 3, "k");
  const Tensor C = compute({}, [&](const std::vector<Var>&) { return sum(times(A(k), B(k)), {k}); }, "T");
  const Tensor D =
      compute({}, [&](const std::vector<Var>&) { return max(plus(A(k), C(std::vector<Expr>{})), {k}); }, "T");
  std::vector<int32_t> a = {1, 2, 3}, b = {4, 5, 6}, d(1);
  const ir::Program p = naive_program({D}, {A, B, D});
  run(p, {buffer(a), buffer(b), buffer(d)});
  EXPECT_EQ(d[0], 4 + 10 + 18 + 3);
}

TEST(NaiveProgram, Arguments) {
  const Tensor A = placeholder({3}, "int32", "A");
  const Tensor B = compute({3}, [&](Var i) { return A(i); }, "B");
  const auto refusal = [&](std::vector<Tensor> args) {
    try {
      naive_program({B}, args);
    } catch (const Error& e) {
      return e.diagnostic().what;
    }
    return std::string("nothing refused");
  };
  EXPECT_EQ(refusal({A, B}), "nothing refused");
  EXPECT_EQ(refusal({A}), "args: output B must be among them");
  EXPECT_EQ(refusal({B}), "args: placeholder A must be among them");
  EXPECT_EQ(refusal({A, B, A}), "args: each tensor must be named once, not A twice");
}

TEST(TopologicalOrder, ProducersFirstEachOnce) {
  const Tensor A = placeholder({3}, "int32", "A");
  const Tensor B = compute({3}, [&](Var i) { return A(i); }, "B");
  const Tensor C = compute({3}, [&](Var i) { return plus(B(i), A(i)); }, "C");
  const Tensor D = compute({3}, [&](Var i) { return plus(B(i), C(i)); }, "D");
  std::string order;
  for (const Operation& op : topological_order({D, B})) order += op->name;
  EXPECT_EQ(order, "ABCD");
}

}  // namespace
}  // namespace tw::te
