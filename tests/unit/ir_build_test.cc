// Nodes as they are built: types, wrapping, rounding, hashes, and trees of any depth.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/ir/equal.h"
#include "tensorwright/ir.h"

namespace tw::ir {
namespace {

TEST(IrType, TextRoundTrip) {
  for (const char* name : {"bool", "index", "int8", "uint64", "float16", "bfloat16", "float64", "float32x16", "boolx8",
                           "indexx4", "bfloat16x2"}) {
    ASSERT_TRUE(parse_type(name)) << name;
    EXPECT_EQ(to_string(*parse_type(name)), name);
  }
  for (const char* name : {"", "x", "int", "int7", "float32x", "float32x1", "float32x0", "float32x70000", "float32x-2",
                           "boolx", "float32x4x4"}) {
    EXPECT_FALSE(parse_type(name)) << name;
  }
}

TEST(IrType, RoundsToNearestEven) {
  EXPECT_EQ(round_to(Type::f(16), 2049.0), 2048.0);
  EXPECT_EQ(round_to(Type::f(16), 2051.0), 2052.0);
  EXPECT_EQ(round_to(Type::f(16), 65519.0), 65504.0);
  EXPECT_EQ(round_to(Type::f(16), 65520.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(Type::f(16), -0x1p-24 * 0.75), -0x1p-24);
  EXPECT_EQ(round_to(Type::f(16), 0x1p-25), 0.0);
  EXPECT_EQ(round_to(Type::bf16(), 257.0), 256.0);
  EXPECT_EQ(round_to(Type::bf16(), 259.0), 260.0);
  EXPECT_EQ(round_to(Type::f(32), 0.1), static_cast<double>(0.1f));
  EXPECT_TRUE(std::signbit(round_to(Type::f(16), -0.0)));
  EXPECT_TRUE(std::isnan(round_to(Type::bf16(), std::nan(""))));
}

TEST(IrBuild, ConstantsWrapToTheirType) {
  EXPECT_EQ(as_int(int_imm(Type::i(8), 200)), -56);
  EXPECT_EQ(as_int(int_imm(Type::u(8), -1)), 255);
  EXPECT_EQ(as_int(int_imm(Type::u(64), -1)), -1);
  EXPECT_EQ(as_int(boolean(true)), 1);
  EXPECT_EQ(as_int(int_imm(Type::i(32, 8), 7)), 7);
  EXPECT_EQ(as_int(type_min(Type::i(16))), -32768);
  EXPECT_EQ(as_int(type_max(Type::u(16))), 65535);
  EXPECT_EQ(as_int(Expr(1000)), 1000);
  EXPECT_FALSE(as_int(float_imm(Type::f(32), 1)));
}

TEST(IrBuild, TypesFollowTheRules) {
  const Expr x = Var("x", Type::f(32)), i = Var("i");
  EXPECT_EQ((x + 1).type(), Type::f(32));
  EXPECT_EQ((i < 3).type(), Type::boolean());
  EXPECT_EQ(ramp(i, 1, 8).type(), Type::index(8));
  EXPECT_EQ(broadcast(x, 4).type(), Type::f(32, 4));
  EXPECT_TRUE(broadcast(x, 1).same_as(x));
  EXPECT_TRUE(cast(Type::f(32), x).same_as(x));
  const Buffer a("A", Type::f(32), {8, 8}, Scope::kArgument);
  EXPECT_EQ(load(a, {i, ramp(0, 1, 8)}).type(), Type::f(32, 8));
  EXPECT_EQ(identity_of(ReduceOp::kMax, Type::i(8)).type(), Type::i(8));
}

TEST(IrBuild, BrokenRulesAreRefused) {
  const Expr x = Var("x", Type::f(32)), y = Var("y", Type::f(64)), i = Var("i");
  const Buffer a("A", Type::f(32), {8, 8}, Scope::kArgument);
  EXPECT_THROW(binary(BinOp::kAdd, x, y), Error);
  EXPECT_THROW(binary(BinOp::kDiv, i, i), Error);
  EXPECT_THROW(binary(BinOp::kFloorDiv, x, x), Error);
  EXPECT_THROW(binary(BinOp::kAnd, i, i), Error);
  EXPECT_THROW(binary(BinOp::kShl, i, i), Error);
  EXPECT_THROW(select(x, x, x), Error);
  EXPECT_THROW(select(boolean(true), x, y), Error);
  EXPECT_THROW(load(a, {i}), Error);
  EXPECT_THROW(load(a, {i, x}), Error);
  EXPECT_THROW(load(a, {ramp(0, 1, 4), ramp(0, 1, 8)}), Error);
  EXPECT_THROW(load(a, {i, i}, broadcast(boolean(true), 4)), Error);
  EXPECT_THROW(store(a, {i, i}, y), Error);
  EXPECT_THROW(call(Fn::kExp, {i}), Error);
  EXPECT_THROW(call(Fn::kPow, {x}), Error);
  EXPECT_THROW(reinterpret(Type::i(64), x), Error);
  EXPECT_THROW(ramp(x, x, 4), Error);
  EXPECT_THROW(cast(Type::f(32, 4), x), Error);
  EXPECT_THROW(loop(Var("v", Type::i(32)), 4, seq({})), Error);
}

TEST(IrBuild, SequencesAreFlat) {
  const Buffer a("A", Type::f(32), {}, Scope::kArgument);
  const Stmt s = store(a, {}, float_imm(Type::f(32), 0));
  EXPECT_TRUE(seq({s}).same_as(s));
  EXPECT_EQ(as<Seq>(seq({seq({s, s}), s}))->stmts.size(), 3u);
  EXPECT_TRUE(as<Seq>(seq({}))->stmts.empty());
}

TEST(IrBuild, HashesDoNotSeeNamesOfBoundVariables) {
  const auto summed = [](const Var& k) { return reduce(ReduceOp::kSum, cast(Type::f(32), Expr(k)), {{k, 0, 8}}); };
  EXPECT_EQ(summed(Var("k")).hash(), summed(Var("r")).hash());
  EXPECT_NE(Expr(Var("k")).hash(), Expr(Var("k")).hash());
}

TEST(IrBuild, DeepTreesAreDestroyedWithoutRecursion) {
  Expr chain = Var("x", Type::f(32));
  for (int i = 0; i < 1000000; ++i) chain = chain + 1;
  const Buffer a("A", Type::f(32), {}, Scope::kArgument);
  Stmt nest = store(a, {}, chain);
  for (int i = 0; i < 200000; ++i) nest = loop(Var("i"), 2, nest);
  SUCCEED();
}

}  // namespace
}  // namespace tw::ir
