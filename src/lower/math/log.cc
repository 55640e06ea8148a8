// log and its relatives, by  x = 2^e * m,  sqrt(1/2) <= m < sqrt(2),  f = m - 1:  log x = e * ln 2 + log(1 + f).
//
//   log2 x = e + log(1 + f) / ln 2,   log10 x = e * log10 2 + log(1 + f) / ln 10
//   log1p x = log(u) + d / u,   u + d = 1 + x without an error

#include "src/lower/math/functions.h"
#include "src/lower/math/pair.h"

namespace tw::lower::math {

using namespace ir;

namespace {

struct Mantissa {
  Expr e, f;
};

// Of a positive number; subnormal ones are scaled first.
Mantissa split(Computation& c, const Expr& x) {
  const int mantissa = c.is_double() ? 52 : 23;
  const Expr smallest = c.value(c.is_double() ? 0x1p-1022 : 0x1p-126);
  const Expr denormal = c.name("denormal", x < smallest);
  const Expr scaled = select(denormal, x * c.value(c.is_double() ? 0x1p54 : 0x1p24), x);
  // Subtracting the pattern of sqrt(1/2) makes the exponent switch there.
  const int64_t root = c.is_double() ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  const Expr bits = c.name("bits", c.pattern(scaled) - c.integer(root));
  const Expr exponent = cast(c.type(), shift_right(bits, mantissa));
  const Expr e = c.name("e", exponent - select(denormal, c.value(c.is_double() ? 54 : 24), c.value(0)));
  const Expr m = c.from_pattern(bit_and(bits, c.integer((int64_t{1} << mantissa) - 1)) + c.integer(root));
  return {e, c.name("f", m - c.value(1))};
}

// log(1 + f) = f + rest + low, where `low` is what the caller adds to the smallest part.
//
// float32: f - f^2/2 + f^3 * Q(f), Q minimax of degree 8 for the relative error of the whole, 2^-30.
Expr log_of_mantissa32(Computation& c, const Expr& f, const Expr& low) {
  const Expr q = c.polynomial(
      f, {0.06745846569538116, -0.11676251888275146, 0.11888880282640457, -0.1240554004907608, 0.1421944499015808,
          -0.16667993366718292, 0.20002123713493347, -0.25000008940696716, 0.3333331346511841});
  const Expr f2 = c.name("f2", f * f);
  // From the smallest to the largest.
  return c.fma(f2, c.value(-0.5), low + f2 * f * q) + f;
}

// 2 atanh(s), s = f / (2 + f): the series in s^2 to s^23, as f - f^2/2 + s * (f^2/2 + R) so that f stays exact.
Expr log_of_mantissa64(Computation& c, const Expr& f, const Expr& low) {
  const Expr s = c.name("s", binary(BinOp::kDiv, f, f + c.value(2)));
  const Expr z = c.name("z", s * s);
  const Expr series = z * c.polynomial(z, {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                           2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3});
  const Expr half = c.name("half", f * f * c.value(0.5));
  return f - (half - c.fma(s, half + series, low));
}

Expr log_of_mantissa(Computation& c, const Expr& f, const Expr& low) {
  return c.is_double() ? log_of_mantissa64(c, f, low) : log_of_mantissa32(c, f, low);
}

// The first parts have so few bits that e times them is exact.
Expr natural(Computation& c, const Mantissa& m, const Expr& low) {
  const Expr ln2_high = c.value(c.is_double() ? 0x1.62e42feep-1 : 0.693359375);
  const Expr ln2_low = c.value(c.is_double() ? 0x1.a39ef35793c76p-33 : -2.12194440054690583e-4);
  const Expr small = c.fma(m.e, ln2_low, low);
  return c.fma(m.e, ln2_high, log_of_mantissa(c, m.f, small));
}

// `of_positive` where 0 < x < infinity, else what C99 has for a logarithm of x.
Expr with_ends(const Computation& c, const Expr& x, const Expr& of_positive) {
  const Expr zero = c.value(0), infinity = c.infinity();
  const Expr special = select(eq(x, zero), zero - infinity, select(x > zero, x, c.nan()));
  return select(x > zero && x < infinity, of_positive, special);
}

}  // namespace

Expr log(Computation& c, const Expr& x) { return with_ends(c, x, natural(c, split(c, x), c.value(0))); }

Expr log1p(Computation& c, const Expr& x) {
  const Pair u = two_sum(c, c.value(1), x);
  const Expr correction = binary(BinOp::kDiv, u.low, u.high);
  const Expr value = with_ends(c, u.high, natural(c, split(c, u.high), correction));
  return select(eq(x, c.value(0)), x, value);
}

Expr log2(Computation& c, const Expr& x) {
  const Mantissa m = split(c, x);
  return with_ends(c, x, c.fma(log_of_mantissa(c, m.f, c.value(0)), c.value(0x1.71547652b82fep+0), m.e));
}

Expr log10(Computation& c, const Expr& x) {
  const Mantissa m = split(c, x);
  const Expr high = c.value(c.is_double() ? 0x1.34413508p-2 : 0.301025390625);
  const Expr low = c.value(c.is_double() ? 0x1.f79fef311f12bp-34 : 4.605038981195214e-06);
  const Expr part = log_of_mantissa(c, m.f, c.value(0)) * c.value(0x1.bcb7b1526e50ep-2);
  return with_ends(c, x, c.fma(m.e, high, c.fma(m.e, low, part)));
}

}  // namespace tw::lower::math
