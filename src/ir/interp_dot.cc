// Dot products of the interpreter.
//
// kDotBF16, as vdpbf16ps does it: denormals of c, a and b count as zero; c takes the product of the odd pair and then
// that of the even pair, each with one rounding to nearest; a result becomes a zero of its sign where 24 bits of it,
// were there exponents for them, would be less than the least normal number.
//
// kDotBF16Odd, as bfdot does it: denormals count as zero, too; each product, their sum, and the sum of that and c are
// rounded to odd: towards zero, with an odd last bit where that is not exact.
//
// kTileBF16, as tdpbf16ps does it: the products of the first terms of all pairs are summed from 0 on, in their order,
// and so are those of the second ones; then the two sums are added, and what they give to c. Each product is added with
// one rounding to nearest; no denormal is read, and none is made.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "src/ir/interp_value.h"

namespace tw::ir::interp {
namespace {

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

// a + b as a double whose last bit is odd where the sum is not exact, so that what is rounded from it is rounded once.
double sum_to_odd(double a, double b) {
  const double sum = a + b, rest = sum - a, error = (a - (sum - rest)) + (b - rest);
  if (!(error < 0 || error > 0) || std::bit_cast<uint64_t>(sum) % 2 != 0) return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

// c + a * b; of what is rounded from 2^-126 - 2^-151 on, 24 bits are 2^-126.
float add_product(float c, float a, float b) {
  const double sum = sum_to_odd(flushed(c), static_cast<double>(flushed(a)) * flushed(b));
  const auto rounded = static_cast<float>(sum);
  return std::abs(sum) < 0x1p-126 - 0x1p-151 ? std::copysign(0.0f, rounded) : rounded;
}

// A float32 of a double; no denormal one.
float to_odd(double x) {
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1;
  if (std::isnan(x) || std::isinf(x)) return static_cast<float>(x);
  if (std::abs(x) < 0x1p-126) return std::copysign(0.0f, static_cast<float>(x));
  if (std::abs(x) >= 0x1p128) return std::copysign(INFINITY, static_cast<float>(x));
  uint64_t bits = std::bit_cast<uint64_t>(x);
  if ((bits & kDropped) != 0) bits |= kDropped + 1;
  return static_cast<float>(std::bit_cast<double>(bits & ~kDropped));
}

float dot_to_odd(float c, const Value* a, const Value* b) {
  const auto product = [&](int j) { return to_odd(static_cast<double>(flushed(a[j].f)) * flushed(b[j].f)); };
  return to_odd(sum_to_odd(flushed(c), to_odd(sum_to_odd(product(0), product(1)))));
}

float tile_sum(float c, const Value* a, const Value* b, int terms) {
  float first = 0, second = 0;
  for (int j = 0; j < terms; j += 2) {
    first = add_product(first, a[j].f, b[j].f);
    second = add_product(second, a[j + 1].f, b[j + 1].f);
  }
  return flushed(flushed(c) + flushed(first + second));
}

}  // namespace

Value dot(Fn fn, int terms, Value c, const Value* a, const Value* b) {
  if (fn == Fn::kDotBF16) {
    float sum = c.f;
    for (int j : {1, 0}) sum = add_product(sum, a[j].f, b[j].f);
    Value out{};
    out.f = sum;
    return out;
  }
  if (fn == Fn::kDotBF16Odd || fn == Fn::kMatBF16Odd) {
    float sum = static_cast<float>(c.f);
    for (int j = 0; j < terms; j += 2) sum = dot_to_odd(sum, a + j, b + j);
    Value out{};
    out.f = sum;
    return out;
  }
  if (fn == Fn::kTileBF16) {
    Value out{};
    out.f = tile_sum(c.f, a, b, terms);
    return out;
  }
  int64_t sum = c.i;
  for (int j = 0; j < terms; j += 2) {
    const int64_t both = a[j].i * b[j].i + a[j + 1].i * b[j + 1].i;
    sum += fn == Fn::kDotU8I8Sat ? std::clamp<int64_t>(both, INT16_MIN, INT16_MAX) : both;
  }
  Value out{};
  out.i = static_cast<int32_t>(static_cast<uint32_t>(sum));
  return out;
}

}  // namespace tw::ir::interp
