// exp, and what is made of it: exp2, expm1, sigmoid and tanh.
//
//   n = round(x / ln 2),  r = x - n*ln 2,  e^x = 2^n * e^r,  |r| <= ln(2)/2
//
// e^r - 1 = r + r^2 * P(r). float32: P minimax of degree 4 for the relative error of e^r, 2^-28. float64: Taylor's
// series to r^13, whose remainder is below 2^-57. Rounding r takes two steps with ln 2 split in two, the first part
// short enough that n times it is exact.
//
// A product that is no normal number takes a processor a hundred cycles or more, and a row of scores that are masked by
// -1e30 is made of them: what rounds to 0 anyway is a product by 0.

#include <cmath>

#include "src/lower/math/functions.h"

namespace tw::lower::math {

using namespace ir;

namespace {

// x + kMagic rounds x to an integer, which then stands in the lowest bits.
double magic(const Computation& c) { return c.is_double() ? 0x1.8p52 : 0x1.8p23; }

// Added to n before it is halved: the second factor is then 0 for an n that is too small for any result, and a normal
// number for those above. Even, so that n is rounded alike.
int uneven(const Computation& c) { return c.is_double() ? 970 : 102; }

// Where e^x rounds to 0: at `nothing` n is that too small one.
struct Ends {
  double nothing, zero, infinity;
};
Ends ends(const Computation& c) { return c.is_double() ? Ends{-746, -746, 710} : Ends{-106, -104, 89}; }

// 2^(n + more) for the n that was rounded by the magic number, as long as it is a normal number.
Expr power_of_two(const Computation& c, const Expr& n_plus_magic, int more = 0) {
  const int mantissa = c.is_double() ? 52 : 23, bias = c.is_double() ? 1023 : 127;
  return c.from_pattern(shift_left(c.pattern(n_plus_magic) + c.integer(bias + more), mantissa));
}

// (e^r - 1 - r) / r^2
Expr exp_tail(Computation& c, const Expr& r) {
  return c.is_double()
             ? c.polynomial(r, {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5})
             : c.polynomial(
                   r, {0.0013951704604551196, 0.008369576185941696, 0.0416661836206913, 0.16666513681411743, 0.5});
}

Expr exp_minus_one(Computation& c, const Expr& r) { return c.fma(r * r, exp_tail(c, r), r); }

// 2^n in two factors, each of which is a normal number, or the second 0, because n may leave the range of exponents.
struct ExpParts {
  Expr p;                 // e^r - 1
  Expr scale_a, scale_b;  // 2^n = scale_a * scale_b
  Expr inverse_b;         // 1 / scale_b
};

// n as it stands in t = n + more + magic: half of n + more, rounded down, and the rest. The upper bits of t leave by
// the shifts.
ExpParts parts_of(Computation& c, const Expr& t, const Expr& p, int more) {
  const int mantissa = c.is_double() ? 52 : 23;
  const Type whole = Type::u(c.type().bits, c.type().lanes);
  const auto exponent = [&](int of) {
    return int_imm(whole, static_cast<int64_t>(static_cast<uint64_t>(of) << mantissa));
  };
  const int bias = c.is_double() ? 1023 : 127;
  const Expr bits = c.name("bits", reinterpret(whole, t));
  const Expr half = c.name("half", shift_right(bits, 1));
  const Expr b = c.name("b", shift_left(bits - half, mantissa) + exponent(bias - more));
  const Expr scale_a = c.name("a", c.from_pattern(shift_left(half, mantissa) + exponent(bias)));
  return {p, scale_a, c.from_pattern(b), c.from_pattern(exponent(2 * bias) - b)};
}

struct Reduction {
  Expr t, n;       // n + more + magic, n
  Expr rest;       // x - n * (the first part of ln 2), exact
  double ln2_low;  // the second part
};
Reduction reduced(Computation& c, const Expr& x, int more = 0) {
  const Expr shift = c.value(magic(c) + more);
  const Expr t = c.name("t", c.fma(x, c.value(1.4426950408889634), shift));
  const Expr n = c.name("n", t - shift);
  // 0.693359375 has 9 bits, 0x1.62e42feep-1 has 30.
  const double ln2_high = c.is_double() ? 0x1.62e42feep-1 : 0.693359375;
  const double ln2_low = c.is_double() ? 0x1.a39ef35793c76p-33 : -2.12194440054690583e-4;
  return {t, n, c.fma(n, c.value(-ln2_high), x), ln2_low};
}

struct Steps {
  Expr t, n;  // n + more + magic, n
  Expr p;     // e^r - 1
};
Steps steps(Computation& c, const Expr& x, int more = 0) {
  const Reduction of = reduced(c, x, more);
  const Expr r = c.name("r", c.fma(of.n, c.value(-of.ln2_low), of.rest));
  return {of.t, of.n, c.name("p", exp_minus_one(c, r))};
}

// (1 + p) * 2^n, whatever n; t = n + uneven + magic.
Expr scaled(Computation& c, const Expr& t, const Expr& p) {
  const ExpParts e = parts_of(c, t, p, uneven(c));
  // The product of the first is exact but for the rounding of the sum.
  return c.fma(e.p, e.scale_a, e.scale_a) * e.scale_b;
}

// The same by an instruction, which does nothing where x is below all that has a result.
Expr scaled_above(Computation& c, const Expr& x, double zero, const Expr& n, const Expr& p) {
  return select(x < c.value(zero), c.value(0), call(Fn::kScale, {c.value(1) + p, n}));
}
Expr exp_above(Computation& c, const Expr& x) {
  const Expr named = c.name("x", x);
  const Steps s = steps(c, named);
  return scaled_above(c, named, ends(c).zero, s.n, s.p);
}

}  // namespace

Expr exp_inside(Computation& c, const Expr& x) {
  if (c.scales()) {
    const Steps s = steps(c, x);
    return call(Fn::kScale, {c.value(1) + s.p, s.n});
  }
  const Steps s = steps(c, x, uneven(c));
  return scaled(c, s.t, s.p);
}

NormalExp normal_exp(Computation& c, const Expr& x) {
  const Steps s = steps(c, x);
  return {s.p, c.name("s", power_of_two(c, s.t))};
}

Expr exp(Computation& c, const Expr& x) {
  // Beyond these ends the result is infinity and 0 anyway; min and max as written keep a NaN.
  const Expr bounded = min(c.value(ends(c).infinity), x);
  if (!c.scales()) return exp_inside(c, c.name("x", max(c.value(ends(c).nothing), bounded)));
  return exp_above(c, bounded);
}

// 1 + p is near 1, and the result a normal number: its exponent has room for n, whose upper bits leave by the shift.
Expr near_exp(Computation& c, const Expr& x) {
  const Type whole = Type::u(32, c.type().lanes);
  const Steps s = steps(c, x);
  return c.from_pattern(shift_left(reinterpret(whole, s.t), 23) + reinterpret(whole, c.value(1) + s.p));
}

//   1 + r as a pair, and r^2 * P(r), which is small enough that its error is an eighth of a unit
Expr exp(Computation& c, const Pair& x) {
  const Reduction of = reduced(c, x.high);
  const Pair r = two_sum(c, c.name("rest", of.rest), c.name("low", c.fma(of.n, c.value(-of.ln2_low), x.low)));
  const Expr tail = c.fma(r.high * r.high, exp_tail(c, r.high), c.fma(r.low, r.high, r.low));
  const Pair near_one = fast_two_sum(c, c.value(1), r.high);
  const Expr value = near_one.high + (near_one.low + tail);
  if (c.scales()) return call(Fn::kScale, {value, of.n});
  const ExpParts scale = parts_of(c, of.t, {}, 0);
  return value * scale.scale_a * scale.scale_b;
}

//   2^x = 2^n * e^((x - n) ln 2), exact where x is whole
Expr exp2(Computation& c, const Expr& x) {
  const double zero = c.is_double() ? -1076 : -152, high = c.is_double() ? 1025 : 129;
  const Expr below = min(c.value(high), x);
  const Expr bounded = c.name("x", c.scales() ? below : max(c.value(zero), below));
  const Expr shift = c.value(magic(c) + (c.scales() ? 0 : uneven(c)));
  const Expr t = c.name("t", bounded + shift);
  const Expr n = t - shift;
  const Expr r = c.name("r", (bounded - n) * c.value(0.6931471805599453));
  const Expr p = c.name("p", exp_minus_one(c, r));
  return c.scales() ? scaled_above(c, bounded, zero, n, p) : scaled(c, t, p);
}

//   e^x - 1 = (a * p + (a - 1/b)) * b   for 2^n = a * b: nothing overflows before the result does
Expr expm1(Computation& c, const Expr& x) {
  const Expr low = c.value(ends(c).zero), high = c.value(ends(c).infinity);
  const Steps s = steps(c, c.name("bounded", max(low, min(high, x))));
  const ExpParts e = parts_of(c, s.t, s.p, 0);
  const Expr value = c.fma(e.scale_a, e.p, e.scale_a - e.inverse_b) * e.scale_b;
  return select(eq(x, c.value(0)), x, value);
}

namespace {

// e^x for x <= 0: nothing is too large, so 2^n has room for what a subnormal result lacks, and is 0 at the lower end.
Expr exp_of_negative(Computation& c, const Expr& x) {
  const int room = c.is_double() ? 54 : 24;
  if (c.scales()) return exp_above(c, x);
  const Steps s = steps(c, c.name("x", max(c.value(c.is_double() ? -746.5 : -105), x)));
  const Expr scale = c.name("s", power_of_two(c, s.t, room));
  return c.fma(s.p, scale, scale) * c.value(std::ldexp(1, -room));
}

}  // namespace

//   x >= 0:  1 / (1 + e^-x)       x < 0:  e^x / (1 + e^x)       so that neither end loses digits
Expr sigmoid(Computation& c, const Expr& x) {
  const Expr one = c.value(1);
  const Expr e = c.name("e", exp_of_negative(c, c.value(0) - c.absolute(x)));
  return binary(BinOp::kDiv, select(x < c.value(0), e, one), one + e);
}

//   u = e^(2|x|) - 1,   tanh |x| = u / (u + 2),   1 from where it rounds to it
Expr tanh(Computation& c, const Expr& x) {
  const Expr bound = c.value(c.is_double() ? 20 : 10);
  const Expr a = c.name("a", min(bound, c.absolute(x)));
  const NormalExp e = normal_exp(c, c.name("y", a + a));
  const Expr u = c.name("u", c.fma(e.scale, e.p, e.scale - c.value(1)));
  return c.with_sign_of(binary(BinOp::kDiv, u, u + c.value(2)), x);
}

}  // namespace tw::lower::math
