// Operations on single values: what ir.h says, one type at a time.

#include "src/ir/interp_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tw::ir::interp {
namespace {

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

float from_bits(Half h) {
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

float from_bits(BFloat b) { return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }

Half to_bits(Half, float v) {
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

BFloat to_bits(BFloat, float v) {
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

Value truth(bool b) {
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

// Two's complement without C++'s undefined cases: 64-bit unsigned arithmetic, cut to the type.
template <class T, class Op>
T wrapping(T a, T b, Op op) {
  return static_cast<T>(op(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

template <BinOp op, class T>
T integer_division(T a, T b) {
  if (b == 0) return 0;
  constexpr bool kQuotient = op == BinOp::kFloorDiv || op == BinOp::kTruncDiv;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return kQuotient ? static_cast<T>(0 - static_cast<uint64_t>(a)) : T{0};
  }
  const T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
  constexpr bool kFloors = op == BinOp::kFloorDiv || op == BinOp::kFloorMod;
  const bool below = kFloors && std::is_signed_v<T> && r != 0 && ((r < 0) != (b < 0));
  return kQuotient ? static_cast<T>(q - below) : static_cast<T>(below ? r + b : r);
}

template <BinOp op, class T>
T integer_bits(T a, T b) {
  using U = Unsigned<T>;
  const int shift = static_cast<int>(static_cast<U>(b) % (sizeof(T) * 8));
  if constexpr (op == BinOp::kBitAnd) return static_cast<T>(a & b);
  if constexpr (op == BinOp::kBitOr) return static_cast<T>(a | b);
  if constexpr (op == BinOp::kBitXor) return static_cast<T>(a ^ b);
  if constexpr (op == BinOp::kShl) return static_cast<T>(static_cast<uint64_t>(a) << shift);
  return static_cast<T>(a >> shift);
}

template <BinOp op, class T>
Value arithmetic(Value x, Value y) {
  const Wide<T> a = get<T>(x), b = get<T>(y);
  constexpr bool kFloat = kIsFloat<T>;
  if constexpr (op == BinOp::kEq)
    return truth(a == b);
  else if constexpr (op == BinOp::kNe)
    return truth(a != b);
  else if constexpr (op == BinOp::kLt)
    return truth(a < b);
  else if constexpr (op == BinOp::kLe)
    return truth(a <= b);
  else if constexpr (op == BinOp::kGt)
    return truth(a > b);
  else if constexpr (op == BinOp::kGe)
    return truth(a >= b);
  else if constexpr (op == BinOp::kMin)
    return put<T>(a < b ? a : b);
  else if constexpr (op == BinOp::kMax)
    return put<T>(a > b ? a : b);
  else if constexpr (kFloat && op == BinOp::kAdd)
    return put<T>(a + b);
  else if constexpr (kFloat && op == BinOp::kSub)
    return put<T>(a - b);
  else if constexpr (kFloat && op == BinOp::kMul)
    return put<T>(a * b);
  else if constexpr (kFloat && op == BinOp::kDiv)
    return put<T>(a / b);
  else if constexpr (kFloat || std::is_same_v<T, bool> || op == BinOp::kDiv)
    return Value{};
  else if constexpr (op == BinOp::kAdd)
    return put<T>(wrapping(a, b, [](uint64_t p, uint64_t q) { return p + q; }));
  else if constexpr (op == BinOp::kSub)
    return put<T>(wrapping(a, b, [](uint64_t p, uint64_t q) { return p - q; }));
  else if constexpr (op == BinOp::kMul)
    return put<T>(wrapping(a, b, [](uint64_t p, uint64_t q) { return p * q; }));
  else if constexpr (op >= BinOp::kFloorDiv && op <= BinOp::kTruncMod)
    return put<T>(integer_division<op, T>(a, b));
  else
    return put<T>(integer_bits<op, T>(a, b));
}

template <BinOp op>
BinaryFn of_type(Type t) {
  return with_type(t, [](auto tag) -> BinaryFn { return arithmetic<op, decltype(tag)>; });
}

template <class To, class From>
Value convert(Value v) {
  const Wide<From> x = get<From>(v);
  if constexpr (std::is_same_v<To, bool>)
    return truth(x != 0);
  else if constexpr (kIsHalf<To>)
    return put<float>(static_cast<float>(round_to(To::kType, static_cast<double>(x))));  // once, not by way of float
  else if constexpr (kIsFloat<To>)
    return put<To>(static_cast<Wide<To>>(x));
  else if constexpr (!kIsFloat<From>)
    return put<To>(static_cast<To>(x));
  else {
    // Truncates, saturates, 0 for NaN; the largest value of a wide type is not a float, hence the >=.
    constexpr To lowest = std::numeric_limits<To>::min(), highest = std::numeric_limits<To>::max();
    if (std::isnan(x)) return put<To>(0);
    if (x <= static_cast<Wide<From>>(lowest)) return put<To>(lowest);
    if (x >= static_cast<Wide<From>>(highest)) return put<To>(highest);
    return put<To>(static_cast<To>(x));
  }
}

// 4-bit integers, by way of 8 bits: T is int8_t or uint8_t.
template <class T>
int64_t wrapped_to_nibble(int64_t v) {
  return std::is_signed_v<T> ? (v & 15) - ((v & 8) << 1) : v & 15;
}

template <class T, class From>
Value convert_to_nibble(Value v) {
  Value out = convert<T, From>(v);
  constexpr int64_t lowest = std::is_signed_v<T> ? -8 : 0;
  out.i = kIsFloat<From> ? std::clamp(out.i, lowest, lowest + 15) : wrapped_to_nibble<T>(out.i);
  return out;
}

template <class T>
Value read_nibble(const void* data, int64_t at) {
  Value out{};
  out.i = wrapped_to_nibble<T>(static_cast<const uint8_t*>(data)[at / 2] >> at % 2 * 4);
  return out;
}

void write_nibble(void* data, int64_t at, Value v) {
  uint8_t& byte = static_cast<uint8_t*>(data)[at / 2];
  const auto shift = static_cast<int>(at % 2 * 4);
  byte = static_cast<uint8_t>((byte & (0xf0 >> shift)) | (v.i & 15) << shift);
}

template <class T>
uint64_t raw(Value v) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<uint64_t>(v.d);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<uint32_t>(v.f);
  else if constexpr (kIsHalf<T>)
    return to_bits(T{}, v.f).bits;
  else
    return static_cast<Unsigned<T>>(v.i);
}

template <class T>
Value from_raw(uint64_t bits) {
  if constexpr (std::is_same_v<T, double>)
    return put<T>(std::bit_cast<double>(bits));
  else if constexpr (std::is_same_v<T, float>)
    return put<T>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  else if constexpr (kIsHalf<T>)
    return put<float>(from_bits(T{static_cast<decltype(T::bits)>(bits)}));
  else
    return put<T>(static_cast<T>(bits));
}

// The precision in which a function of a T is evaluated before it is rounded: double or better.
template <class T>
using Precise = std::conditional_t<std::is_same_v<T, double>, long double, double>;

template <Fn fn, class P>
P transcendental(P x) {
  switch (fn) {
    case Fn::kExp:
      return std::exp(x);
    case Fn::kLog:
      return std::log(x);
    case Fn::kTanh:
      return std::tanh(x);
    case Fn::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Fn::kErf:
      return std::erf(x);
    case Fn::kSqrt:
      return std::sqrt(x);
    case Fn::kRsqrt:
      return 1 / std::sqrt(x);
    case Fn::kAbs:
      return std::fabs(x);
    case Fn::kFloor:
      return std::floor(x);
    case Fn::kCeil:
      return std::ceil(x);
    case Fn::kRound:
      return std::nearbyint(x);
    case Fn::kTrunc:
      return std::trunc(x);
    case Fn::kSin:
      return std::sin(x);
    case Fn::kCos:
      return std::cos(x);
    case Fn::kTan:
      return std::tan(x);
    case Fn::kAtan:
      return std::atan(x);
    case Fn::kLog2:
      return std::log2(x);
    case Fn::kExp2:
      return std::exp2(x);
    case Fn::kLog10:
      return std::log10(x);
    case Fn::kExpm1:
      return std::expm1(x);
    case Fn::kLog1p:
      return std::log1p(x);
    case Fn::kCbrt:
      return std::cbrt(x);
    default:
      return x;
  }
}

// Of the bits of an integer.
template <Fn fn, class T>
Value of_bits(Value v) {
  const auto bits = static_cast<Unsigned<T>>(v.i);
  return put<T>(static_cast<T>(fn == Fn::kPopcount ? std::popcount(bits) : std::countl_zero(bits)));
}

template <Fn fn, class T>
Value function(Value v) {
  if constexpr (std::is_same_v<T, bool>)
    return v;
  else if constexpr (fn == Fn::kIsNan && kIsFloat<T>)
    return truth(std::isnan(get<T>(v)));
  else if constexpr (fn == Fn::kIsInf && kIsFloat<T>)
    return truth(std::isinf(get<T>(v)));
  else if constexpr ((fn == Fn::kPopcount || fn == Fn::kClz) && !kIsFloat<T>)
    return of_bits<fn, T>(v);
  else if constexpr (!kIsFloat<T>) {
    if (fn != Fn::kAbs || v.i >= 0 || std::is_unsigned_v<T>) return v;
    return put<T>(static_cast<T>(0 - static_cast<uint64_t>(v.i)));
  } else if constexpr (fn == Fn::kSqrt) {
    return put<T>(std::sqrt(get<T>(v)));  // IEEE rounds it itself; a detour would round twice
  } else {
    return put<T>(static_cast<Wide<T>>(transcendental<fn, Precise<T>>(get<T>(v))));
  }
}

template <Fn fn>
UnaryFn of_type(Type t) {
  return with_type(t, [](auto tag) -> UnaryFn { return function<fn, decltype(tag)>; });
}

template <class T>
Value power(Value a, Value b) {
  if constexpr (!kIsFloat<T>)
    return Value{};
  else
    return put<T>(
        static_cast<Wide<T>>(std::pow(static_cast<Precise<T>>(get<T>(a)), static_cast<Precise<T>>(get<T>(b)))));
}

template <class T>
Value fused(Value a, Value b, Value c) {
  if constexpr (!kIsFloat<T>)
    return Value{};
  else
    return put<T>(std::fma(get<T>(a), get<T>(b), get<T>(c)));
}

template <class T>
Value read(const void* data, int64_t at) {
  if constexpr (kIsHalf<T>)
    return put<float>(from_bits(static_cast<const T*>(data)[at]));
  else if constexpr (std::is_same_v<T, bool>)
    return truth(static_cast<const uint8_t*>(data)[at] != 0);
  else
    return put<T>(static_cast<const T*>(data)[at]);
}

template <class T>
void write(void* data, int64_t at, Value v) {
  if constexpr (kIsHalf<T>)
    static_cast<T*>(data)[at] = to_bits(T{}, v.f);
  else if constexpr (std::is_same_v<T, bool>)
    static_cast<uint8_t*>(data)[at] = v.i != 0;
  else
    static_cast<T*>(data)[at] = get<T>(v);
}

}  // namespace

BinaryFn binary_function(BinOp op, Type t) {
  switch (op) {
    case BinOp::kAdd:
      return of_type<BinOp::kAdd>(t);
    case BinOp::kSub:
      return of_type<BinOp::kSub>(t);
    case BinOp::kMul:
      return of_type<BinOp::kMul>(t);
    case BinOp::kDiv:
      return of_type<BinOp::kDiv>(t);
    case BinOp::kFloorDiv:
      return of_type<BinOp::kFloorDiv>(t);
    case BinOp::kFloorMod:
      return of_type<BinOp::kFloorMod>(t);
    case BinOp::kTruncDiv:
      return of_type<BinOp::kTruncDiv>(t);
    case BinOp::kTruncMod:
      return of_type<BinOp::kTruncMod>(t);
    case BinOp::kMin:
      return of_type<BinOp::kMin>(t);
    case BinOp::kMax:
      return of_type<BinOp::kMax>(t);
    case BinOp::kEq:
      return of_type<BinOp::kEq>(t);
    case BinOp::kNe:
      return of_type<BinOp::kNe>(t);
    case BinOp::kLt:
      return of_type<BinOp::kLt>(t);
    case BinOp::kLe:
      return of_type<BinOp::kLe>(t);
    case BinOp::kGt:
      return of_type<BinOp::kGt>(t);
    case BinOp::kGe:
      return of_type<BinOp::kGe>(t);
    case BinOp::kBitAnd:
      return of_type<BinOp::kBitAnd>(t);
    case BinOp::kBitOr:
      return of_type<BinOp::kBitOr>(t);
    case BinOp::kBitXor:
      return of_type<BinOp::kBitXor>(t);
    case BinOp::kShl:
      return of_type<BinOp::kShl>(t);
    case BinOp::kShr:
      return of_type<BinOp::kShr>(t);
    case BinOp::kAnd:
    case BinOp::kOr:
      break;
  }
  TW_CHECK(false, "kAnd and kOr have no function");
  return nullptr;
}

UnaryFn cast_function(Type from, Type to) {
  if (to.is_packed())
    return with_type(from, [&](auto tag) -> UnaryFn {
      using From = decltype(tag);
      return to.is_int() ? convert_to_nibble<int8_t, From> : convert_to_nibble<uint8_t, From>;
    });
  return with_type(to, [&](auto to_tag) {
    using To = decltype(to_tag);
    return with_type(from, [](auto from_tag) -> UnaryFn { return convert<To, decltype(from_tag)>; });
  });
}

UnaryFn reinterpret_function(Type from, Type to) {
  return with_type(to, [&](auto to_tag) {
    using To = decltype(to_tag);
    return with_type(from, [](auto from_tag) -> UnaryFn {
      return [](Value v) { return from_raw<To>(raw<decltype(from_tag)>(v)); };
    });
  });
}

UnaryFn unary_function(Fn fn, Type t) {
  switch (fn) {
    case Fn::kExp:
      return of_type<Fn::kExp>(t);
    case Fn::kLog:
      return of_type<Fn::kLog>(t);
    case Fn::kTanh:
      return of_type<Fn::kTanh>(t);
    case Fn::kSigmoid:
      return of_type<Fn::kSigmoid>(t);
    case Fn::kErf:
      return of_type<Fn::kErf>(t);
    case Fn::kSqrt:
      return of_type<Fn::kSqrt>(t);
    case Fn::kRsqrt:
      return of_type<Fn::kRsqrt>(t);
    case Fn::kAbs:
      return of_type<Fn::kAbs>(t);
    case Fn::kFloor:
      return of_type<Fn::kFloor>(t);
    case Fn::kCeil:
      return of_type<Fn::kCeil>(t);
    case Fn::kRound:
      return of_type<Fn::kRound>(t);
    case Fn::kTrunc:
      return of_type<Fn::kTrunc>(t);
    case Fn::kSin:
      return of_type<Fn::kSin>(t);
    case Fn::kCos:
      return of_type<Fn::kCos>(t);
    case Fn::kTan:
      return of_type<Fn::kTan>(t);
    case Fn::kAtan:
      return of_type<Fn::kAtan>(t);
    case Fn::kLog2:
      return of_type<Fn::kLog2>(t);
    case Fn::kExp2:
      return of_type<Fn::kExp2>(t);
    case Fn::kLog10:
      return of_type<Fn::kLog10>(t);
    case Fn::kExpm1:
      return of_type<Fn::kExpm1>(t);
    case Fn::kLog1p:
      return of_type<Fn::kLog1p>(t);
    case Fn::kCbrt:
      return of_type<Fn::kCbrt>(t);
    case Fn::kPopcount:
      return of_type<Fn::kPopcount>(t);
    case Fn::kClz:
      return of_type<Fn::kClz>(t);
    case Fn::kIsNan:
      return of_type<Fn::kIsNan>(t);
    case Fn::kIsInf:
      return of_type<Fn::kIsInf>(t);
    default:
      break;
  }
  TW_CHECK(false, "a function of one argument");
  return nullptr;
}

BinaryFn pow_function(Type t) {
  return with_type(t, [](auto tag) -> BinaryFn { return power<decltype(tag)>; });
}

TernaryFn fma_function(Type t) {
  return with_type(t, [](auto tag) -> TernaryFn { return fused<decltype(tag)>; });
}

Value value_of(const IntImm& c) {
  Value out{};
  out.i = c.value;
  return out;
}

Value value_of(const FloatImm& c, Type t) {
  Value out{};
  if (t.bits == 64) {
    out.d = c.value;
  } else {
    out.f = static_cast<float>(c.value);
  }
  return out;
}

ReadFn read_function(Type t) {
  if (t.is_packed()) return t.is_int() ? read_nibble<int8_t> : read_nibble<uint8_t>;
  return with_type(t, [](auto tag) -> ReadFn { return read<decltype(tag)>; });
}

WriteFn write_function(Type t) {
  if (t.is_packed()) return write_nibble;
  return with_type(t, [](auto tag) -> WriteFn { return write<decltype(tag)>; });
}

}  // namespace tw::ir::interp
