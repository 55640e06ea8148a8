// The C++ types that stand for the types of values, and a Value as one of them: shared by the files that make the
// interpreter's functions, a template instance for each type.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "src/ir/interp_value.h"

namespace tw::ir::interp {

// float16 and bfloat16 in memory; values are floats that the 16 bits hold exactly.
struct Half {
  static constexpr Type kType = Type::f(16);
  uint16_t bits;
};
struct BFloat {
  static constexpr Type kType = Type::bf16();
  uint16_t bits;
};
// float8_e4m3fn and float8_e5m2, likewise.
struct E4M3 {
  static constexpr Type kType = Type::e4m3();
  static constexpr int kFraction = 3, kBias = 7, kNan = 0x7f;
  uint8_t bits;
};
struct E5M2 {
  static constexpr Type kType = Type::e5m2();
  static constexpr int kFraction = 2, kBias = 15, kNan = 0x7e, kInfinity = 0x7c;
  uint8_t bits;
};
template <class T>
constexpr bool kIsFloat8 = std::is_same_v<T, E4M3> || std::is_same_v<T, E5M2>;
// Smaller than a float32.
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat> || kIsFloat8<T>;
template <class T>
constexpr bool kIsFloat = kIsHalf<T> || std::is_floating_point_v<T>;

inline float from_bits(Half h) {
  const int exponent = h.bits >> 10 & 31, fraction = h.bits & 1023;
  const float sign = h.bits >> 15 ? -1.0f : 1.0f;
  if (exponent == 31)
    return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

template <class T>
  requires kIsFloat8<T>
float from_bits(T b) {
  const int magnitude = b.bits & 0x7f, exponent = magnitude >> T::kFraction, one = 1 << T::kFraction;
  const float sign = b.bits >> 7 ? -1.0f : 1.0f;
  if constexpr (std::is_same_v<T, E5M2>) {
    if (magnitude == T::kInfinity) return sign * std::numeric_limits<float>::infinity();
    if (magnitude > T::kInfinity) return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  } else {
    if (magnitude == T::kNan) return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  }
  const int fraction = (magnitude & (one - 1)) + (exponent == 0 ? 0 : one);
  return sign * std::ldexp(static_cast<float>(fraction), std::max(exponent, 1) - T::kBias - T::kFraction);
}

// Of a value that the type holds.
template <class T>
  requires kIsFloat8<T>
T to_bits(T, float v) {
  const uint32_t sign = std::bit_cast<uint32_t>(v) >> 31 << 7;
  const auto with = [&](int magnitude) { return T{static_cast<uint8_t>(sign | static_cast<uint32_t>(magnitude))}; };
  if (std::isnan(v)) return with(T::kNan);
  if constexpr (std::is_same_v<T, E5M2>) {
    if (std::isinf(v)) return with(T::kInfinity);
  }
  const int exponent = v == 0 ? 0 : std::max(std::ilogb(v) + T::kBias, 0);
  const auto steps = static_cast<int>(std::ldexp(std::fabs(v), T::kFraction + T::kBias - std::max(exponent, 1)));
  return with(exponent == 0 ? steps : (exponent << T::kFraction) + steps - (1 << T::kFraction));
}

inline float from_bits(BFloat b) { return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }

inline Half to_bits(Half, float v) {
  const uint32_t sign = std::bit_cast<uint32_t>(v) >> 31 << 15;
  const auto with = [&](uint32_t magnitude) { return Half{static_cast<uint16_t>(sign | magnitude)}; };
  if (std::isnan(v)) return with(0x7e00);
  if (std::isinf(v)) return with(0x7c00);
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(v), &exponent);  // v = fraction * 2^exponent, fraction in [0.5, 1)
  if (fraction == 0) return with(0);
  if (exponent < -13) return with(static_cast<uint32_t>(std::ldexp(fraction, exponent + 24)));
  return with(static_cast<uint32_t>(exponent + 14) << 10 | (static_cast<uint32_t>(std::ldexp(fraction, 11)) - 1024));
}

inline BFloat to_bits(BFloat, float v) {
  if (std::isnan(v)) return {0x7fc0};
  return {static_cast<uint16_t>(std::bit_cast<uint32_t>(v) >> 16)};
}

// The C++ type in which T's arithmetic is done.
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;

template <class T>
Wide<T> get(Value v) {
  if constexpr (std::is_same_v<T, double>)
    return v.d;
  else if constexpr (kIsFloat<T>)
    return v.f;
  else
    return static_cast<T>(v.i);
}

template <class T>
Value put(Wide<T> v) {
  Value out{};
  if constexpr (std::is_same_v<T, double>)
    out.d = v;
  else if constexpr (kIsHalf<T>)
    out.f = static_cast<float>(round_to(T::kType, v));
  else if constexpr (kIsFloat<T>)
    out.f = v;
  else
    out.i = static_cast<int64_t>(v);
  return out;
}

inline Value truth(bool b) {
  Value out{};
  out.i = b;
  return out;
}

// Calls f(T{}) with the C++ type that stands for `t`; for 4-bit integers, the one that holds their values.
template <class F>
auto with_type(Type t, F&& f) {
  switch (t.code) {
    case TypeCode::kBool:
      return f(bool{});
    case TypeCode::kIndex:
      return f(int64_t{});
    case TypeCode::kInt:
      return t.bits <= 8 ? f(int8_t{}) : t.bits == 16 ? f(int16_t{}) : t.bits == 32 ? f(int32_t{}) : f(int64_t{});
    case TypeCode::kUInt:
      return t.bits <= 8 ? f(uint8_t{}) : t.bits == 16 ? f(uint16_t{}) : t.bits == 32 ? f(uint32_t{}) : f(uint64_t{});
    case TypeCode::kBFloat:
      return f(BFloat{});
    case TypeCode::kE4M3:
      return f(E4M3{});
    case TypeCode::kE5M2:
      return f(E5M2{});
    case TypeCode::kHandle:
    case TypeCode::kFloat:
      break;
  }
  return t.bits == 16 ? f(Half{}) : t.bits == 32 ? f(float{}) : f(double{});
}

template <class T>
using Unsigned = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

}  // namespace tw::ir::interp
