// Intervals hold every value, symbolic ones too, and are tight where bounds inference needs numbers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/ir/equal.h"
#include "src/ir/interval.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "tests/unit/random_index.h"

namespace tw::ir {
namespace {

struct Proofs : testing::Test {
  Var io{"io"}, ii{"ii"}, x{"x"}, y{"y"};
  Bounds bounds{{io.id(), {0, 42}}, {ii.id(), {0, 5}}, {y.id(), {0, 3}}};
};

TEST_F(Proofs, AffineIntervalsAreExact) {
  EXPECT_EQ(interval_of(Expr(io) * 6 + ii, bounds), (Interval{0, 257}));
  EXPECT_EQ(interval_of(Expr(ii) - Expr(io) * 2 + ii, bounds), (Interval{-84, 10}));
  EXPECT_EQ(interval_of(Expr(io) - io, bounds), (Interval{0, 0}));
  EXPECT_EQ(interval_of(x, bounds), Interval::everything());
  EXPECT_EQ(interval_of(floormod(x, 8), bounds), (Interval{0, 7}));
  EXPECT_EQ(interval_of(ramp(io, 2, 8), bounds), (Interval{0, 56}));
}

TEST_F(Proofs, DataMayWrap) {
  const Var b("b", Type::u(8));
  EXPECT_EQ(interval_of(b, {}), (Interval{0, 255}));
  const Expr wide(Var("wide", Type::u(64)));  // past 2^63 it is negative as an index
  EXPECT_EQ(interval_of(cast(Type::index(), wide), {}), Interval::everything());
  EXPECT_EQ(interval_of(cast(Type::index(), min(wide, int_imm(Type::u(64), 7))), {}), (Interval{0, 7}));
  EXPECT_EQ(interval_of(Expr(b) + int_imm(Type::u(8), 1), {}), (Interval{0, 255}));
  EXPECT_EQ(interval_of(cast(Type::i(32), Expr(b)) + int_imm(Type::i(32), 1), {}), (Interval{1, 256}));
}

TEST_F(Proofs, FloatsOfIndicesRound) {
  const Type f32 = Type::f(32), f64 = Type::f(64), i32 = Type::i(32);
  const auto rounded = [&](const Expr& e) { return interval_of(cast(i32, e), bounds); };
  const Expr j = cast(f32, Expr(io));  // 0 .. 42
  EXPECT_EQ(rounded(j * float_imm(f32, 0.40625)), (Interval{0, 17}));
  EXPECT_EQ(rounded((j + float_imm(f32, 0.5)) * float_imm(f32, 0.5) - float_imm(f32, 0.5)), (Interval{0, 20}));
  EXPECT_EQ(rounded(j * float_imm(f32, -0.5)), (Interval{-21, 0}));
  EXPECT_EQ(rounded(call(Fn::kFloor, {j * float_imm(f32, -0.25)})), (Interval{-11, 0}));
  EXPECT_EQ(rounded(binary(BinOp::kDiv, j, float_imm(f32, 4))), (Interval{0, 10}));
  EXPECT_EQ(interval_of(cast(Type::u(8), j * float_imm(f32, 100)), bounds), (Interval{0, 255}));
  EXPECT_EQ(rounded(binary(BinOp::kDiv, j, j - float_imm(f32, 7))), range_of(i32));
  EXPECT_EQ(interval_of(cast(Type::boolean(), j * float_imm(f32, 0.001)), bounds), (Interval{0, 1}));
  EXPECT_EQ(rounded(cast(f64, Expr(ii)) * float_imm(f64, 0.1) * float_imm(f64, 10)), (Interval{0, 5}));
}

// A product may be rounded before it is added to, or not.
TEST_F(Proofs, FloatsOfIndicesHoldFusedSumsToo) {
  const Type f32 = Type::f(32);
  for (const float scale : {0.1F, 1.0F / 3, 0.40625F, 2.7F, -0.3F})
    for (const float offset : {-14.0F, 0.0F, 0.3F, 4.2F, -0.1F}) {
      const Expr at = cast(f32, Expr(io)) * float_imm(f32, scale) + float_imm(f32, offset);
      const Interval got = interval_of(cast(Type::i(32), call(Fn::kFloor, {at * float_imm(f32, 3)})), bounds);
      int64_t least = INT64_MAX, most = INT64_MIN;
      for (int i = 0; i <= 42; ++i) {
        const auto x = static_cast<float>(i);
        const float product = x * scale;
        for (const float sum : {product + offset, std::fma(x, scale, offset)}) {
          least = std::min(least, static_cast<int64_t>(std::floor(sum * 3)));
          most = std::max(most, static_cast<int64_t>(std::floor(sum * 3)));
        }
      }
      EXPECT_LE(got.lo, least);
      EXPECT_LE(least, got.lo + 1);
      EXPECT_LE(most, got.hi);
      EXPECT_LE(got.hi, most + 1);
    }
}

TEST_F(Proofs, CommonTermsCancel) {
  EXPECT_TRUE(can_prove(Expr(io) * 6 + ii < 258, bounds));
  EXPECT_FALSE(can_prove(Expr(io) * 6 + ii < 257, bounds));
  EXPECT_TRUE(can_prove(Expr(x) * 6 + ii < Expr(x) * 6 + 6, bounds));
  EXPECT_TRUE(can_disprove(Expr(x) + ii < x, bounds));
  EXPECT_TRUE(can_prove(min(Expr(x) * 16, 241) + ii < Expr(x) * 16 + 6, bounds));
  EXPECT_TRUE(can_prove(min(Expr(x) * 16, 241) + 15 < 257, bounds));
  EXPECT_TRUE(can_prove(floordiv(x, 4) * 4 <= Expr(x), bounds));
  EXPECT_TRUE(can_prove(Expr(x) - floordiv(x, 4) * 4 < 4, bounds));
  EXPECT_TRUE(can_prove(floordiv(Expr(x) + 3, 4) <= floordiv(x, 4) + 1, bounds));
  EXPECT_TRUE(can_prove(max(Expr(x) - 1, 0) >= Expr(x) - 1, bounds));
  EXPECT_TRUE(can_prove(floormod(io, 8) <= Expr(io), bounds));
  EXPECT_TRUE(can_prove(select(Expr(x) < y, Expr(io) + 1, Expr(io)) - io < 2, bounds));
  EXPECT_TRUE(can_prove(Expr(x) < 5 || Expr(x) >= 5, bounds));
}

TEST_F(Proofs, ConditionsNarrowWhatTheyCompare) {
  const auto where = [&](const Expr& condition) { return bounds_where(condition, bounds).at(io.id()); };
  EXPECT_EQ(where(Expr(io) < 7), (Interval{0, 6}));
  EXPECT_EQ(where(floordiv(io, 8) <= 1), (Interval{0, 15}));
  EXPECT_EQ(where(floordiv(Expr(io) + 3, 8) <= 1), (Interval{0, 12}));
  EXPECT_EQ(where(floordiv(io, 8) >= 2), (Interval{16, 42}));
  EXPECT_EQ(where(logical_not(floordiv(io, 8) <= 1)), (Interval{16, 42}));
  EXPECT_EQ(where(floordiv(io, 8) * 5 + ii < 10), (Interval{0, 15}));
  EXPECT_EQ(where(eq(floordiv(io, 8), 0)), (Interval{0, 7}));
  EXPECT_EQ(where(floordiv(io, 8) < int64_t{1} << 62), (Interval{0, 42}));
}

TEST_F(Proofs, ManyMinimaCostLittle) {
  Expr sum = x;
  for (int n = 0; n < 5; ++n) sum = sum + min(Expr(x) * n, Expr(y) * (n + 1)) - max(Expr(x) - n, Expr(io) * n);
  for (int n = 0; n < 100; ++n) EXPECT_FALSE(can_prove(sum < Expr(x) - 1000 - n, bounds));
}

struct SymbolicEnds : testing::Test {
  Var o{"o"}, i{"i"}, j{"j"};
  Bounds outer{{o.id(), {0, 100}}};
  std::unordered_map<uint64_t, Expr> inner{{i.id(), Expr(16)}, {j.id(), Expr(3)}};

  void expect(const Expr& e, const Expr& lo, int64_t width) {
    const SymbolicInterval got = symbolic_interval(e, inner, outer);
    ASSERT_TRUE(got.known) << to_string(e);
    EXPECT_TRUE(equal(simplify(got.lo, outer), simplify(lo, outer)))
        << to_string(e) << ": " << to_string(got.lo) << " .. " << to_string(got.hi);
    EXPECT_EQ(as_int(simplify(got.hi - got.lo, outer)), width)
        << to_string(e) << ": " << to_string(got.lo) << " .. " << to_string(got.hi);
  }
};

TEST_F(SymbolicEnds, Affine) {
  expect(Expr(o) * 16 + i, Expr(o) * 16, 15);
  expect(Expr(o) * 16 + i + j - 1, Expr(o) * 16 - 1, 17);
  expect(Expr(o) - i, Expr(o) - 15, 15);
  expect(7, 7, 0);
}

TEST_F(SymbolicEnds, QuotientsAndRemainders) {
  expect(floordiv(Expr(o) * 16 + i, 4), Expr(o) * 4, 3);
  expect(floordiv(Expr(o) * 16 + i, 16), o, 0);
  expect(floormod(Expr(o) * 16 + i, 16), 0, 15);
  expect(floordiv(Expr(o) * 3 + j, 4), floordiv(Expr(o) * 3, 4), 1);
  expect(floordiv(Expr(o) * 6 + j, 8), floordiv(Expr(o) * 3, 4), 1);
  expect(floormod(Expr(o) * 3 + j, 4), 0, 3);
  expect(floordiv(Expr(o) * 16 + i, 64), floordiv(o, 4), 0);
  expect(floormod(Expr(o) * 16 + i, 64), floormod(o, 4) * 16, 15);
}

TEST_F(SymbolicEnds, ClampsKeepANumber) {
  const Expr shifted = min(Expr(o) * 16, 241) + i;
  expect(shifted, min(Expr(o) * 16, 241), 15);
  const SymbolicInterval clamped = symbolic_interval(min(Expr(o) * 16 + i, 256), inner, outer);
  ASSERT_TRUE(clamped.known);
  EXPECT_EQ(interval_of(clamped.hi - clamped.lo, outer).hi, 15);
  const SymbolicInterval padded = symbolic_interval(max(min(Expr(o) * 16 + i + j - 1, 256), 0), inner, outer);
  ASSERT_TRUE(padded.known);
  EXPECT_EQ(interval_of(padded.hi - padded.lo, outer).hi, 17);
}

TEST_F(SymbolicEnds, FusedAxes) {
  const Expr f = Expr(o) * 16 + i;  // of rows of 513
  expect(floordiv(f, 513), floordiv(Expr(o) * 16, 513), 1);
  expect(floormod(f, 513), 0, 512);
  const Expr aligned = Expr(o) * 16 + i;  // of rows of 64
  expect(floordiv(aligned, 64) * 64 + floormod(aligned, 64), Expr(o) * 16, 15);
}

TEST_F(SymbolicEnds, ExtentsMayBeSymbolic) {
  inner[i.id()] = min(Expr(16), Expr(257) - Expr(o) * 16);
  const SymbolicInterval got = symbolic_interval(Expr(o) * 16 + i, inner, outer);
  ASSERT_TRUE(got.known);
  EXPECT_TRUE(equal(got.lo, Expr(o) * 16));
  EXPECT_EQ(interval_of(got.hi - got.lo, outer).hi, 15);
}

TEST_F(SymbolicEnds, UnknownValuesAreSaidToBeUnknown) {
  const Buffer A("A", Type::i(32), {100}, Scope::kArgument);
  const Expr gathered = cast(Type::index(), load(A, {i}));
  const SymbolicInterval got = symbolic_interval(gathered, inner, outer);
  ASSERT_TRUE(got.known);  // int32 has ends
  EXPECT_EQ(as_int(got.hi), 2147483647);
  const Buffer B("B", Type::i(64), {100}, Scope::kArgument);
  EXPECT_FALSE(symbolic_interval(cast(Type::index(), load(B, {i})), inner, outer).known);
}

TEST(Random, IntervalsHoldEveryValue) {
  RandomIndex random(4);
  for (int n = 0; n < 20000; ++n) {
    const Expr e = random.expression(Type::index(n % 2 ? 1 : 4), 4);
    const Interval got = interval_of(e, random.bounds());
    for (int point = 0; point < 8; ++point) {
      random.draw();
      const int64_t v = random.value(e, n % 4);
      ASSERT_TRUE(got.lo <= v && v <= got.hi)
          << to_string(e) << " is " << v << ", not in " << got.lo << ".." << got.hi << " at " << random.point();
    }
  }
}

// Variables 0..2 run, 3 and 4 stand still: every value lies between the ends, which mention only what stands still.
TEST(Random, SymbolicIntervalsHoldEveryValue) {
  RandomIndex random(5);
  int known = 0;
  for (int n = 0; n < 10000; ++n) {
    std::unordered_map<uint64_t, Expr> inner;
    std::vector<int64_t> extents;
    Bounds outer = random.bounds();
    for (int v = 0; v < 3; ++v) {
      extents.push_back(random.between(1, 5));
      inner[random.vars()[v].id()] = Expr(extents.back());
      outer.erase(random.vars()[v].id());
    }
    const Expr e = random.expression(Type::index(), 3);
    const SymbolicInterval got = symbolic_interval(e, inner, outer);
    if (!got.known) continue;
    ++known;
    for (const auto& [id, extent] : inner) {
      ASSERT_FALSE(used_vars(got.lo).count(id)) << to_string(e) << "\n" << to_string(got.lo);
      ASSERT_FALSE(used_vars(got.hi).count(id)) << to_string(e) << "\n" << to_string(got.hi);
    }
    for (int point = 0; point < 16; ++point) {
      random.draw();
      for (int v = 0; v < 3; ++v) random.set(random.vars()[v], random.between(0, extents[v] - 1));
      const int64_t v = random.value(e);
      ASSERT_LE(random.value(got.lo), v) << to_string(e) << "\nfrom " << to_string(got.lo) << "\nat " << random.point();
      ASSERT_GE(random.value(got.hi), v) << to_string(e) << "\nto " << to_string(got.hi) << "\nat " << random.point();
    }
  }
  EXPECT_GT(known, 8000);
}

}  // namespace
}  // namespace tw::ir
