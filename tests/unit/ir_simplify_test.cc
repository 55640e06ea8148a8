// The simplifier: identities one by one, and equality with the original over random expressions and points.

#include <gtest/gtest.h>

#include "src/ir/equal.h"
#include "src/ir/interp.h"
#include "src/ir/simplify.h"
#include "tests/unit/depth.h"
#include "tests/unit/random_index.h"

namespace tw::ir {
namespace {

struct IndexRules : testing::Test {
  Var x{"x"}, y{"y"}, i{"i"}, j{"j"};
  Bounds bounds{{i.id(), {0, 7}}, {j.id(), {0, 15}}};

  void expect(const Expr& from, const Expr& to) {
    const Expr got = simplify(from, bounds);
    EXPECT_TRUE(equal(got, to)) << to_string(from) << " became " << to_string(got) << ", not " << to_string(to);
  }
};

TEST_F(IndexRules, SumsHaveOneForm) {
  expect(Expr(y) + x, Expr(x) + y);
  expect(Expr(x) - x, 0);
  expect(Expr(y) * 2 + (Expr(x) - y) * 2, Expr(x) * 2);
  expect((Expr(x) + 3) * 4 - 2, Expr(x) * 4 + 10);
  expect(Expr(70) - x * 16, Expr(70) - x * 16);
  expect(Expr(3) - (Expr(5) + x), Expr(x) * -1 - 2);
}

TEST_F(IndexRules, QuotientsAndRemainders) {
  expect(floordiv(Expr(x) * 16 + j, 16), x);
  expect(floormod(Expr(x) * 16 + j, 16), j);
  expect(floordiv(Expr(x) * 16 + j, 8), Expr(x) * 2 + floordiv(j, 8));
  expect(floordiv(Expr(x) * 4 + y * 8 + 3, 4), Expr(x) + Expr(y) * 2);
  expect(floordiv(floordiv(x, 3), 5), floordiv(x, 15));
  expect(floormod(floormod(x, 12), 4), floormod(x, 4));
  expect(floordiv(floormod(x, 12), 4), floormod(floordiv(x, 4), 3));
  expect(floordiv(x, 16) * 16 + floormod(x, 16), x);
  expect(floordiv(x, 64) * 64 + floormod(floordiv(x, 8), 8) * 8 + floormod(x, 8), x);
  expect(floordiv(Expr(x) * 8 + i, 64), floordiv(x, 8));
  expect(floordiv(i, 8), 0);
  expect(floormod(Expr(i) + 8, 8), i);
  expect(floormod(Expr(x) + 20, 4), floormod(x, 4));
  expect(floordiv(x, 0), 0);
  expect(floormod(x, -1), 0);
}

TEST_F(IndexRules, QuotientsAndRemaindersByVariables) {
  const Var m{"m"}, k{"k"}, size{"size"};
  bounds[m.id()] = bounds[k.id()] = {1, Interval::kPosInf};
  bounds[size.id()] = {0, Interval::kPosInf};
  const Expr f = Expr(x) * 8 + i;
  expect(floordiv(f, m) * m + floormod(f, m), f);
  expect(Expr(3) - floormod(f, m) - Expr(m) * floordiv(f, m), Expr(3) - x * 8 - i);
  expect((floordiv(x, m) + 2) * m + floormod(x, m), Expr(x) + Expr(m) * 2);
  expect(floordiv(x, m) * (Expr(m) * k) + floormod(x, m) * k + y, Expr(x) * k + y);
  const Expr row = floordiv(f, k);
  expect(floordiv(row, m) * (Expr(m) * k) + floormod(row, m) * k + floormod(f, k), f);
  const auto eight = [](const Expr& e) { return broadcast(e, 8); };
  const Expr lanes = ramp(Expr(x) * 8, 1, 8);
  expect(floordiv(lanes, eight(m)) * eight(m) + floormod(lanes, eight(m)), lanes);
  for (const Expr& other : {floordiv(x, m) * k + floormod(x, m), floordiv(y, m) * m + floormod(x, m),
                            floordiv(x, m) * m * 2 + floormod(x, m), floordiv(x, size) * size + floormod(x, size)})
    expect(other, simplify(other));
}

TEST_F(IndexRules, MinimaAndComparisons) {
  expect(min(Expr(x) + i, Expr(x) + 7), Expr(x) + i);
  expect(max(Expr(x) + 1, x), Expr(x) + 1);
  expect(min(min(x, 5), 3), min(x, 3));
  expect(min(max(x, y), x), x);
  expect(Expr(i) < 8, boolean(true));
  expect(Expr(x) * 6 + i < Expr(x) * 6 + 8, boolean(true));
  expect(Expr(x) * 16 < 70, Expr(x) < 5);
  expect(Expr(x) - 3 >= y, Expr(y) + 2 < Expr(x));
  expect(eq(Expr(x) * 2, Expr(y) * 2 + 1), boolean(false));
  expect(logical_not(Expr(x) < y), Expr(y) < Expr(x) + 1);
}

TEST_F(IndexRules, VectorsStayRamps) {
  expect(ramp(x, 1, 8) + broadcast(y, 8), ramp(Expr(x) + y, 1, 8));
  expect(ramp(x, 1, 8) * broadcast(4, 8), ramp(Expr(x) * 4, 4, 8));
  expect(floordiv(broadcast(Expr(x) * 16, 8) + ramp(0, 1, 8), broadcast(16, 8)), broadcast(x, 8));
  expect(floormod(broadcast(Expr(x) * 16, 8) + ramp(8, 1, 8), broadcast(16, 8)), ramp(8, 1, 8));
  expect(ramp(Expr(i), 1, 8) < broadcast(15, 8), broadcast(boolean(true), 8));
  expect(ramp(Expr(x) * 8, 1, 8) < broadcast(70, 8), ramp(0, 1, 8) < broadcast(Expr(70) - Expr(x) * 8, 8));
  expect(min(broadcast(Expr(x), 4), broadcast(Expr(x) + 1, 4)), broadcast(Expr(x), 4));
  expect(ramp(x, y, 4) - ramp(0, y, 4), broadcast(x, 4));
}

TEST_F(IndexRules, ConjunctionsDropWhatIsImplied) {
  expect(Expr(x) < 5 && Expr(x) < 7, Expr(x) < 5);
  expect(Expr(x) < 5 && Expr(x) > 7, boolean(false));
  expect(Expr(x) < 7 && Expr(x) < 5, Expr(x) < 5);
}

TEST_F(IndexRules, AGuardIsNotMovedPastTheLoadThatItGuards) {
  const Buffer A("A", Type::f(32), {8}, Scope::kArgument);
  const Expr guarded = (Expr(x) < 8 && load(A, {x}) < float_imm(Type::f(32), 1.0)) && Expr(x) < 5;
  expect(guarded, guarded);
}

TEST_F(IndexRules, ADiamondCostsItsNodes) {
  Expr e = x;
  for (int n = 0; n < 40; ++n) e = e + e;
  expect(e, Expr(x) * Expr(int64_t{1} << 40));
  Expr m = x;
  for (int n = 0; n < 200; ++n) m = min(m + y, m + 1);
  EXPECT_TRUE(static_cast<bool>(simplify(m, bounds)));
}

TEST_F(IndexRules, DeepTreesSimplify) {
  Expr sum = x;
  const Buffer A("A", Type::f(32), {8}, Scope::kArgument);
  Expr data = load(A, {0});
  for (int n = 0; n < test::depth(20000); ++n) {
    sum = sum + i;
    data = data + load(A, {Expr(n % 8)});
  }
  expect(sum, Expr(x) + Expr(i) * test::depth(20000));
  EXPECT_TRUE(simplify(data).same_as(data));
}

TEST_F(IndexRules, SumsThatLeave64BitsStayAndTheirTermsDoNot) {
  Expr sum = i, expected = i;
  for (int n = 0; n < 300; ++n) {
    sum = sum * 2 + max(Expr(i), Expr(i) - 1);
    expected = expected * 2 + i;
  }
  EXPECT_TRUE(equal(simplify(sum, bounds), expected));
}

// Each level mentions the one below several times: equal atoms have to be recognised without walking down.
TEST_F(IndexRules, DeepDiamondsSimplify) {
  constexpr int kLevels = test::depth(500);
  Expr clamped = i, chosen = i, divided = i;
  for (int n = 0; n < kLevels; ++n) {
    clamped = max(min(clamped + 1, 100 + n), 0);
    chosen = select(chosen < Expr(5), chosen, chosen - 1);
    divided = floordiv(divided * 3 + x, 7) + floormod(divided, 5);
  }
  EXPECT_EQ(interval_of(clamped, bounds), (Interval{kLevels, kLevels + 7}));
  EXPECT_EQ(interval_of(chosen, bounds).hi, 7);
  EXPECT_TRUE(static_cast<bool>(simplify(divided, bounds)));
}

struct DataRules : testing::Test {
  Type i8 = Type::i(8), f32 = Type::f(32);
  Var n{"n", Type::i(32)}, f{"f", Type::f(32)}, x{"x"};

  void expect(const Expr& from, const Expr& to, const Bounds& bounds = {}) {
    const Expr got = simplify(from, bounds);
    EXPECT_TRUE(equal(got, to)) << to_string(from) << " became " << to_string(got) << ", not " << to_string(to);
  }
};

TEST_F(DataRules, IntegersWrap) {
  const auto c = [&](int v) { return int_imm(Type::i(32), v); };
  expect(int_imm(i8, 127) + int_imm(i8, 1), int_imm(i8, -128));
  expect(floordiv(int_imm(i8, -128), int_imm(i8, -1)), int_imm(i8, -128));
  expect(Expr(n) + c(1) + c(2), Expr(n) + c(3));
  expect(Expr(n) * c(0), c(0));
  expect(Expr(n) - n, c(0));
  expect(Expr(n) + c(1) < Expr(n), Expr(n) + c(1) < Expr(n));  // true only where nothing wraps
  expect(cast(i8, int_imm(Type::i(32), 300)), int_imm(i8, 44));
  expect(cast(Type::index(), cast(Type::i(32), x)), x, {{x.id(), {0, 1000}}});
  expect(cast(Type::index(), cast(Type::i(32), x)), cast(Type::index(), cast(Type::i(32), x)));
}

TEST_F(DataRules, FloatsKeepTheirMeaning) {
  const auto c = [&](double v) { return float_imm(f32, v); };
  expect(Expr(f) * c(1), f);
  expect(Expr(f) * c(0), Expr(f) * c(0));  // NaN, infinities and -0
  expect(Expr(f) + c(0), Expr(f) + c(0));  // -0 + 0 is 0
  expect(Expr(f) - c(0), f);
  expect(Expr(f) - f, Expr(f) - f);
  expect(eq(f, f), eq(f, f));
  expect(c(0.1) + c(0.2), float_imm(f32, 0.1f + 0.2f));
  expect(select(Expr(f) < c(0), Expr(f), Expr(f)), f);
  expect(logical_not(Expr(f) < c(0)), logical_not(Expr(f) < c(0)));  // not the same as >= when f is NaN
  expect(float_imm(Type::f(16), 2048) + float_imm(Type::f(16), 1), float_imm(Type::f(16), 2048));
  expect(cast(f32, int_imm(Type::i(64), (int64_t{1} << 60) + 1)),
         cast(f32, int_imm(Type::i(64), (int64_t{1} << 60) + 1)));
}

struct Statements : testing::Test {
  Buffer A{"A", Type::f(32), {100}, Scope::kArgument};
  Var i{"i"}, j{"j"};
  Stmt put(const Expr& at) { return store(A, {at}, float_imm(Type::f(32), 1.0)); }

  void expect(const Stmt& from, const Stmt& to) {
    const Stmt got = simplify(from);
    EXPECT_TRUE(equal(got, to)) << to_string(from) << " became\n" << to_string(got) << "not\n" << to_string(to);
  }
};

TEST_F(Statements, LoopsOfOneAndNone) {
  expect(loop(i, 1, put(Expr(i) + 3)), put(3));
  expect(seq({loop(i, 0, put(i)), put(2)}), put(2));
  expect(loop(i, 4, seq({})), seq({}));
}

TEST_F(Statements, LoopRangesDecideConditions) {
  expect(loop(i, 10, if_then(Expr(i) < 10, put(i))), loop(i, 10, put(i)));
  expect(loop(i, 10, if_then(Expr(i) > 20, put(i), put(0))), loop(i, 10, put(0)));
}

TEST_F(Statements, ConditionsHoldInside) {
  expect(loop(i, 10, if_then(Expr(i) < 5, if_then(Expr(i) < 7, put(min(Expr(i), 6))))),
         loop(i, 10, if_then(Expr(i) < 5, put(i))));
  expect(loop(i, 10, loop(j, 10, if_then(Expr(i) + j < 5, if_then(Expr(j) * 2 + Expr(i) * 2 < 12, put(i))))),
         loop(i, 10, loop(j, 10, if_then(Expr(i) + j < 5, put(i)))));
  expect(loop(i, 10, if_then(Expr(i) < 5, put(0), if_then(Expr(i) > 3, put(i)))),
         loop(i, 10, if_then(Expr(i) < 5, put(0), put(i))));
}

TEST_F(Statements, WhatHoldsInsideDoesNotHoldAfterwards) {
  const Expr shared = min(Expr(i), 6);
  const Stmt s = loop(i, 10, seq({if_then(Expr(i) < 5, put(shared)), put(shared)}));
  expect(s, loop(i, 10, seq({if_then(Expr(i) < 5, put(i)), put(shared)})));
}

TEST_F(Statements, ALoopOfUnknownExtentHidesWhatItImplies) {
  const Stmt s = loop(i, 10, seq({loop(j, max(Expr(i) - 4, 0), put(max(Expr(i) - 4, 0))), put(max(Expr(i) - 4, 0))}));
  expect(s, s);
}

TEST_F(Statements, ALoopThatRunsHasNoFactorThatIsZero) {
  const Var n{"n"}, m{"m"};
  const Bounds sizes{{n.id(), {0, 1000}}, {m.id(), {0, 1000}}};
  const Expr whole = Expr(n) * m, flat = floordiv(i, m) * m + floormod(i, m);
  const auto expect_inside = [&](const Expr& extent, const Expr& at) {
    const Stmt got = simplify(loop(i, extent, put(flat)), sizes);
    EXPECT_TRUE(equal(got, simplify(loop(i, extent, put(at)), sizes))) << to_string(got);
  };
  expect_inside(whole, i);
  expect_inside(whole * 2, i);
  expect_inside(floordiv(whole + 7, 8), i);
  expect_inside(floordiv(floordiv(whole, 4), 4), i);
  expect_inside(min(whole, 9), i);
  expect_inside(Expr(n) + m, flat);
  expect_inside(floordiv(whole + 8, 8), flat);
  const Stmt rest = if_then(floordiv(whole, 8) < floordiv(whole + 7, 8), put(flat));
  EXPECT_EQ(to_string(simplify(seq({loop(i, 2, rest), loop(i, 2, put(flat))}), sizes)),
            to_string(simplify(
                seq({loop(i, 2, if_then(floordiv(whole, 8) < floordiv(whole + 7, 8), put(i))), loop(i, 2, put(flat))}),
                sizes)));
}

TEST_F(Statements, ConditionsOnMemoryAreNotRemembered) {
  const Expr cond = load(A, {0}) < float_imm(Type::f(32), 1.0);
  const Stmt s = if_then(cond, seq({put(0), if_then(cond, put(1))}));
  expect(s, s);
}

TEST_F(Statements, PredicatesDecided) {
  const Expr one = broadcast(float_imm(Type::f(32), 1.0), 4);
  const auto at = [&](int limit) { return store(A, {ramp(0, 1, 4)}, one, ramp(0, 1, 4) < broadcast(limit, 4)); };
  expect(at(4), store(A, {ramp(0, 1, 4)}, one));
  expect(at(0), seq({}));
  expect(at(3), at(3));
}

TEST(Random, IndexExpressionsKeepTheirValue) {
  RandomIndex random(1);
  for (int n = 0; n < 20000; ++n) {
    const Expr e = random.expression(n % 3 == 0 ? Type::boolean() : Type::index(), 4);
    const Expr got = simplify(e, random.bounds());
    for (int point = 0; point < 8; ++point) {
      random.draw();
      ASSERT_EQ(random.value(e), random.value(got))
          << to_string(e) << "\nbecame " << to_string(got) << "\nat " << random.point();
    }
    const Expr again = simplify(got, random.bounds());
    EXPECT_TRUE(equal(got, again)) << to_string(e) << "\n" << to_string(got) << "\n" << to_string(again);
  }
}

TEST(Random, SumsOfQuotientsByVariablesKeepTheirValue) {
  RandomIndex random(4);
  int whole = 0;
  for (int n = 0; n < 5000; ++n) {
    const auto any = [&] { return random.expression(Type::index(), 2); };
    const auto of = [&](const Expr& a, const Expr& b) { return random.between(0, 3) ? a : b; };
    const Expr x = any(), y = Expr(random.vars()[1]) + random.between(0, 2), u = random.between(0, 1) ? any() : Expr(1);
    const Expr quotient = floordiv(of(x, any()), of(y, any())) + random.between(-1, 1);
    const Expr sum = quotient * (of(y, any()) * u) + floormod(x, y) * of(u, any()) + any();
    const Expr got = simplify(sum, random.bounds());
    whole += to_string(got).find('%') == std::string::npos;
    for (int point = 0; point < 8; ++point) {
      random.draw();
      ASSERT_EQ(random.value(sum), random.value(got))
          << to_string(sum) << "\nbecame " << to_string(got) << "\nat " << random.point();
    }
  }
  EXPECT_GT(whole, 500);
}

TEST(Random, VectorExpressionsKeepTheirValue) {
  RandomIndex random(2);
  for (int n = 0; n < 20000; ++n) {
    const Expr e = random.expression(n % 3 == 0 ? Type::boolean(4) : Type::index(4), 4);
    const Expr got = simplify(e, random.bounds());
    for (int point = 0; point < 4; ++point) {
      random.draw();
      for (int lane = 0; lane < 4; ++lane)
        ASSERT_EQ(random.value(e, lane), random.value(got, lane))
            << to_string(e) << "\nbecame " << to_string(got) << "\nat " << random.point();
    }
  }
}

// Loops over the variables of a RandomIndex, some with extents that depend on outer ones, with conditions and lets
// between; each statement mixes an index into an element, so that order, count and subscripts of all stores show in the
// result.
class RandomNest {
 public:
  explicit RandomNest(uint64_t seed) : random_(seed) {}

  Program program() {
    Stmt body = level(0);
    const Stmt clear = loop(at_, 16, store(out_, {at_}, int_imm(Type::i(64), 1)));
    return {"nest", {{out_, true}}, seq({clear, body})};
  }

 private:
  Stmt put() {
    const Expr at = floormod(random_.expression(Type::index(), 3), 16);
    const Expr mixed =
        load(out_, {at}) * int_imm(Type::i(64), 3) + cast(Type::i(64), random_.expression(Type::index(), 3));
    return store(out_, {at}, mixed);
  }

  Stmt level(size_t depth) {
    if (depth == random_.vars().size()) return put();
    const Var& v = random_.vars()[depth];
    Expr extent = random_.between(0, 4);
    if (depth > 0 && random_.between(0, 2) == 0)
      extent = min(Expr(random_.vars()[depth - 1]) + random_.between(-1, 2), 3);
    Stmt body = level(depth + 1);
    if (random_.between(0, 2) == 0) body = seq({put_closed(depth), body});
    // Conditions mention variables of inner loops only where those are bound: above, all of them.
    if (depth + 1 == random_.vars().size()) {
      for (int64_t n = random_.between(0, 2); n > 0; --n) {
        const Expr cond = random_.expression(Type::boolean(), 2);
        body = random_.between(0, 1) ? if_then(cond, body) : if_then(cond, body, seq({put(), put()}));
      }
    }
    return loop(v, extent, body, random_.between(0, 1) ? ForKind::kSerial : ForKind::kUnrolled);
  }

  Stmt put_closed(size_t depth) {
    const Expr at = floormod(Expr(random_.vars()[depth]) * 7 + random_.between(0, 9), 16);
    return store(out_, {at}, load(out_, {at}) + int_imm(Type::i(64), 5));
  }

  RandomIndex random_;
  Buffer out_{"out", Type::i(64), {16}, Scope::kArgument};
  Var at_{"at"};
};

TEST(Random, ProgramsKeepTheirMeaning) {
  int smaller = 0;
  for (uint64_t n = 0; n < 3000; ++n) {
    const Program p = RandomNest(n).program();
    const Program q{p.name, p.params, simplify(p.body)};
    std::vector<int64_t> before(16), after(16);
    const InterpBuffer first{before.data(), 128}, second{after.data(), 128};
    const Status ran = interpret(p, {&first, 1}), again = interpret(q, {&second, 1});
    ASSERT_TRUE(ran.ok()) << ran.error().render() << to_string(p);
    ASSERT_TRUE(again.ok()) << again.error().render() << to_string(p) << to_string(q);
    ASSERT_EQ(before, after) << to_string(p) << to_string(q);
    smaller += to_string(q).size() < to_string(p).size();
  }
  EXPECT_GT(smaller, 2000);
}

TEST(Random, EqualPolynomialsAreEqualTrees) {
  RandomIndex random(3);
  for (int n = 0; n < 5000; ++n) {
    const auto [a, b] = random.equal_sums();
    const Expr left = simplify(a), right = simplify(b);
    ASSERT_TRUE(equal(left, right)) << to_string(a) << "\n"
                                    << to_string(b) << "\n"
                                    << to_string(left) << "\n"
                                    << to_string(right);
  }
}

}  // namespace
}  // namespace tw::ir
