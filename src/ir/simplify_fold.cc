// Arithmetic on constants.

#include "src/ir/simplify_fold.h"

#include <cmath>
#include <limits>

#include "src/ir/interval_arith.h"
#include "src/ir/tf32.h"

namespace tw::ir {
namespace {

using U = uint64_t;

// uint64 values are kept by bit pattern: division, order and conversion look at them as unsigned.
bool is_wide_unsigned(Type t) { return t.is_uint() && t.bits == 64; }

int64_t divide_unsigned(BinOp op, U a, U b) {
  if (b == 0) return 0;
  const bool quotient = op == BinOp::kFloorDiv || op == BinOp::kTruncDiv;
  return static_cast<int64_t>(quotient ? a / b : a % b);
}

Expr fold_integer(BinOp op, Type t, int64_t a, int64_t b) {
  const bool wide = is_wide_unsigned(t);
  const bool less = wide ? static_cast<U>(a) < static_cast<U>(b) : a < b;
  const auto value = [&](U v) { return int_imm(t, wrap(t, static_cast<int64_t>(v))); };
  const int shift = static_cast<int>(static_cast<U>(b) % t.bits);
  switch (op) {
    case BinOp::kAdd:
      if (int64_t s; t.is_index() && __builtin_add_overflow(a, b, &s)) return {};
      return value(static_cast<U>(a) + static_cast<U>(b));
    case BinOp::kSub:
      if (int64_t s; t.is_index() && __builtin_sub_overflow(a, b, &s)) return {};
      return value(static_cast<U>(a) - static_cast<U>(b));
    case BinOp::kMul:
      if (int64_t s; t.is_index() && __builtin_mul_overflow(a, b, &s)) return {};
      return value(static_cast<U>(a) * static_cast<U>(b));
    case BinOp::kFloorDiv:
      return value(static_cast<U>(wide ? divide_unsigned(op, a, b) : floor_div(a, b)));
    case BinOp::kFloorMod:
      return value(static_cast<U>(wide ? divide_unsigned(op, a, b) : floor_mod(a, b)));
    case BinOp::kTruncDiv:
      return value(static_cast<U>(wide ? divide_unsigned(op, a, b) : trunc_div(a, b)));
    case BinOp::kTruncMod:
      return value(static_cast<U>(wide ? divide_unsigned(op, a, b) : trunc_mod(a, b)));
    case BinOp::kMin:
      return value(static_cast<U>(less ? a : b));
    case BinOp::kMax:
      return value(static_cast<U>(less ? b : a));
    case BinOp::kEq:
      return boolean(a == b);
    case BinOp::kNe:
      return boolean(a != b);
    case BinOp::kLt:
      return boolean(less);
    case BinOp::kLe:
      return boolean(less || a == b);
    case BinOp::kGt:
      return boolean(!less && a != b);
    case BinOp::kGe:
      return boolean(!less);
    case BinOp::kAnd:
      return boolean(a != 0 && b != 0);
    case BinOp::kOr:
      return boolean(a != 0 || b != 0);
    case BinOp::kBitAnd:
      return value(static_cast<U>(a) & static_cast<U>(b));
    case BinOp::kBitOr:
      return value(static_cast<U>(a) | static_cast<U>(b));
    case BinOp::kBitXor:
      return value(static_cast<U>(a) ^ static_cast<U>(b));
    case BinOp::kShl:
      return value(static_cast<U>(a) << shift);
    case BinOp::kShr:
      return value(wide ? static_cast<U>(a) >> shift : static_cast<U>(a >> shift));
    case BinOp::kDiv:
      return {};
  }
  return {};
}

// float32 and narrower in float, float64 in double; float_imm rounds to the halves.
template <class T>
Expr fold_float(BinOp op, Type t, T a, T b) {
  switch (op) {
    case BinOp::kAdd:
      return float_imm(t, a + b);
    case BinOp::kSub:
      return float_imm(t, a - b);
    case BinOp::kMul:
      return float_imm(t, a * b);
    case BinOp::kDiv:
      return float_imm(t, a / b);
    case BinOp::kMin:
      return float_imm(t, a < b ? a : b);
    case BinOp::kMax:
      return float_imm(t, a > b ? a : b);
    case BinOp::kEq:
      return boolean(a == b);
    case BinOp::kNe:
      return boolean(a != b);
    case BinOp::kLt:
      return boolean(a < b);
    case BinOp::kLe:
      return boolean(a <= b);
    case BinOp::kGt:
      return boolean(a > b);
    case BinOp::kGe:
      return boolean(a >= b);
    default:
      return {};
  }
}

}  // namespace

int64_t wrap(Type t, int64_t v) {
  if (t.is_bool()) return v != 0;
  if (t.bits >= 64) return v;
  const U low = static_cast<U>(v) & ((U{1} << t.bits) - 1);
  const bool negative = t.is_int() && (low >> (t.bits - 1)) != 0;
  return static_cast<int64_t>(negative ? low | ~((U{1} << t.bits) - 1) : low);
}

int64_t saturate(Type t, double v) {
  if (std::isnan(v)) return 0;
  if (is_wide_unsigned(t)) {
    if (v <= 0) return 0;
    return v >= 0x1p64 ? -1 : static_cast<int64_t>(static_cast<U>(v));
  }
  const Interval all = range_of(t);
  if (v <= static_cast<double>(all.lo)) return all.lo;
  if (v >= static_cast<double>(all.hi)) return all.hi;
  return static_cast<int64_t>(v);
}

Expr fold(BinOp op, const Expr& a, const Expr& b) {
  const Type t = a.type();
  const auto *ia = as<IntImm>(a), *ib = as<IntImm>(b);
  if (ia && ib) return fold_integer(op, t, ia->value, ib->value);
  const auto *fa = as<FloatImm>(a), *fb = as<FloatImm>(b);
  if (!fa || !fb) return {};
  if (t.bits == 64) return fold_float<double>(op, t, fa->value, fb->value);
  return fold_float<float>(op, t, static_cast<float>(fa->value), static_cast<float>(fb->value));
}

Expr fold_cast(Type to, const Expr& value) {
  if (to.is_float8()) return {};  // which has no constants
  if (const auto* i = as<IntImm>(value)) {
    const Type from = value.type();
    if (!to.is_float()) return int_imm(to, wrap(to, i->value));
    // Through double only where double holds the value: else the conversion would round twice.
    const bool exact = !is_wide_unsigned(from) && std::abs(static_cast<double>(i->value)) <= 0x1p53;
    if (exact) return float_imm(to, static_cast<double>(i->value));
    if (to.bits == 64)
      return float_imm(
          to, is_wide_unsigned(from) ? static_cast<double>(static_cast<U>(i->value)) : static_cast<double>(i->value));
    return {};
  }
  if (const auto* f = as<FloatImm>(value)) {
    if (to.is_float()) return float_imm(to, f->value);
    if (to.is_bool()) return boolean(f->value != 0);
    return int_imm(to, saturate(to, f->value));
  }
  return {};
}

Expr fold_call(const Call& call, Type t) {
  const auto* f = call.args.size() == 1 ? as<FloatImm>(call.args[0]) : nullptr;
  if (!f || call.fn == Fn::kReinterpret) return {};
  switch (call.fn) {
    case Fn::kSqrt:
      return float_imm(t, t.bits == 64 ? std::sqrt(f->value) : std::sqrt(static_cast<float>(f->value)));
    case Fn::kAbs:
      return float_imm(t, std::fabs(f->value));
    case Fn::kFloor:
      return float_imm(t, std::floor(f->value));
    case Fn::kCeil:
      return float_imm(t, std::ceil(f->value));
    case Fn::kRound:
      return float_imm(t, std::nearbyint(f->value));
    case Fn::kTrunc:
      return float_imm(t, std::trunc(f->value));
    case Fn::kTF32:
      return float_imm(t, to_tf32(static_cast<float>(f->value)));
    default:
      return {};
  }
}

}  // namespace tw::ir
