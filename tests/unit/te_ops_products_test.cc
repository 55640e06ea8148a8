// Products, convolutions and kernels by name from C++: options by name, extents that are variables, complete
// parameters, and errors that stand at the caller's line.
#include <gtest/gtest.h>

#include "tensorwright/ops.h"

namespace tw::te::ops {
namespace {

std::vector<std::string> shape_of(const Tensor& t) {
  std::vector<std::string> result;
  for (const Expr& e : t.shape()) result.push_back(ir::to_string(e));
  return result;
}

using Shape = std::vector<std::string>;

TEST(OpsProducts, OptionsAreFieldsByName) {
  const Tensor x = placeholder({1, 9, 9, 4}, "float32", "x"), w = placeholder({3, 3, 4, 8}, "float32", "w");
  const Tensor y = conv2d(x, w, {.stride = {2}, .padding = {1, 0, 1, 2}, .activation = "relu", .name = "y"});
  EXPECT_EQ(shape_of(y), (Shape{"1", "5", "5", "8"}));
  EXPECT_EQ(y.name(), "y");
  ASSERT_EQ(y.op()->inputs.size(), 1u);
  EXPECT_EQ(y.op()->inputs[0].name(), "y_sum");
}

TEST(OpsProducts, ASumThatIsTheResultIsOneStage) {
  const Tensor a = placeholder({7, 13}, "uint8", "a"), b = placeholder({13, 5}, "int8", "b");
  const Tensor c = matmul(a, b, {.name = "c"});
  EXPECT_EQ(c.op()->inputs, (std::vector<Tensor>{a, b}));
  EXPECT_EQ(c.dtype(), Type::i(32));
  EXPECT_EQ(quantized_dense(a, b, {{.out_dtype = "int32"}}).op()->inputs, (std::vector<Tensor>{a, b}));
}

TEST(OpsProducts, ExtentsMayBeVariables) {
  const Var n = var("n"), h = var("h");
  const Tensor x = placeholder({n, h, 9, 4}, "float32", "x"), w = placeholder({3, 3, 4, 8}, "float32", "w");
  EXPECT_EQ(shape_of(conv2d(x, w, {.padding = {1}})), (Shape{"n", "h", "9", "8"}));
  const Tensor a = placeholder({n, h, 4}, "float32", "a"), b = placeholder({n, 4, 5}, "float32", "b");
  EXPECT_EQ(shape_of(matmul(a, b)), (Shape{"n", "h", "5"}));
}

TEST(OpsProducts, AnErrorStandsAtTheCall) {
  const Tensor x = placeholder({1, 9, 9, 4}, "float32", "x"), w = placeholder({3, 3, 5, 8}, "float32", "w");
  try {
    static_cast<void>(conv2d(x, w));
    FAIL() << "channels that do not agree were taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kExpr);
    EXPECT_EQ(e.diagnostic().what, "conv2d: channels that w reads must be as many as channels of x, 4, not 5");
    EXPECT_EQ(e.diagnostic().where.line, __LINE__ - 5);
  }
}

TEST(OpsKernels, ParametersComeBackComplete) {
  const Made made = make("dense", {{"M", "2"}, {"N", "3"}, {"K", "4"}, {"bias", "true"}});
  EXPECT_EQ(
      made.args_json,
      R"({"M":2,"N":3,"K":4,"dtype":"float32","w_dtype":"same","out_dtype":"sum","tf32":false,"transpose_b":false,)"
      R"("param":false,"bias":true,"activation":"none"})");
  EXPECT_EQ(made.parameters.size(), 11u);
  ASSERT_EQ(made.args.size(), 4u);
  EXPECT_EQ(made.args[2].name(), "bias");
  EXPECT_EQ(shape_of(made.args[3]), (Shape{"2", "3"}));
}

TEST(OpsKernels, NamesAreInOrderAndEachOnce) {
  for (size_t i = 1; i < kernels().size(); ++i) EXPECT_LT(kernels()[i - 1].name, kernels()[i].name);
}

}  // namespace
}  // namespace tw::te::ops
