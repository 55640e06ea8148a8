// Walks, rewriting, substitution and refreshing: each distinct node once, what is not touched stays the same node.
#include <gtest/gtest.h>

#include "src/ir/equal.h"
#include "src/ir/verify.h"
#include "src/ir/walk.h"
#include "tests/unit/random_ir.h"

namespace tw::ir {
namespace {

const Type kF32 = Type::f(32);

Expr diamond(Expr e) {
  for (int i = 0; i < 200; ++i) e = e * e;
  return e;
}

TEST(IrWalk, VisitsEachNodeOnceParentsFirst) {
  const Expr x = Var("x", kF32), y = Var("y", kF32), sum = x + y, square = sum * sum;
  std::vector<Expr> seen;
  walk(square, [&](const Expr& e) { return seen.push_back(e), true; });
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_TRUE(seen[0].same_as(square));
  EXPECT_TRUE(seen[1].same_as(sum));
  EXPECT_TRUE(seen[2].same_as(x));
  EXPECT_TRUE(seen[3].same_as(y));
}

TEST(IrWalk, FalseSkipsTheChildren) {
  const Expr x = Var("x", kF32);
  int visits = 0;
  walk(x + x * x, [&](const Expr& e) { return ++visits, as<Binary>(e)->op != BinOp::kAdd; });
  EXPECT_EQ(visits, 1);
}

TEST(IrWalk, DiamondsCostTheirNodes) {
  const Var x("x", kF32), y("y", kF32);
  const Expr d = diamond(x);
  int visits = 0;
  walk(d, [&](const Expr&) { return ++visits, true; });
  EXPECT_EQ(visits, 201);
  EXPECT_TRUE(equal(substitute(d, {{x.id(), y}}), diamond(y)));
  EXPECT_TRUE(uses_var(d, x));
  EXPECT_FALSE(uses_var(d, y));
}

TEST(IrWalk, WhatDoesNotChangeStaysTheSameNode) {
  const Var x("x", kF32), y("y", kF32);
  const Expr kept = Expr(y) * 2, e = Expr(x) + kept;
  const Expr replaced = substitute(e, {{x.id(), float_imm(kF32, 1)}});
  EXPECT_TRUE(as<Binary>(replaced)->b.same_as(kept));
  EXPECT_TRUE(substitute(kept, {{x.id(), float_imm(kF32, 1)}}).same_as(kept));
}

TEST(IrWalk, WiderOperandsMakeWiderNodes) {
  const Buffer a("A", kF32, {64}, Scope::kArgument);
  const Var i("i");
  const Expr e = select(load(a, {i}) < load(a, {i}), cast(Type::f(64), load(a, {i})), cast(Type::f(64), load(a, {i})));
  EXPECT_EQ(substitute(e, {{i.id(), ramp(0, 1, 8)}}).type(), Type::f(64, 8));
}

TEST(IrWalk, RewriteSeesRewrittenChildren) {
  const Expr x = Var("x", kF32);
  const Expr doubled = rewrite(x + x, [](const Expr& e) { return as<VarRef>(e) ? e * 2 : e; });
  EXPECT_TRUE(equal(doubled, x * 2 + x * 2));
}

TEST(IrWalk, VariablesOfAnAllocationsExtents) {
  const Var n("n");
  const Buffer t("t", kF32, {Expr(n) * 2}, Scope::kGlobal);
  const Stmt s = allocate(t, store(t, {0}, load(t, {0})));
  ASSERT_EQ(free_vars(s).size(), 1u);
  EXPECT_EQ(free_vars(s)[0], n);
  EXPECT_TRUE(uses_var(s, n));
}

TEST(IrWalk, FreeAndUsed) {
  const Buffer a("A", kF32, {8}, Scope::kArgument), t("t", kF32, {8}, Scope::kLocal);
  const Var i("i"), n("n"), m("m");
  const Stmt s = loop(i, n, allocate(t, seq({store(t, {i}, load(a, {m})), store(a, {i}, load(t, {i}))})));
  ASSERT_EQ(free_vars(s).size(), 2u);
  EXPECT_EQ(free_vars(s)[0], n);
  EXPECT_EQ(free_vars(s)[1], m);
  ASSERT_EQ(free_buffers(s).size(), 1u);
  EXPECT_EQ(free_buffers(s)[0], a);
  EXPECT_EQ(used_vars(s).size(), 3u);
  EXPECT_TRUE(has_load(load(a, {0}) + 1));
  EXPECT_FALSE(has_load(Expr(i) + 1));
}

TEST(IrWalk, BuffersAreReplacedInLoadsAndStores) {
  const Buffer a("A", kF32, {8}, Scope::kArgument), b("B", kF32, {8}, Scope::kArgument);
  const Var i("i");
  const auto copy = [&](const Buffer& x) { return loop(i, 8, store(x, {i}, load(x, {i}) + 1)); };
  EXPECT_TRUE(equal(replace_buffers(copy(a), {{a.id(), b}}), copy(b)));
}

TEST(IrWalk, RefreshedCopiesMayStandBesideTheOriginal) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Program p = RandomProgram(seed).make();
    ASSERT_TRUE(verify(p).ok()) << verify(p).error().render() << to_string(p);
    EXPECT_TRUE(equal(refresh(p.body), p.body));
    p.body = seq({p.body, refresh(p.body), refresh(p.body)});
    EXPECT_TRUE(verify(p).ok()) << verify(p).error().render() << to_string(p);
  }
}

TEST(IrWalk, RefreshGivesEachPlaceOfASharedStatementItsOwnVariables) {
  const Buffer a("A", kF32, {8}, Scope::kArgument);
  const Var i("i");
  const Stmt fill = loop(i, 8, store(a, {i}, cast(kF32, Expr(i) * 2)));
  EXPECT_FALSE(verify(Program{"f", {{a, true}}, seq({fill, fill})}).ok());
  EXPECT_TRUE(verify(Program{"f", {{a, true}}, refresh(seq({fill, fill}))}).ok());
}

}  // namespace
}  // namespace tw::ir
