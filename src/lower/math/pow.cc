// pow(x, y) = e^(y * log|x|), with as many digits of the logarithm as the product needs, and C99's special cases.
//
// float32: in float64, where log (to 2^-42) and the product are exact enough. float64: log|x| as a sum of two values,
// by log(m) = 2s + 2/3 s^3 + s^5 * T(s^2), the first two terms with 2^-64. What is wrong before the last rounding is
// below half a unit, so that a power that is a number of the type is that number: 9^3 is 729.

#include "src/lower/math/functions.h"
#include "src/lower/math/pair.h"

namespace tw::lower::math {

using namespace ir;

namespace {

// a = 2^e * m, sqrt(1/2) <= m < sqrt(2), for positive finite a.
struct Split {
  Expr e, f;  // f = m - 1
};
Split split(Computation& c, const Expr& a) {
  const Expr denormal = c.name("denormal", a < c.value(0x1p-1022));
  const Expr root = c.integer(0x3fe6a09e667f3bcd);
  const Expr bits = c.name("bits", c.pattern(select(denormal, a * c.value(0x1p54), a)) - root);
  const Expr e = cast(c.type(), shift_right(bits, 52)) - select(denormal, c.value(54), c.value(0));
  const Expr m = c.from_pattern(bit_and(bits, c.integer((int64_t{1} << 52) - 1)) + root);
  return {c.name("e", e), c.name("f", m - c.value(1))};
}

constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

Expr short_log(Computation& c, const Expr& a) {
  const Split x = split(c, a);
  const Expr s = c.name("s", binary(BinOp::kDiv, x.f, x.f + c.value(2)));
  const Expr z = c.name("z", s * s);
  const Expr series = c.polynomial(z, {2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0});
  return c.fma(x.e, c.value(0.6931471805599453), s * series);
}

Pair long_log(Computation& c, const Expr& a) {
  const Split x = split(c, a);
  const Expr two = c.value(2);
  const Pair d = fast_two_sum(c, two, x.f);
  const Expr s = c.name("s", binary(BinOp::kDiv, x.f, d.high));
  const Pair back = two_product(c, s, d.high);
  const Expr s_low = c.name("sl", binary(BinOp::kDiv, ((x.f - back.high) - back.low) - s * d.low, d.high));
  const Pair z = two_product(c, s, s);
  const Expr z_low = c.name("zl", z.low + two * s * s_low);
  const Pair w = two_product(c, z.high, s);
  const Expr w_low = c.name("wl", w.low + z.high * s_low + z_low * s);
  const Expr third = c.value(0x1.5555555555555p-1);
  const Pair cube = two_product(c, third, w.high);
  const Expr cube_low = cube.low + third * w_low + c.value(0x1.5555555555555p-55) * w.high;
  const Expr tail = w.high * z.high *
                    c.polynomial(z.high, {2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                                          2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5});
  const Pair of_m = fast_two_sum(c, two * s, cube.high);
  const Expr m_low = of_m.low + (cube_low + two * s_low + tail);
  const Pair all = fast_two_sum(c, x.e * c.value(kLn2High), of_m.high);
  return fast_two_sum(c, all.high, c.name("low", all.low + (m_low + x.e * c.value(kLn2Low))));
}

// Where it is e's exponent, 0 and infinity stand beyond these ends.
Expr within_exponents(Computation& c, const Expr& x) { return c.name("x", max(c.value(-746), min(c.value(710), x))); }

// |x|^y for finite positive |x|, in float64.
Expr power_of_magnitude(Computation& c, const Expr& a, const Expr& y) {
  // Beyond 2^70 every power overflows or vanishes; products stay finite up to there. The order keeps a NaN.
  const Expr bounded = c.name("yb", max(c.value(-0x1p70), min(c.value(0x1p70), y)));
  const Pair log = long_log(c, a);
  const Pair p = two_product(c, bounded, log.high);
  // Where `high` is inside its ends, `low` is far below this bound; beyond them it must not turn the sign.
  const Expr low = max(c.value(-0x1p-30), min(c.value(0x1p-30), p.low + bounded * log.low));
  return exp(c, Pair{within_exponents(c, p.high), c.name("pl", low)});
}

Expr magnitude(Computation& c, const Expr& a, const Expr& y) {
  if (c.is_double()) return power_of_magnitude(c, a, y);
  Computation wide(Type::f(64, c.type().lanes), c.fused(), c.scales());
  const Expr base = wide.name("a", cast(wide.type(), a)), exponent = wide.name("b", cast(wide.type(), y));
  const Expr power = exp_inside(wide, within_exponents(wide, exponent * short_log(wide, base)));
  return wide.finish(cast(c.type(), power));
}

}  // namespace

Expr pow(Computation& c, const Expr& x, const Expr& y) {
  const Expr zero = c.value(0), one = c.value(1), infinity = c.infinity();
  const Expr a = c.name("a", c.absolute(x));
  const Expr whole = c.name("whole", eq(call(Fn::kTrunc, {y}), y));
  const Expr half = c.name("half", y * c.value(0.5));
  const Expr odd = c.name("odd", whole && ne(call(Fn::kTrunc, {half}), half));
  const Expr outside = eq(a, zero) || eq(a, infinity) || ne(x, x);
  const Expr grows = (eq(a, infinity) && y > zero) || (eq(a, zero) && y < zero);
  const Expr at_ends = select(ne(x, x), x, select(ne(y, y), y, select(grows, infinity, zero)));
  const Expr size = c.name("size", select(outside, at_ends, magnitude(c, a, y)));
  const Expr flipped = c.name("signed", select(odd, c.with_sign_of(size, x), size));
  const Expr undefined = x < zero && ne(a, infinity) && logical_not(whole);
  const Expr unit = eq(x, one) || eq(y, zero) || (eq(a, one) && eq(c.absolute(y), infinity));
  return select(unit, one, select(undefined, c.nan(), flipped));
}

}  // namespace tw::lower::math
