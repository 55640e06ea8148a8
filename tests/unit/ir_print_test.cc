// The text form, as a person reads it. That it parses back is ir_parse_test's business.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensorwright/ir.h"

namespace tw::ir {
namespace {

const Type kF32 = Type::f(32);
Expr f32(double v) { return float_imm(kF32, v); }

TEST(IrPrint, OperatorsBindAsInPython) {
  const Expr i = Var("i"), j = Var("j"), n = Var("n");
  EXPECT_EQ(to_string(i * 16 + j), "i * 16 + j");
  EXPECT_EQ(to_string((i + j) * 16), "(i + j) * 16");
  EXPECT_EQ(to_string(i - (j - n)), "i - (j - n)");
  EXPECT_EQ(to_string(i - j - n), "i - j - n");
  EXPECT_EQ(to_string(i + -5), "i + -5");
  EXPECT_EQ(to_string(floordiv(i, 4) * 4 + floormod(i, 4)), "i // 4 * 4 + i % 4");
  EXPECT_EQ(to_string(min(i, j) < n && logical_not(eq(i, 0))), "min(i, j) < n and not i == 0");
  EXPECT_EQ(to_string(eq(i < j, boolean(true))), "(i < j) == true");
}

TEST(IrPrint, ConstantsShowTheirType) {
  EXPECT_EQ(to_string(f32(2)), "2.0");
  EXPECT_EQ(to_string(f32(0.1)), "0.1");
  EXPECT_EQ(to_string(f32(1e-5)), "1e-05");
  EXPECT_EQ(to_string(f32(-0.0)), "-0.0");
  EXPECT_EQ(to_string(float_imm(Type::f(64), 0.1)), "0.1f64");
  EXPECT_EQ(to_string(float_imm(Type::bf16(), 0.1)), "0.1bf16");
  EXPECT_EQ(to_string(f32(-INFINITY)), "-inf");
  EXPECT_EQ(to_string(float_imm(Type::f(16), NAN)), "nan_f16");
  EXPECT_EQ(to_string(int_imm(Type::u(64), -1)), "18446744073709551615u64");
  EXPECT_EQ(to_string(int_imm(Type::i(8), -128)), "-128i8");
  EXPECT_EQ(to_string(Expr(-7)), "-7");
  EXPECT_EQ(to_string(boolean(false)), "false");
}

TEST(IrPrint, VectorsAreShortBesideVectors) {
  const Buffer a("A", kF32, {70}, Scope::kArgument);
  const Expr io = Var("io"), at = ramp(io * 16, 1, 16);
  const Expr inside = ramp(0, 1, 16) < broadcast(Expr(70) - io * 16, 16);
  EXPECT_EQ(to_string(load(a, {at}, inside) * broadcast(f32(2), 16)),
            "A[io * 16 : 16 where lanes(16) < 70 - io * 16] * 2.0");
  EXPECT_EQ(to_string(broadcast(f32(2), 16)), "broadcast(2.0, 16)");
  EXPECT_EQ(to_string(broadcast(f32(2), 16) + broadcast(f32(1), 16)), "broadcast(2.0, 16) + broadcast(1.0, 16)");
  EXPECT_EQ(to_string(load(a, {ramp(io, 2, 4)})), "A[ramp(io, 2, 4)]");
}

TEST(IrPrint, StatementsLookLikePython) {
  const Buffer a("A", kF32, {70, 4}, Scope::kArgument), c("C", kF32, {70}, Scope::kArgument),
      t("t", kF32, {4}, Scope::kLocal);
  const Var i("i"), k("k"), ii("i"), x("x", kF32);
  const Stmt fill = loop(k, 4, store(t, {k}, load(a, {i, k})), ForKind::kUnrolled);
  const Stmt use = let_stmt(x, load(t, {0}), if_then(i < 69, store(c, {i}, x), store(c, {i}, f32(0))));
  const Program p{"f",
                  {{a, false}, {c, true}},
                  seq({loop(i, 70, allocate(t, seq({fill, use})), ForKind::kParallel, Tail::kPeel),
                       let_stmt(Var("y", kF32), f32(1), loop(ii, 70, store(c, {ii}, f32(1)))), store(c, {0}, f32(3))})};
  EXPECT_EQ(to_string(p),
            "kernel f(A: float32[70, 4], C: out float32[70]):\n"
            "  for i in 0..70 parallel tail=peel:\n"
            "    alloc t: float32[4] local\n"
            "    for k in 0..4 unrolled:\n"
            "      t[k] = A[i, k]\n"
            "    let x = t[0]\n"
            "    if i < 69:\n"
            "      C[i] = x\n"
            "    else:\n"
            "      C[i] = 0.0\n"
            "  let y = 1.0:\n"
            "    for i in 0..70:\n"
            "      C[i] = 1.0\n"
            "  C[0] = 3.0\n");
}

TEST(IrPrint, NamesInScopeAreUnique) {
  const Buffer a("A", kF32, {8}, Scope::kArgument), b("A", kF32, {8}, Scope::kArgument),
      odd("my tensor", kF32, {}, Scope::kArgument);
  const Var i("i"), inner("i"), fused("i*j"), word("for");
  const Stmt body =
      loop(i, 8, loop(inner, 8, loop(fused, 8, loop(word, 8, store(b, {i}, load(a, {inner}) + load(odd, {}))))));
  EXPECT_EQ(to_string(Program{"two words", {{a, false}, {b, true}, {odd, false}}, body}),
            "kernel \"two words\"(A: float32[8], A as A_1: out float32[8], \"my tensor\" as my_tensor: float32[]):\n"
            "  for i in 0..8:\n"
            "    for i_1 in 0..8:\n"
            "      for i_j in 0..8:\n"
            "        for for_1 in 0..8:\n"
            "          A_1[i] = A[i_1] + my_tensor[]\n");
}

TEST(IrPrint, ReductionsNameTheirAxesFirst) {
  const Buffer a("A", kF32, {8, 8}, Scope::kArgument);
  const Var i("i"), k("k"), l("l");
  EXPECT_EQ(to_string(reduce(ReduceOp::kSum, load(a, {k, l}), {{k, 0, 8}, {l, Expr(i) + 1, 3}})),
            "sum(k in 0..8, l in i + 1..i + 1 + 3: A[k, l])");
}

TEST(IrPrint, SharedExpressionsAreNamedWhenTheTextWouldBeLong) {
  const Buffer c("C", kF32, {}, Scope::kArgument);
  Expr e = Var("x", kF32);
  for (int i = 0; i < 60; ++i) e = e * e + 1;
  const std::string text = to_string(store(c, {}, e));
  EXPECT_LT(text.size(), 3000u);
  EXPECT_NE(text.find("%2 = %1 * %1 + 1.0\n"), text.npos) << text;
}

TEST(IrPrint, AccessByOffsetIsMarked) {
  const Buffer c("C", kF32, {4, 4}, Scope::kArgument);
  BufferNode flat = *c.operator->();
  flat.shape = {16};
  EXPECT_EQ(to_string(Program{"f", {{c, true}}, store(Buffer(flat), {5}, f32(1))}),
            "kernel f(C: out float32[4, 4]):\n  C@[5] = 1.0\n");
}

}  // namespace
}  // namespace tw::ir
