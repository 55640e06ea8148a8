// What code for AArch64 is made of, read from its assembly.
#include <gtest/gtest.h>

#include "tensorwright/build.h"
#include "tests/unit/autotune_templates.h"

namespace tw {
namespace {

#if TW_LLVM

Target n1() { return Target::parse("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1").value_or_throw(); }

std::string assembly(const std::vector<te::Tensor>& args) {
  return build(default_schedule({args.back()}, n1()), args, n1(), "k")->source("asm");
}

// Instructions of that name, lines of the text that begin with it.
int count(const std::string& text, const std::string& instruction) {
  int found = 0;
  const std::string line = "\n\t" + instruction + "\t";
  for (size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) ++found;
  return found;
}

std::string of_floats(te::Expr (*function)(te::Expr), const char* dtype = "float32") {
  const te::Tensor x = te::placeholder({1024}, dtype, "x");
  return assembly({x, te::compute({1024}, [&](te::Var i) { return function(x(i)); }, "y")});
}

TEST(CodegenAArch64, ProductsAreFusedWithTheirSums) {
  for (const char* dtype : {"float32", "float64"}) {
    SCOPED_TRACE(dtype);
    const te::Tensor A = te::placeholder({257, 512}, dtype, "A"), B = te::placeholder({512, 513}, dtype, "B");
    const te::IterVar k = te::reduce_axis(0, 512, "k");
    const te::Tensor C =
        te::compute({257, 513}, [&](te::Var i, te::Var j) { return te::sum(A(i, k) * B(k, j), {k}); }, "C");
    const std::string text = assembly({A, B, C});
    EXPECT_GE(count(text, "fmla"), 32);
    EXPECT_EQ(count(text, "fmul"), 0);
    EXPECT_EQ(count(text, "fadd"), 0);
  }
}

TEST(CodegenAArch64, RoundingIsAnInstruction) {
  EXPECT_GE(count(of_floats(te::floor), "frintm"), 1);
  EXPECT_GE(count(of_floats(te::ceil), "frintp"), 1);
  EXPECT_GE(count(of_floats(te::trunc), "frintz"), 1);
}

TEST(CodegenAArch64, HalvesAreConvertedByInstructions) {
  const auto doubled = [](te::Expr x) { return ir::cast(ir::Type::f(32), x) * te::constant(2, "float32"); };
  const std::string text = of_floats(doubled, "float16");
  EXPECT_GE(count(text, "fcvtl"), 1);
}

#else
TEST(CodegenAArch64, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
