// What compute accepts and refuses, in C++: shapes, definitions, reads outside a tensor. Lines are those of the call.
#include "tensorwright/te.h"

#include <gtest/gtest.h>

#include "te/promote.h"

namespace tw::te {
namespace {

using ir::BinOp;

Expr less(Expr a, Expr b) { return arith(BinOp::kLt, std::move(a), std::move(b)); }
Expr plus(Expr a, Expr b) { return arith(BinOp::kAdd, std::move(a), std::move(b)); }

struct Refusal {
  std::string what;
  int line = 0;
};

template <class F>
Refusal refusal(F f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_NE(e.kind(), ErrorKind::kInternal) << e.what();
    return {e.diagnostic().what, e.diagnostic().where.line};
  }
  return {"nothing refused"};
}

TEST(Compute, AxesInputsAndType) {
  const Tensor A = placeholder({4, 8}, "float16", "A"), B = placeholder({8}, "float32", "B");
  const IterVar k = reduce_axis(0, 8, "k");
  const Tensor C = compute({4}, [&](Var i) { return sum(arith(BinOp::kMul, A(i, k), B(k)), {k}); }, "C");
  EXPECT_EQ(C.dtype(), Type::f(32));
  EXPECT_EQ(C.op()->inputs, (std::vector<Tensor>{A, B}));
  ASSERT_EQ(C.op()->compute()->axis.size(), 1u);
  EXPECT_EQ(C.op()->compute()->axis[0].var.name(), "i");
  ASSERT_EQ(C.op()->compute()->reduce_axis.size(), 1u);
  EXPECT_EQ(C.op()->compute()->reduce_axis[0].var, k.var);
  EXPECT_EQ(ir::to_string(C.op()->compute()->body()), "sum(k in 0..8: float32(A[i, k]) * B[k])");
}

TEST(Compute, EveryAxisHasAName) {
  const Tensor A = compute(std::vector<Expr>(8, Expr(2)), [](const std::vector<Var>& at) { return Expr(at[7]); });
  std::string names;
  for (const IterVar& axis : A.op()->compute()->axis) names += axis.var.name() + " ";
  EXPECT_EQ(names, "i j k l m n ax6 ax7 ");
}

TEST(Compute, TheErrorNamesTheLineOfTheCall) {
  const Refusal r = refusal([] { placeholder({-1}, "float32", "A"); });
  EXPECT_EQ(r.what, "placeholder A: the extent of dimension 0 must not be negative, not -1");
  EXPECT_EQ(r.line, __LINE__ - 2);
  const Tensor A = placeholder({4}, "float32", "A");
  const Refusal inside = refusal([&] { compute({4}, [&](Var i) { return exp(i); }, "C"); });
  EXPECT_EQ(inside.what, "exp: expected a float, not i of int32");
  EXPECT_EQ(inside.line, __LINE__ - 2);
}

TEST(Compute, Shapes) {
  const auto with = [](std::vector<Expr> shape) {
    return refusal([&] { placeholder(std::move(shape), "float32", "A"); }).what;
  };
  EXPECT_EQ(with({}), "nothing refused");
  EXPECT_EQ(with({0, 1}), "nothing refused");
  EXPECT_EQ(with(std::vector<Expr>(17, 1)), "placeholder A: a tensor has at most 16 dimensions, not 17");
  EXPECT_EQ(with({Var("n")}),
            "placeholder A: the extent of dimension 0 must be an integer or an expression of te.var, not n");
  const Expr n = var("n");
  EXPECT_EQ(with({n, n * Expr(2) + Expr(1), ir::min(n, Expr(7))}), "nothing refused");
  EXPECT_EQ(with({var("x", "float32")}),
            "placeholder A: the extent of dimension 0 must be an integer, not x of float32");
  EXPECT_EQ(with({ir::float_imm(Type::f(32), 2)}),
            "placeholder A: the extent of dimension 0 must be an integer, not 2.0 of float32");
  EXPECT_EQ(with({int64_t{1} << 40, int64_t{1} << 40}), "placeholder A: a tensor has at most 2**56 elements");
  EXPECT_EQ(with({Expr()}), "placeholder A: the extent of dimension 0 is missing");
}

TEST(Compute, Definitions) {
  const Tensor A = placeholder({4, 8}, "float32", "A");
  const IterVar k = reduce_axis(0, 8, "k"), r = reduce_axis(0, 8, "r");
  const auto with = [&](const std::function<Expr(Var)>& f) {
    return refusal([&] { compute({4}, [&](Var i) -> Expr { return f(i); }, "C"); }).what;
  };
  EXPECT_EQ(with([](Var) { return Expr(); }), "compute C: the function must return an expression");
  EXPECT_EQ(with([&](Var i) { return A(i, k); }), "compute C: undefined variable k");
  EXPECT_EQ(with([&](Var i) { return sum(A(i, r), {k}); }), "compute C: undefined variable r");
  EXPECT_EQ(with([&](Var i) { return plus(sum(A(i, k), {k}), 1); }),
            "compute C: a reduction must be the whole value of a compute, not a part of one");
  EXPECT_EQ(with([&](Var i) { return astype(sum(A(i, k), {k}), "float64"); }),
            "compute C: a reduction must be the whole value of a compute, not a part of one");
  EXPECT_EQ(with([&](Var i) { return sum(sum(A(i, k), {k}), {r}); }),
            "compute C: a reduction must be the whole value of a compute, not a part of one");
  EXPECT_EQ(with([&](Var i) { return sum(A(i, 0), {}); }), "sum: axis must name at least one reduce axis");
  EXPECT_EQ(with([&](Var i) { return sum(A(i, k), {k, k}); }),
            "sum: axis must name each reduce axis once, not k twice");
  EXPECT_EQ(with([&](Var i) { return sum(A(i, k), {IterVar{i, 0, 4, false}}); }),
            "sum: axis must be a reduce axis, not the data axis i");
  EXPECT_EQ(with([&](Var i) { return A(i); }), "A[...]: expected 2 subscripts, not 1");
  EXPECT_EQ(with([&](Var i) { return A(i, -1); }), "A[...]: subscript 1 must not be negative, not -1");
}

// Reads of A (10 elements) in a compute of 10. One before A's first element is refused when the compute is used: A
// could become the state of a scan.
std::string read(const std::function<Expr(Var, const Tensor&)>& f) {
  const Tensor A = placeholder({10}, "float32", "A");
  const std::string what = refusal([&] {
                             const Tensor C = compute({10}, [&](Var i) -> Expr { return f(i, A); }, "C");
                             std::vector<Tensor> args = C.op()->inputs;
                             args.push_back(C);
                             naive_program({C}, args);
                           }).what;
  return what == "nothing refused" ? "fine" : what.substr(what.find("reads"));
}

TEST(OutOfBounds, AnExampleIsNamed) {
  EXPECT_EQ(read([](Var i, const Tensor& A) { return A(i); }), "fine");
  EXPECT_EQ(read([](Var i, const Tensor& A) { return A(plus(i, 1)); }), "reads 10 of 0..10 at i = 9");
  EXPECT_EQ(read([](Var i, const Tensor& A) { return A(plus(i, -1)); }), "reads -1 of 0..10 at i = 0");
  EXPECT_EQ(read([](Var, const Tensor& A) { return A(10); }), "reads 10 of 0..10");
  EXPECT_EQ(read([](Var i, const Tensor& A) { return A(arith(BinOp::kMul, i, i)); }).substr(0, 5), "reads");
}

TEST(OutOfBounds, ConditionsAround) {
  const auto guarded = [](Expr (*condition)(Expr)) {
    return read([&](Var i, const Tensor& A) { return if_then_else(condition(i), A(plus(i, 1)), 0); });
  };
  EXPECT_EQ(guarded([](Expr i) { return less(i, 9); }), "fine");
  EXPECT_EQ(guarded([](Expr i) { return less(i, 10); }), "reads 10 of 0..10 at i = 9");
  EXPECT_EQ(guarded([](Expr i) { return ir::logical_not(less(8, i)); }), "fine");
  EXPECT_EQ(guarded([](Expr i) { return all({less(i, 5), less(i, 20)}); }), "fine");
  EXPECT_EQ(guarded([](Expr i) { return any({less(i, 5), less(i, 20)}); }), "reads 10 of 0..10 at i = 9");
  EXPECT_EQ(read([](Var i, const Tensor& A) { return if_then_else(less(i, 1), 0, A(plus(i, -1))); }), "fine");
  EXPECT_EQ(read([](Var i, const Tensor& A) { return if_then_else(all({less(0, i), less(A(plus(i, -1)), 1)}), 1, 0); }),
            "fine");
}

TEST(OutOfBounds, WhatCannotBeProvedPasses) {
  const Tensor at = placeholder({10}, "int32", "at");
  EXPECT_EQ(read([&](Var i, const Tensor& A) { return A(at(i)); }), "fine");
  EXPECT_EQ(read([&](Var i, const Tensor& A) { return if_then_else(less(at(i), 3), A(plus(i, 5)), 0); }), "fine");
}

TEST(OutOfBounds, NothingIsReadOverNothing) {
  const Tensor A = placeholder({0}, "float32", "A");
  const IterVar k = reduce_axis(0, 0, "k");
  EXPECT_NO_THROW(compute({0}, [&](Var i) { return A(i); }));
  EXPECT_NO_THROW(compute({3}, [&](Var) { return sum(A(k), {k}); }));
}

TEST(OutOfBounds, AConditionDeepInALargeSpace) {
  const Tensor A = placeholder({1000}, "float32", "A");
  const auto shifted = [&](int64_t limit) {
    return refusal([&] {
             compute({100'000, 50}, [&](Var i, Var j) { return if_then_else(less(i, limit), A(plus(i, j)), 0); }, "C");
           })
        .what;
  };
  EXPECT_EQ(shifted(951), "nothing refused");
  EXPECT_NE(shifted(952).find("reads 1000 of 0..1000 at i = 951, j = 49"), std::string::npos) << shifted(952);
}

TEST(Compute, ChainsAndSharedValues) {
  Tensor t = placeholder({4}, "float32", "A");
  for (int n = 0; n < 50'000; ++n) t = compute({4}, [&](Var i) { return plus(t(i), 1); });
  t = Tensor();
  const Tensor A = placeholder({4}, "float32", "A");
  EXPECT_NO_THROW(compute({4}, [&](Var i) {
    Expr e = A(i);
    for (int n = 0; n < 5000; ++n) e = plus(e, e);
    return e;
  }));
}

}  // namespace
}  // namespace tw::te
