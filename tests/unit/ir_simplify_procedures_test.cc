// What the simplifier does without rules, by exhaustion: constants are folded to what the interpreter computes, casts
// of casts keep every value, intervals hold every result. (Sums, quotients and conditions:
// test_simplifier_procedures.py.)

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/ir/interp_value.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_fold.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"

namespace tw::ir {
namespace {

using interp::Value;

Value value_of(const Expr& constant) {
  const auto* i = as<IntImm>(constant);
  return i ? interp::value_of(*i) : interp::value_of(*as<FloatImm>(constant), constant.type());
}

bool same(Type t, Value a, Value b) {
  if (!t.is_float()) return a.i == b.i;
  const double x = t.bits == 64 ? a.d : a.f, y = t.bits == 64 ? b.d : b.f;
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

const std::vector<Type>& types() {
  static const std::vector<Type> all = {Type::boolean(), Type::i(8),  Type::u(8),  Type::i(16), Type::u(16),
                                        Type::i(32),     Type::u(32), Type::i(64), Type::u(64), Type::f(16),
                                        Type::bf16(),    Type::f(32), Type::f(64)};
  return all;
}

// All values of 8 bits; of wider types those at which something happens.
std::vector<Expr> values_of(Type t) {
  std::vector<Expr> out;
  if (t.is_float()) {
    for (double v : {0.0, 0.5, 1.0, 1.5, 2.5, 3e-8, 127.5, 128.0, 255.5, 32767.5, 65504.0, 2147483648.0, 3e9, 1e19,
                     1e300, std::numeric_limits<double>::infinity(), std::nan("")})
      for (double sign : {1.0, -1.0}) out.push_back(float_imm(t, sign * v));
    return out;
  }
  if (t.is_bool()) return {boolean(false), boolean(true)};
  if (t.bits == 8) {
    for (int64_t v = range_of(t).lo; v <= range_of(t).hi; ++v) out.push_back(int_imm(t, v));
    return out;
  }
  for (int bit : {0, 1, 7, 8, 15, 16, 24, 31, 32, 53, 62, 63})
    for (int64_t off : {-1, 0, 1}) {
      const auto power = static_cast<int64_t>((uint64_t{1} << bit) + static_cast<uint64_t>(off));
      for (const int64_t v : {power, static_cast<int64_t>(0 - static_cast<uint64_t>(power))})
        out.push_back(int_imm(t, wrap(t, v)));
    }
  return out;
}

bool exists(BinOp op, const Expr& a) { return binary_fault(op, a, a).empty(); }

TEST(Procedures, ConstantsFoldToWhatTheInterpreterComputes) {
  size_t folded = 0;
  for (const Type t : types())
    for (int n = 0; n <= static_cast<int>(BinOp::kShr); ++n) {
      const auto op = static_cast<BinOp>(n);
      const std::vector<Expr> values = values_of(t);
      if (op == BinOp::kAnd || op == BinOp::kOr || !exists(op, values[0])) continue;
      const interp::BinaryFn compute = interp::binary_function(op, t);
      for (const Expr& a : values)
        for (const Expr& b : values) {
          const Expr out = fold(op, a, b);
          if (!out) continue;
          ++folded;
          ASSERT_TRUE(same(out.type(), value_of(out), compute(value_of(a), value_of(b))))
              << to_string(t) << ": " << to_string(binary(op, a, b)) << " folds to " << to_string(out);
        }
    }
  EXPECT_GT(folded, 2'000'000u);
}

TEST(Procedures, CastsFoldToWhatTheInterpreterComputes) {
  for (const Type from : types())
    for (const Type to : types()) {
      const interp::UnaryFn compute = interp::cast_function(from, to);
      for (const Expr& v : values_of(from)) {
        const Expr out = fold_cast(to, v);
        if (out) {
          ASSERT_TRUE(same(to, value_of(out), compute(value_of(v))))
              << to_string(from) << " " << to_string(v) << " as " << to_string(to) << " folds to " << to_string(out);
        }
      }
    }
}

Value cast_value(const Expr& e, Value x) {
  const auto* c = as<Cast>(e);
  return c ? interp::cast_function(c->value.type(), e.type())(cast_value(c->value, x)) : x;
}

TEST(Procedures, CastsOfCastsKeepEveryValue) {
  size_t shorter = 0;
  for (const Type from : types())
    for (const Type middle : types())
      for (const Type to : types()) {
        const Var x("x", from);
        const Expr twice = cast(to, cast(middle, x)), once = simplify(twice);
        const auto* c = as<Cast>(once);
        shorter += !c || !as<Cast>(c->value);
        for (const Expr& v : values_of(from))
          ASSERT_TRUE(same(to, cast_value(once, value_of(v)), cast_value(twice, value_of(v))))
              << to_string(twice) << " -> " << to_string(once) << " of " << to_string(from) << " at " << to_string(v);
      }
  EXPECT_GT(shorter, 500u);
}

TEST(Procedures, IntervalsHoldEveryResult) {
  constexpr int64_t kFar = 9;  // what an infinite end stands for
  std::vector<Interval> intervals;
  for (int64_t lo = -4; lo <= 4; ++lo)
    for (int64_t hi = lo; hi <= 4; ++hi) intervals.push_back({lo, hi});
  for (int64_t end : {-3, 0, 3}) {
    intervals.push_back({Interval::kNegInf, end});
    intervals.push_back({end, Interval::kPosInf});
  }
  intervals.push_back(Interval::everything());
  const auto lowest = [](Interval i) { return i.lo == Interval::kNegInf ? -kFar : i.lo; };
  const auto highest = [](Interval i) { return i.hi == Interval::kPosInf ? kFar : i.hi; };
  for (const BinOp op : {BinOp::kAdd, BinOp::kSub, BinOp::kMul, BinOp::kFloorDiv, BinOp::kFloorMod, BinOp::kTruncDiv,
                         BinOp::kTruncMod, BinOp::kMin, BinOp::kMax, BinOp::kEq, BinOp::kNe, BinOp::kLt, BinOp::kLe,
                         BinOp::kGt, BinOp::kGe, BinOp::kBitAnd, BinOp::kBitOr, BinOp::kBitXor, BinOp::kShr})
    for (const Interval a : intervals)
      for (const Interval b : intervals) {
        const Interval held = apply(op, a, b);
        for (int64_t x = lowest(a); x <= highest(a); ++x)
          for (int64_t y = lowest(b); y <= highest(b); ++y) {
            const int64_t v = *as_int(fold(op, int_imm(Type::i(64), x), int_imm(Type::i(64), y)));
            ASSERT_TRUE(held.lo <= v && v <= held.hi)
                << x << " " << name_of(op) << " " << y << " = " << v << " outside " << held.lo << " .. " << held.hi;
          }
      }
}

}  // namespace
}  // namespace tw::ir
