// Ranges of floats that are computed from indices, as the places of a resized image are:  int32(float32(j) * 0.40625).
//
// Rounding is monotonic, so the ends of a result are the results of ends. Between the two operations of  a * b + c  may
// be a rounding or none (the pass `fma`): an end that is not exact reaches to both.
#include <algorithm>
#include <cmath>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify_context.h"
#include "src/ir/typing.h"

namespace tw::ir {
namespace {

constexpr double kLargest = 0x1p52;  // beyond, and of what is not finite, nothing is known

// An end and whether it is the exact result of the operation.
struct End {
  double value;
  bool exact;
};

double next(double x, bool up, bool single) {
  constexpr double kInfinity = HUGE_VAL;
  const double to = up ? kInfinity : -kInfinity;
  return single ? std::nextafter(static_cast<float>(x), static_cast<float>(to)) : std::nextafter(x, to);
}

double outward(const End& end, bool up, bool single) {
  if (!(std::abs(end.value) < kLargest)) return end.value;
  const double rounded = single ? static_cast<double>(static_cast<float>(end.value)) : end.value;
  const double reached = end.exact ? rounded : next(rounded, up, single);
  return up ? std::max(reached, end.value) : std::min(reached, end.value);
}

End product(double a, double b) {
  const double p = a * b;
  return {p, std::fma(a, b, -p) == 0};
}

End sum(double a, double b) {
  const double s = a + b, part = s - a;
  return {s, (a - (s - part)) + (b - part) == 0};
}

std::optional<FloatRange> between(std::initializer_list<End> ends, bool single) {
  FloatRange out{HUGE_VAL, -HUGE_VAL};
  for (const End& end : ends) {
    out.lo = std::min(out.lo, outward(end, false, single));
    out.hi = std::max(out.hi, outward(end, true, single));
  }
  return -kLargest < out.lo && out.hi < kLargest ? std::optional(out) : std::nullopt;
}

std::optional<FloatRange> applied(BinOp op, const FloatRange& a, const FloatRange& b, bool single) {
  switch (op) {
    case BinOp::kAdd:
      return between({sum(a.lo, b.lo), sum(a.hi, b.hi)}, single);
    case BinOp::kSub:
      return between({sum(a.lo, -b.hi), sum(a.hi, -b.lo)}, single);
    case BinOp::kMul:
      return between({product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo), product(a.hi, b.hi)}, single);
    case BinOp::kDiv: {
      if (b.lo <= 0 && 0 <= b.hi) return std::nullopt;
      const auto quotient = [](double x, double y) { return End{x / y, std::fma(x / y, y, -x) == 0}; };
      return between({quotient(a.lo, b.lo), quotient(a.lo, b.hi), quotient(a.hi, b.lo), quotient(a.hi, b.hi)}, single);
    }
    case BinOp::kMin:
      return FloatRange{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinOp::kMax:
      return FloatRange{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    default:
      return std::nullopt;
  }
}

double (*rounding(Fn fn))(double) {
  if (fn == Fn::kFloor) return std::floor;
  if (fn == Fn::kCeil) return std::ceil;
  if (fn == Fn::kTrunc) return std::trunc;
  if (fn == Fn::kRound) return std::nearbyint;
  return nullptr;
}

}  // namespace

std::optional<FloatRange> Simplifier::float_range(const Expr& e) {
  const Type type = e.type();
  if (!type.is_float() || (type.bits != 32 && type.bits != 64)) return std::nullopt;
  const bool single = type.bits == 32;
  if (const auto* c = as<FloatImm>(e)) return between({{c->value, true}}, single);
  if (const auto* b = as<Broadcast>(e)) return float_range(b->value);
  if (const auto* c = as<Cast>(e)) {
    if (c->value.type().is_float()) {
      const auto from = float_range(c->value);
      return from ? between({{from->lo, true}, {from->hi, true}}, single) : std::nullopt;
    }
    const Interval from = interval(c->value);
    if (!from.bounded() || from.lo < -int64_t{1} << 52 || from.hi > int64_t{1} << 52) return std::nullopt;
    return between({{static_cast<double>(from.lo), true}, {static_cast<double>(from.hi), true}}, single);
  }
  if (const auto* b = as<Binary>(e)) {
    const auto x = float_range(b->a);
    const auto y = x ? float_range(b->b) : std::nullopt;
    return y ? applied(b->op, *x, *y, single) : std::nullopt;
  }
  if (const auto* c = as<Call>(e)) {
    const auto round = rounding(c->fn);
    const auto x = round ? float_range(c->args[0]) : std::nullopt;
    if (x) return FloatRange{round(x->lo), round(x->hi)};
  }
  return std::nullopt;
}

// Towards zero, and to the nearest end of the type's range.
Interval Simplifier::interval_of_rounded(const Expr& value, Type to) {
  const Interval all = range_of(to);
  const auto range = to.is_bool() ? std::nullopt : float_range(value);
  if (!range) return all;
  const auto whole = [&](double x) { return std::clamp(static_cast<int64_t>(std::trunc(x)), all.lo, all.hi); };
  return {whole(range->lo), whole(range->hi)};
}

}  // namespace tw::ir
