// log, by  x = 2^e * m,  sqrt(1/2) <= m < sqrt(2),  f = m - 1:  log x = e * ln 2 + log(1 + f).

#include "src/lower/math/functions.h"

namespace tw::lower::math {

using namespace ir;

namespace {

// log(1 + f) = f - f^2/2 + f^3 * Q(f), Q minimax of degree 8 for the relative error of the whole, 2^-30.
Expr log_of_mantissa32(Computation& c, const Expr& f, const Expr& e) {
  const Expr q = c.polynomial(
      f, {0.06745846569538116, -0.11676251888275146, 0.11888880282640457, -0.1240554004907608, 0.1421944499015808,
          -0.16667993366718292, 0.20002123713493347, -0.25000008940696716, 0.3333331346511841});
  const Expr f2 = c.name("f2", f * f);
  // From the smallest to the largest. 0.693359375 has 9 bits: e times it is exact.
  const Expr small = c.fma(e, c.value(-2.12194440054690583e-4), f2 * f * q);
  return c.fma(e, c.value(0.693359375), c.fma(f2, c.value(-0.5), small) + f);
}

// log(1 + f) = 2 atanh(s), s = f / (2 + f): the series in s^2 to s^23, as f - f^2/2 + s * (f^2/2 + R) so that f stays
// exact.
Expr log_of_mantissa64(Computation& c, const Expr& f, const Expr& e) {
  const Expr s = c.name("s", binary(BinOp::kDiv, f, f + c.value(2)));
  const Expr z = c.name("z", s * s);
  const Expr series = z * c.polynomial(z, {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                           2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3});
  const Expr half = c.name("half", f * f * c.value(0.5));
  const Expr low = c.fma(s, half + series, e * c.value(0x1.a39ef35793c76p-33));
  return c.fma(e, c.value(0x1.62e42feep-1), f - (half - low));
}

}  // namespace

Expr log(Computation& c, const Expr& x) {
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
  const Expr f = c.name("f", m - c.value(1));
  const Expr finite = c.is_double() ? log_of_mantissa64(c, f, e) : log_of_mantissa32(c, f, e);
  const Expr zero = c.value(0), infinity = c.infinity();
  const Expr special = select(eq(x, zero), zero - infinity, select(x > zero, x, c.nan()));
  return select(x > zero && x < infinity, finite, special);
}

}  // namespace tw::lower::math
