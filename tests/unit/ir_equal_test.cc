// Structural equality: up to renaming of what is bound, exact about types and constants.
#include <gtest/gtest.h>

#include <cmath>

#include "src/ir/equal.h"
#include "tests/unit/depth.h"

namespace tw::ir {
namespace {

Stmt zeroed(const Buffer& b, const char* name, int extent = 8) {
  const Var i(name);
  return loop(i, extent, store(b, {i}, float_imm(b.element(), 0)));
}

TEST(IrEqual, FreeVariablesById) {
  const Var i("i"), other("i");
  EXPECT_TRUE(equal(Expr(i) + 1, Expr(i) + 1));
  EXPECT_FALSE(equal(Expr(i) + 1, Expr(other) + 1));
  EXPECT_FALSE(equal(Expr(i) + 1, Expr(i) + 2));
}

TEST(IrEqual, ConstantsExactly) {
  const Type f32 = Type::f(32);
  EXPECT_FALSE(equal(float_imm(f32, 0.0), float_imm(f32, -0.0)));
  EXPECT_TRUE(equal(float_imm(f32, NAN), float_imm(f32, -NAN)));
  EXPECT_FALSE(equal(float_imm(f32, 1), float_imm(Type::f(64), 1)));
  EXPECT_FALSE(equal(int_imm(Type::i(32), 1), int_imm(Type::u(32), 1)));
}

TEST(IrEqual, BoundVariablesUpToRenaming) {
  const Buffer a("A", Type::f(32), {8}, Scope::kArgument), b("A", Type::f(32), {8}, Scope::kArgument);
  EXPECT_TRUE(equal(zeroed(a, "i"), zeroed(a, "j")));
  EXPECT_FALSE(equal(zeroed(a, "i"), zeroed(a, "i", 9)));
  EXPECT_FALSE(equal(zeroed(a, "i"), zeroed(b, "i")));
}

TEST(IrEqual, SwappedVariablesDiffer) {
  const Buffer a("A", Type::f(32), {8, 8}, Scope::kArgument);
  const Var i("i"), j("j"), k("k"), l("l");
  const Expr zero = float_imm(Type::f(32), 0);
  const Stmt straight = loop(i, 8, loop(j, 8, store(a, {i, j}, zero)));
  EXPECT_TRUE(equal(straight, loop(k, 8, loop(l, 8, store(a, {k, l}, zero)))));
  EXPECT_FALSE(equal(straight, loop(k, 8, loop(l, 8, store(a, {l, k}, zero)))));
}

TEST(IrEqual, ProgramsUpToTheirParameters) {
  const Buffer a("A", Type::f(32), {8}, Scope::kArgument), b("A", Type::f(32), {8}, Scope::kArgument);
  const Buffer c("C", Type::f(32), {8}, Scope::kArgument), d("A", Type::f(32), {9}, Scope::kArgument);
  const Program p{"k", {{a, true}}, zeroed(a, "i")};
  EXPECT_TRUE(equal(p, Program{"k", {{b, true}}, zeroed(b, "j")}));
  EXPECT_FALSE(equal(p, Program{"k", {{b, false}}, zeroed(b, "j")}));
  EXPECT_FALSE(equal(p, Program{"other", {{b, true}}, zeroed(b, "j")}));
  EXPECT_FALSE(equal(p, Program{"k", {{c, true}}, zeroed(c, "j")}));
  EXPECT_FALSE(equal(p, Program{"k", {{d, true}}, zeroed(d, "j")}));
}

TEST(IrEqual, DiamondsAndChainsAreCheap) {
  const auto diamond = [](Expr e) {
    for (int i = 0; i < 100; ++i) e = e + e;
    return e;
  };
  const auto chain = [](Expr e) {
    for (int i = 0; i < test::depth(100000); ++i) e = e + 1;
    return e;
  };
  const Expr x = Var("x", Type::f(32));
  EXPECT_TRUE(equal(diamond(x), diamond(x)));
  EXPECT_FALSE(equal(diamond(x), diamond(x + 1)));
  EXPECT_TRUE(equal(chain(x), chain(x)));
}

}  // namespace
}  // namespace tw::ir
