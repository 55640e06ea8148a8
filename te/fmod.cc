// fmod, exact: long division of abs(x) = m * 2^e by abs(y) = k * 2^f, 1 <= m, k < 2, some bits of the quotient a step.
//
//   r = m mod k
//   for the e - f bits in steps of at most b:  t = r * 2^b,  r = t - trunc(t / k) * k,  one k more below 0
//
// A quotient of 51 bits times k is exact as four products of halves of their digits, and so is each difference, a
// multiple of the last places of both. Of float32 the quotient of 28 bits times k is exact as it is.
#include <limits>

#include "te/float_parts.h"
#include "te/promote.h"
#include "tensorwright/te_functions.h"

namespace tw::te {

namespace {

struct Halves {
  Expr high, low;
  explicit Halves(const Expr& x)
      : high(ir::reinterpret(Type::f(64), bit_and(pattern(x), whole(-(int64_t{1} << 27))))), low(x - high) {}
};

struct Scaled {
  Expr mantissa, exponent;  // of a positive number, in 1 .. 2 and biased
  explicit Scaled(const Expr& x, bool denormals) {
    const Expr denormal = x < real(0x1p-1022);
    const Expr bits = pattern(denormals ? ir::select(denormal, x * real(0x1p54), x) : x);
    const Expr fraction = bit_and(bits, whole((int64_t{1} << 52) - 1));
    mantissa = ir::reinterpret(Type::f(64), bit_or(fraction, whole(int64_t{1023} << 52)));
    exponent = ir::binary(ir::BinOp::kShr, bits, whole(52));
    if (denormals) exponent = exponent - ir::select(denormal, whole(54), whole(0));
  }
};

// t - quotient * k
Expr rest(const Expr& t, const Expr& quotient, const Expr& k, const Halves& of_k, bool of_float32) {
  if (of_float32) return t - quotient * k;
  const Halves q(quotient);
  return (((t - q.high * of_k.high) - q.high * of_k.low) - q.low * of_k.high) - q.low * of_k.low;
}

// Of positive finite a >= b; of others anything.
Expr remainder(const Expr& a, const Expr& b, bool of_float32) {
  const int steps = of_float32 ? 10 : 42, bits = of_float32 ? 28 : 50;
  const Scaled x(a, !of_float32), y(b, !of_float32);
  const Expr& k = y.mantissa;
  const Halves of_k(k);
  Expr left = ir::max(whole(0), x.exponent - y.exponent);
  Expr r = ir::select(x.mantissa < k, x.mantissa, x.mantissa - k);
  for (int step = 0; step < steps; ++step) {
    const Expr now = ir::min(whole(bits), left);
    const Expr t = r * power_of_two(now);
    const Expr next = rest(t, trunc(divide(t, k)), k, of_k, of_float32);
    r = ir::select(next < real(0), next + k, next);
    left = left - now;
  }
  const Expr exponent = y.exponent - whole(1023);
  if (of_float32) return r * power_of_two(exponent);
  const Expr low = exponent < whole(-1022);  // exact in two steps: the remainder is a multiple of the least float
  return r * power_of_two(ir::select(low, exponent + whole(60), exponent)) * ir::select(low, real(0x1p-60), real(1));
}

}  // namespace

Expr fmod(Expr x, Expr y) {
  promote(x, y);
  if (x.type().is_integer()) return arith(ir::BinOp::kTruncMod, std::move(x), std::move(y));
  promote_floats("fmod", x, y);
  const bool of_float32 = x.type() != Type::f(64);
  const auto remains = [&](const Expr& wide_x, const Expr& wide_y) {
    const Expr a = abs(wide_x), b = abs(wide_y);
    const Expr defined = b > a * real(0);  // neither operand a NaN, a not infinite, b not 0
    const Expr value = with_sign_of(ir::select(a < b, a, remainder(a, b, of_float32)), wide_x);
    return ir::select(defined, value, real(std::numeric_limits<double>::quiet_NaN()));
  };
  return in_float64(remains, std::move(x), std::move(y));
}

}  // namespace tw::te
