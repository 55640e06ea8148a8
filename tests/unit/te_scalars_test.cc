// Scalars of a kernel: which are passed, which the shapes give, and which have no value.
#include <gtest/gtest.h>

#include "src/ir/parse.h"
#include "src/ir/verify.h"
#include "tensorwright/te.h"

namespace tw::te {
namespace {

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.diagnostic().what;
  }
  return "nothing refused";
}

TEST(Scalars, TheProgramNamesThem) {
  const Var n = var("n"), alpha = var("alpha", "float32");
  const Tensor A = placeholder({n, n * Expr(2)}, "float32", "A");
  const Tensor C = compute({n}, [&](Var i) { return A(i, 0) * Expr(alpha); }, "C");
  const ir::Program p = naive_program({C}, {A, C}, "f", {{alpha, 1}});
  EXPECT_TRUE(ir::verify(p).ok());
  const std::string text = ir::to_string(p);
  EXPECT_TRUE(text.starts_with("kernel f(A: float32[n, n * 2], alpha: float32, C: out float32[n], n: size):")) << text;
  const auto back = ir::parse_program(text);
  ASSERT_TRUE(back.ok()) << back.error().render();
  EXPECT_EQ(ir::to_string(*back), text);
  EXPECT_EQ(back->places, p.places);
}

TEST(Scalars, EachHasAValue) {
  const Var n = var("n"), m = var("m");
  const Tensor A = placeholder({n * Expr(2)}, "float32", "A");
  const Tensor C = compute({n * Expr(2)}, [&](Var i) { return A(i); }, "C");
  const auto with = [&](const std::vector<ScalarArgument>& given) {
    return refusal([&] { naive_program({C}, {A, C}, "f", given); });
  };
  EXPECT_EQ(with({}), "args: the variable n, which A uses, has no value");
  EXPECT_EQ(with({{n, 0}}), "nothing refused");
  EXPECT_EQ(with({{n, 0}, {m, 2}}), "nothing refused");
  EXPECT_EQ(with({{n, 0}, {n, 1}}), "args: each scalar must be named once, not n twice");
  EXPECT_EQ(with({{C.op()->compute()->axis[0].var, 0}}), "args: a scalar must be made by te.var, not the axis i");
}

TEST(Scalars, EndsOfReductionsMayBeVariables) {
  const Var n = var("n");
  const IterVar k = reduce_axis(1, n - Expr(1), "k");
  EXPECT_EQ(ir::to_string(k.extent), "n - 2");
  const Tensor A = placeholder({n}, "int32", "A");
  const auto sum_of = [&](const IterVar& r) { compute({4}, [&](Var i) { return sum(A(r.var), {r}); }, "C"); };
  EXPECT_EQ(refusal([&] { sum_of(reduce_axis(0, k.var, "r")); }),
            "compute C: the ends of reduce axis r must have bounds over the axes of compute C, not 0..k");
}

}  // namespace
}  // namespace tw::te
