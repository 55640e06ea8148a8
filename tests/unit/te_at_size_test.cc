// A computation with a number in the place of a variable is what its user would have declared with that number.
#include <gtest/gtest.h>

#include "src/ir/equal.h"
#include "te/at_size.h"
#include "tensorwright/ops.h"

namespace tw::te {
namespace {

// Rows of n are weighed, summed over windows of n + 1, and compared, so that n is in shapes, strides, bodies and sums.
std::vector<Tensor> declared(const Expr& n) {
  const Tensor A = placeholder({n, n + 4}, "float32", "A", {2 * n + 8, 1});
  const IterVar k = reduce_axis(0, n + 1, "k");
  const Tensor B = compute({n, 3}, [&](Var i, Var j) { return sum(A(i, j + k) * astype(i + n, "float32"), {k}); }, "B");
  const std::vector<Tensor> both = compute_tuple(
      {n},
      [&](const std::vector<Var>& at) { return std::vector<Expr>{B(at[0], 0), te::max(B(at[0], 1), B(at[0], 2))}; },
      "both", {"row"});
  return {A, both[0], both[1]};
}

std::string text(const std::vector<Tensor>& args) { return ir::to_string(naive_program({args[1], args[2]}, args)); }

TEST(AtSize, ItIsWhatWouldBeDeclared) {
  const Var n = var("n");
  const std::vector<Tensor> any = declared(n), five = at_size(any, n, 5);
  EXPECT_EQ(text(five), text(declared(5)));
  EXPECT_NE(text(any).find("n: size"), std::string::npos) << "what it was made from stays as it is";
  EXPECT_EQ(text(at_size(any, n, 6)), text(declared(6)));
}

// Values and their indices.
TEST(AtSize, ComponentsStayThoseOfOneReduction) {
  const auto declared = [](const Expr& n) {
    const Tensor A = placeholder({4, n}, "float32", "A");
    return std::vector<Tensor>{A, ops::argmax(A)};
  };
  const auto text = [](const std::vector<Tensor>& args) { return ir::to_string(naive_program({args[1]}, args)); };
  const Var n = var("n");
  EXPECT_EQ(text(at_size(declared(n), n, 5)), text(declared(5)));
}

TEST(AtSize, PaddingStaysPadding) {
  const Var n = var("n");
  const Tensor x = placeholder({n}, "float32", "x");
  const Tensor padded = ops::pad(x, {.before = {1}, .behind = {1}, .name = "P"});
  EXPECT_TRUE(at_size({x, padded}, n, 5)[1].op()->compute()->padding);
  EXPECT_FALSE(at_size({x, ops::pad(x, {.before = {1}, .behind = {1}, .value = 1, .name = "P"})}, n, 5)[1]
                   .op()
                   ->compute()
                   ->padding);
}

TEST(AtSize, WhatIsNotDeclaredAgainIsRefused) {
  const Var n = var("n");
  const Tensor state = placeholder({n, 4}, "float32", "s");
  const Tensor init = compute({1, 4}, [&](Var, Var) { return constant(1, "float32"); }, "init");
  const Tensor update =
      compute({n, 4}, [&](Var t, Var i) { return state(t - 1, i) * constant(2, "float32"); }, "update");
  const std::vector<Tensor> steps = scan({init}, {update}, {state}, "steps");
  try {
    at_size(steps, n, 5);
    FAIL() << "it was done";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kTune);
    EXPECT_EQ(e.diagnostic().what, "sizes: steps is a scan, and what varies in size must be placeholders and computes");
  }
}

}  // namespace
}  // namespace tw::te
