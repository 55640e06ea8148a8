// Arithmetic on intervals: each function gives the smallest interval that holds every result, with infinite ends when
// unknown.

#include "src/ir/interval_arith.h"

#include <algorithm>
#include <bit>

namespace tw::ir {
namespace {

constexpr int64_t kNegInf = Interval::kNegInf;
constexpr int64_t kPosInf = Interval::kPosInf;

bool infinite(int64_t v) { return v == kNegInf || v == kPosInf; }

int64_t clamp_wide(__int128 v) {
  if (v <= kNegInf) return kNegInf;
  if (v >= kPosInf) return kPosInf;
  return static_cast<int64_t>(v);
}

int64_t add_ends(int64_t a, int64_t b, int64_t unknown) {
  if (infinite(a) || infinite(b)) return a == unknown || b == unknown ? unknown : infinite(a) ? a : b;
  return clamp_wide(static_cast<__int128>(a) + b);
}

int64_t mul_ends(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;  // also 0 times infinity: the infinite end stands for some finite value
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? kPosInf : kNegInf;
  return clamp_wide(static_cast<__int128>(a) * b);
}

Interval quotients(BinOp op, Interval a, Interval b) {
  if (!b.is_point() || b.lo == 0) {
    if (b.lo < 0 || a.lo < 0) return Interval::everything();
    // A nonnegative numerator over such a divisor: between 0 and itself, and 0 over 0.
    const int64_t least = b.lo == 0 || b.hi == kPosInf ? 0 : a.lo / b.hi;
    return {least, a.hi == kPosInf ? kPosInf : a.hi / std::max<int64_t>(b.lo, 1)};
  }
  const int64_t d = b.lo;
  auto end = [&](int64_t v) {
    if (infinite(v)) return (v > 0) == (d > 0) ? kPosInf : kNegInf;
    return op == BinOp::kTruncDiv ? trunc_div(v, d) : floor_div(v, d);
  };
  return d > 0 ? Interval{end(a.lo), end(a.hi)} : Interval{end(a.hi), end(a.lo)};
}

Interval floor_remainders(Interval a, Interval b) {
  if (b.is_point() && b.lo == 0) return Interval::point(0);
  if (b.is_point() && b.lo > 0 && a.bounded() && floor_div(a.lo, b.lo) == floor_div(a.hi, b.lo))
    return {floor_mod(a.lo, b.lo), floor_mod(a.hi, b.lo)};
  Interval out = Interval::everything();
  if (b.lo >= 0) out = {0, b.hi == kPosInf ? kPosInf : std::max<int64_t>(b.hi - 1, 0)};
  if (b.hi <= 0) out = {b.lo == kNegInf ? kNegInf : std::min<int64_t>(b.lo + 1, 0), 0};
  if (a.lo >= 0 && b.lo >= 0) out.hi = std::min(out.hi, a.hi);
  return out;
}

Interval trunc_remainders(Interval a, Interval b) {
  int64_t most = kPosInf;  // |result| < |b| and |result| <= |a|, with the sign of a
  if (b.bounded()) most = std::max<int64_t>(std::max(b.hi, -b.lo) - 1, 0);
  Interval out{a.lo >= 0 ? 0 : (most == kPosInf ? kNegInf : -most), a.hi <= 0 ? 0 : most};
  return {a.lo < 0 ? std::max(out.lo, a.lo) : 0, a.hi > 0 ? std::min(out.hi, a.hi) : 0};
}

}  // namespace

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t trunc_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return a / b;
}

int64_t trunc_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

int64_t ceil_div(int64_t a, int64_t b) { return floor_div(a, b) + (floor_mod(a, b) != 0 ? 1 : 0); }

Interval join(Interval a, Interval b) {
  if (a.lo > a.hi) return b;
  if (b.lo > b.hi) return a;
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Interval intersect(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }

Interval operator+(Interval a, Interval b) { return {add_ends(a.lo, b.lo, kNegInf), add_ends(a.hi, b.hi, kPosInf)}; }

Interval operator-(Interval a, Interval b) { return a + scaled(b, -1); }

Interval scaled(Interval a, int64_t factor) { return a * Interval::point(factor); }

Interval shifted(Interval a, int64_t by) { return a + Interval::point(by); }

Interval operator*(Interval a, Interval b) {
  const int64_t p[] = {mul_ends(a.lo, b.lo), mul_ends(a.lo, b.hi), mul_ends(a.hi, b.lo), mul_ends(a.hi, b.hi)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

Interval apply(BinOp op, Interval a, Interval b) {
  if (a.lo > a.hi || b.lo > b.hi) return {0, -1};
  switch (op) {
    case BinOp::kAdd:
      return a + b;
    case BinOp::kSub:
      return a - b;
    case BinOp::kMul:
      return a * b;
    case BinOp::kFloorDiv:
    case BinOp::kTruncDiv:
      return quotients(op, a, b);
    case BinOp::kFloorMod:
      return floor_remainders(a, b);
    case BinOp::kTruncMod:
      return trunc_remainders(a, b);
    case BinOp::kMin:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinOp::kMax:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case BinOp::kEq:
    case BinOp::kNe:
    case BinOp::kLt:
    case BinOp::kLe:
    case BinOp::kGt:
    case BinOp::kGe:
      return compare(op, a, b);
    case BinOp::kAnd:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinOp::kOr:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case BinOp::kBitAnd:
      if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
      if (b.lo >= 0) return {0, b.hi};
      if (a.lo >= 0) return {0, a.hi};
      return Interval::everything();
    case BinOp::kShr:
      if (a.lo >= 0 && b.is_point() && b.lo >= 0 && b.lo < 63)
        return {a.lo >> b.lo, a.hi == kPosInf ? kPosInf : a.hi >> b.lo};
      return Interval::everything();
    case BinOp::kBitXor:
      if (a.lo < 0 || b.lo < 0 || infinite(a.hi) || infinite(b.hi)) return Interval::everything();
      return {0, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(a.hi, b.hi)) + 1)) - 1};
    case BinOp::kDiv:
    case BinOp::kBitOr:
    case BinOp::kShl:
      return Interval::everything();
  }
  return Interval::everything();
}

Interval compare(BinOp op, Interval a, Interval b) {
  const Interval yes = Interval::point(1), no = Interval::point(0), either{0, 1};
  // Two infinite ends of one sign are not comparable: each stands for an unknown value.
  const bool less = a.hi < b.lo, less_equal = less || (a.hi == b.lo && !infinite(a.hi));
  const bool greater = a.lo > b.hi, greater_equal = greater || (a.lo == b.hi && !infinite(a.lo));
  switch (op) {
    case BinOp::kLt:
      return less ? yes : greater_equal ? no : either;
    case BinOp::kLe:
      return less_equal ? yes : greater ? no : either;
    case BinOp::kGt:
      return greater ? yes : less_equal ? no : either;
    case BinOp::kGe:
      return greater_equal ? yes : less ? no : either;
    case BinOp::kEq:
      return less || greater ? no : less_equal && greater_equal ? yes : either;
    case BinOp::kNe:
      return less || greater ? yes : less_equal && greater_equal ? no : either;
    default:
      return either;
  }
}

Interval range_of(Type t) {
  if (t.is_bool()) return {0, 1};
  if (t.is_int() && t.bits < 64) return {-(int64_t{1} << (t.bits - 1)), (int64_t{1} << (t.bits - 1)) - 1};
  if (t.is_uint()) return {0, t.bits < 63 ? (int64_t{1} << t.bits) - 1 : kPosInf};
  return Interval::everything();
}

Interval wrapped(Interval ideal, Type t) {
  if (t.is_index()) return ideal;
  const Interval all = range_of(t);
  // An infinite end of the ideal value may be far outside a 64-bit type as well.
  return ideal.bounded() && ideal.lo >= all.lo && ideal.hi <= all.hi ? ideal : all;
}

}  // namespace tw::ir
