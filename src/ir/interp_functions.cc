// Functions of values: evaluated in double precision or better, then rounded.

#include "src/ir/interp_types.h"
#include "src/ir/tf32.h"

namespace tw::ir::interp {
namespace {

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
  } else if constexpr (fn == Fn::kTF32) {
    return put<T>(static_cast<Wide<T>>(to_tf32(static_cast<float>(get<T>(v)))));
  } else {
    return put<T>(static_cast<Wide<T>>(transcendental<fn, Precise<T>>(get<T>(v))));
  }
}

template <Fn fn>
UnaryFn of_type(Type t) {
  return with_type(t, [](auto tag) -> UnaryFn { return function<fn, decltype(tag)>; });
}

// By squares, wrapping. A negative exponent leaves what 1 / x^n has before its point.
template <class T>
Value whole_power(Value a, Value b) {
  const T x = get<T>(a);
  const T y = get<T>(b);
  if constexpr (std::is_signed_v<T>) {
    if (y < 0) return put<T>(x == 1 ? T{1} : x == -1 ? static_cast<T>(y % 2 == 0 ? 1 : -1) : T{0});
  }
  uint64_t product = 1, square = static_cast<uint64_t>(x);
  for (auto left = static_cast<uint64_t>(y); left != 0; left >>= 1) {
    if (left & 1) product *= square;
    square *= square;
  }
  return put<T>(static_cast<T>(product));
}

template <class T>
Value power(Value a, Value b) {
  if constexpr (std::is_same_v<T, bool>)
    return Value{};
  else if constexpr (!kIsFloat<T>)
    return whole_power<T>(a, b);
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

}  // namespace

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
    case Fn::kTF32:
      return of_type<Fn::kTF32>(t);
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

// n is whole, or a NaN that came from x; beyond these ends nothing changes.
template <class T>
Value scaled(Value x, Value n) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    const T times = get<T>(n);
    if (std::isnan(times)) return n;
    return put<T>(std::ldexp(get<T>(x), static_cast<int>(std::clamp<T>(times, -10000, 10000))));
  }
  return x;
}

BinaryFn pow_function(Type t) {
  return with_type(t, [](auto tag) -> BinaryFn { return power<decltype(tag)>; });
}

BinaryFn scale_function(Type t) {
  return with_type(t, [](auto tag) -> BinaryFn { return scaled<decltype(tag)>; });
}

TernaryFn fma_function(Type t) {
  return with_type(t, [](auto tag) -> TernaryFn { return fused<decltype(tag)>; });
}

}  // namespace tw::ir::interp
