// Distances go through sums, products with constants, and quotients and remainders whose scalar part is a multiple of
// the divisor.
#include "codegen/llvm/lane_places.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::BinOp;
using ir::Expr;

namespace {

template <class F>
LanePlaces each(Expr base, std::vector<int64_t> apart, F f) {
  for (int64_t& place : apart) place = f(place);
  return {std::move(base), std::move(apart)};
}

// What is constant in the base moves into the distances.
LanePlaces with_its_constant(LanePlaces x) {
  x.base = ir::simplify(x.base);
  const auto* sum = ir::as<ir::Binary>(x.base);
  const bool ends = sum && sum->op == BinOp::kAdd;
  const auto known = ir::as_int(ends ? sum->b : x.base);
  if (!known) return x;
  return each(ends ? sum->a : 0, std::move(x.apart), [&](int64_t at) { return at + *known; });
}

std::optional<LanePlaces> divided(BinOp op, LanePlaces x, int64_t by) {
  if (by <= 0) return std::nullopt;
  x = with_its_constant(std::move(x));
  const bool whole = ir::is_int(x.base, 0) || multiple_of(x.base) % by == 0;
  if (!whole) return std::nullopt;
  const auto quotient = [&](int64_t at) { return ir::floor_div(at, by); };
  if (op == BinOp::kFloorDiv)
    return each(ir::is_int(x.base, 0) ? x.base : ir::floordiv(x.base, by), std::move(x.apart), quotient);
  return each(0, std::move(x.apart), [&](int64_t at) { return at - quotient(at) * by; });
}

std::optional<LanePlaces> places_of(const Expr& e) {
  const auto lanes = static_cast<size_t>(e.type().lanes);
  if (e.type().is_scalar()) return LanePlaces{e, {0}};
  if (const auto* same = ir::as<ir::Broadcast>(e)) return LanePlaces{same->value, std::vector<int64_t>(lanes, 0)};
  if (const auto* ramp = ir::as<ir::Ramp>(e)) {
    const auto stride = ir::as_int(ramp->stride);
    if (!stride) return std::nullopt;
    LanePlaces places{ramp->base, {}};
    for (size_t l = 0; l < lanes; ++l) places.apart.push_back(static_cast<int64_t>(l) * *stride);
    return places;
  }
  const auto* binary = ir::as<ir::Binary>(e);
  if (!binary) return std::nullopt;
  auto a = places_of(binary->a), b = places_of(binary->b);
  if (!a || !b || a->apart.size() != lanes || b->apart.size() != lanes) return std::nullopt;
  const auto factor = ir::as_int(binary->b);
  switch (binary->op) {
    case BinOp::kAdd:
    case BinOp::kSub: {
      const int64_t sign = binary->op == BinOp::kAdd ? 1 : -1;
      for (size_t l = 0; l < lanes; ++l) a->apart[l] += sign * b->apart[l];
      return LanePlaces{sign > 0 ? a->base + b->base : a->base - b->base, std::move(a->apart)};
    }
    case BinOp::kMul:
      if (!factor) return std::nullopt;
      return each(a->base * Expr(*factor), std::move(a->apart), [&](int64_t at) { return at * *factor; });
    case BinOp::kFloorDiv:
    case BinOp::kFloorMod:
      return factor ? divided(binary->op, *std::move(a), *factor) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// The base of a ramp of which the expression is a digit; null where it is none.
const Expr* digit_of(const Expr& e) {
  const auto* binary = ir::as<ir::Binary>(e);
  if (!binary || (binary->op != BinOp::kFloorDiv && binary->op != BinOp::kFloorMod)) return nullptr;
  const auto* ramp = ir::as<ir::Ramp>(binary->a);
  const auto elements = ir::as_int(binary->b);
  return ramp && ir::is_int(ramp->stride, 1) && elements && *elements > ramp->lanes ? &ramp->base : nullptr;
}

}  // namespace

int64_t multiple_of(const Expr& e) {
  constexpr int64_t kEnough = 4096;
  const auto low_bit = [=](int64_t v) { return v == 0 ? kEnough : std::min(v & -v, kEnough); };
  if (auto value = ir::as_int(e)) return low_bit(*value);
  if (const auto* binary = ir::as<ir::Binary>(e)) {
    if (binary->op == BinOp::kMul) return std::min(multiple_of(binary->a) * multiple_of(binary->b), kEnough);
    if (binary->op == BinOp::kAdd || binary->op == BinOp::kSub)
      return std::min(multiple_of(binary->a), multiple_of(binary->b));
  }
  return 1;
}

int64_t LanePlaces::span() const { return *std::ranges::max_element(apart) + 1; }

std::optional<LanePlaces> lane_places(const Expr& subscript) {
  auto places = places_of(subscript);
  if (!places) return std::nullopt;
  const int64_t first = *std::ranges::min_element(places->apart);
  if (first == 0) return places;
  return each(places->base + Expr(first), std::move(places->apart), [&](int64_t at) { return at - first; });
}

std::optional<WithinDigit> within_digit(const Expr& subscript) {
  std::optional<WithinDigit> found;
  const auto is_same = [&](const Expr& begin, int64_t elements) {
    return found->elements == elements && ir::equal(found->begin, begin);
  };
  const Expr within = ir::rewrite(subscript, [&](const Expr& e) {
    const Expr* begin = digit_of(e);
    if (!begin) return e;
    const auto& digit = *ir::as<ir::Binary>(e);
    const int64_t elements = *ir::as_int(digit.b);
    if (!found) found = WithinDigit{*begin, elements, {}};
    if (!is_same(*begin, elements)) return e;
    if (digit.op == BinOp::kFloorDiv) return ir::broadcast(ir::floordiv(*begin, elements), e.type().lanes);
    return ir::ramp(ir::floormod(*begin, elements), 1, e.type().lanes);
  });
  if (!found) return std::nullopt;
  found->subscript = ir::simplify(within);
  const auto* ramp = ir::as<ir::Ramp>(found->subscript);
  const bool simple = ir::as<ir::Broadcast>(found->subscript) || (ramp && ir::is_int(ramp->stride, 1));
  return simple ? found : std::nullopt;
}

}  // namespace tw::codegen
