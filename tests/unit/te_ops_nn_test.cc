// Stock operators from C++: options by name, results of several tensors, and errors that stand at the caller's line.
// What they compute is compared with PyTorch in tests/python, what they mean stands in tests/golden/ops.
#include <gtest/gtest.h>

#include "te/ops/activation.h"
#include "tensorwright/ops.h"

namespace tw::te::ops {
namespace {

Tensor input(std::vector<Expr> shape, const char* dtype = "float32") {
  return placeholder(std::move(shape), dtype, "x");
}

std::vector<int64_t> extents(const Tensor& t) {
  std::vector<int64_t> result;
  for (const Expr& e : t.shape()) result.push_back(ir::as_int(e).value_or(-1));
  return result;
}

TEST(Ops, OptionsAreFieldsByName) {
  const Tensor x = input({2, 9, 9, 4});
  const Tensor y = max_pool2d(x, {.kernel = {3}, .stride = {2}, .padding = {1}, .name = "pooled"});
  EXPECT_EQ(y.name(), "pooled");
  EXPECT_EQ(extents(y), (std::vector<int64_t>{2, 5, 5, 4}));
  EXPECT_EQ(extents(sum(x, {.axis = {1, -2}, .keepdims = true})), (std::vector<int64_t>{2, 1, 1, 4}));
  EXPECT_EQ(extents(sum(x)), std::vector<int64_t>{});
  EXPECT_EQ(argmax(x, {.dtype = "int64"}).dtype(), ir::Type::i(64));
}

TEST(Ops, SeveralResults) {
  const std::vector<Tensor> parts = split(input({6, 5}), {.at = {1, 4}});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(extents(parts[1]), (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(parts[2].name(), "split2");
  EXPECT_EQ(batch_norm_training(input({3, 4, 5})).size(), 3u);
}

TEST(Ops, ExtentsMayBeVariables) {
  const Var n = var("n");
  const Tensor x = placeholder({n, 6}, "float32", "x");
  EXPECT_EQ(ir::to_string(reshape(x, {.shape = {-1, 3}}).shape()[0]), ir::to_string(Expr(n) * Expr(2)));
  EXPECT_EQ(ir::to_string(concat({x, x}).shape()[0]), ir::to_string(Expr(n) * Expr(2)));
  EXPECT_THROW(static_cast<void>(split(x, {.sections = 2})), Error);
}

TEST(Ops, AnErrorStandsAtTheCall) {
  try {
    static_cast<void>(softmax(input({3, 4}), {.axis = 2}));
    FAIL() << "an axis that is none was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kExpr);
    EXPECT_TRUE(e.diagnostic().where.file.ends_with("te_ops_nn_test.cc")) << e.diagnostic().where.file;
    EXPECT_EQ(e.diagnostic().what, "softmax: axis must lie in -2..1, not 2");
  }
}

TEST(Ops, ActivationsByName) {
  const Site site{"dense", {}};
  const Expr x = ir::float_imm(ir::Type::f(16), 1);
  EXPECT_TRUE(activate(site, "none", x).same_as(x));
  EXPECT_EQ(activate(site, "gelu", x).type(), ir::Type::f(16));
  EXPECT_THROW(static_cast<void>(activate(site, "gelo", x)), Error);
  EXPECT_THROW(static_cast<void>(activate(site, "silu", ir::int_imm(ir::Type::i(32), 1))), Error);
}

}  // namespace
}  // namespace tw::te::ops
