// sin, cos, tan: the distance r to the nearest multiple n of pi/2, Taylor's series on |r| <= pi/4, and the quadrant n
// mod 4 says which of the two series, with which sign. Few arguments are so large that n has more than 20 bits: the
// long way to their r is the arm of a select, which a vector takes if one of its lanes must.
//
//   sin r = r + r^3 S(r^2)        to r^13 for float32 (2^-36), to r^17 for float64 (2^-63)
//   cos r = 1 - r^2/2 + r^4 C(r^2)      to r^12 (2^-41), to r^18 (2^-66)
//
// float32 is computed in float64 and rounded once.

#include "src/lower/math/functions.h"
#include "src/lower/math/trig_reduction.h"

namespace tw::lower::math {

using namespace ir;

namespace {

struct SinCos {
  Expr sin, cos;
};

SinCos short_series(Computation& c, const Expr& r) {
  const Expr z = c.name("z", r * r);
  const Expr s = c.polynomial(z, {0x1.6124613a86d09p-33, -0x1.ae64567f544e4p-26, 0x1.71de3a556c734p-19,
                                  -0x1.a01a01a01a01ap-13, 0x1.1111111111111p-7, -0x1.5555555555555p-3});
  const Expr k = c.polynomial(z, {0x1.1eed8eff8d898p-29, -0x1.27e4fb7789f5cp-22, 0x1.a01a01a01a01ap-16,
                                  -0x1.6c16c16c16c17p-10, 0x1.5555555555555p-5, -0.5, 1.0});
  return {c.name("sin", c.fma(r * z, s, r)), c.name("cos", k)};
}

SinCos long_series(Computation& c, const Expr& r, const Expr& low) {
  const Expr z = c.name("z", r * r);
  const Expr s =
      c.polynomial(z, {0x1.952c77030ad4ap-49, -0x1.ae7f3e733b81fp-41, 0x1.6124613a86d09p-33, -0x1.ae64567f544e4p-26,
                       0x1.71de3a556c734p-19, -0x1.a01a01a01a01ap-13, 0x1.1111111111111p-7, -0x1.5555555555555p-3});
  const Expr k =
      c.polynomial(z, {-0x1.6827863b97d97p-53, 0x1.ae7f3e733b81fp-45, -0x1.93974a8c07c9dp-37, 0x1.1eed8eff8d898p-29,
                       -0x1.27e4fb7789f5cp-22, 0x1.a01a01a01a01ap-16, -0x1.6c16c16c16c17p-10, 0x1.5555555555555p-5});
  const Expr half = c.name("half", z * c.value(0.5)), one = c.value(1);
  const Expr top = c.name("top", one - half);
  const Expr rest = ((one - top) - half) + (z * z * k - r * low);
  return {c.name("sin", r + c.fma(r * z, s, low)), c.name("cos", top + rest)};
}

struct Turned {
  Expr quadrant;
  SinCos of;
};

Turned turned(Computation& c, const Expr& x, bool of_float32, bool few_turns) {
  const Reduced r =
      few_turns ? from_near_multiple_of_half_pi(c, x, of_float32) : from_multiple_of_half_pi(c, x, of_float32);
  return {r.quadrant, of_float32 ? short_series(c, r.high) : long_series(c, r.high, r.low)};
}

Expr has_bit(Computation& c, const Expr& n, int64_t bit) { return ne(bit_and(n, c.integer(bit)), c.integer(0)); }

// `finish` makes the function of a float64 from its quadrant and series. Each arm has names of its own, so that the
// long one is computed where it is needed only.
template <class F>
Expr in_float64(Computation& c, const Expr& x, F finish) {
  const auto arm = [&](bool few_turns) {
    Computation wide(Type::f(64, c.type().lanes), c.fused());
    const Expr value = c.is_double() ? x : wide.name("x", cast(wide.type(), x));
    const Turned t = turned(wide, value, !c.is_double(), few_turns);
    return wide.finish(cast(c.type(), finish(wide, t)));
  };
  return select(c.absolute(x) <= c.value(kFewTurns), arm(true), arm(false));
}

// Below this the function is its argument, whose zeros keep their sign and whose denormals their digits.
Expr or_itself(Computation& c, const Expr& x, const Expr& value) {
  return select(c.absolute(x) < c.value(c.is_double() ? 0x1p-27 : 0x1p-13), x, value);
}

}  // namespace

Expr sin(Computation& c, const Expr& x) {
  const Expr value = in_float64(c, x, [](Computation& w, const Turned& t) {
    const Expr size = w.name("size", select(has_bit(w, t.quadrant, 1), t.of.cos, t.of.sin));
    return select(has_bit(w, t.quadrant, 2), w.value(0) - size, size);
  });
  return or_itself(c, x, value);
}

Expr cos(Computation& c, const Expr& x) {
  return in_float64(c, x, [](Computation& w, const Turned& t) {
    const Expr next = w.name("next", t.quadrant + w.integer(1));
    const Expr size = w.name("size", select(has_bit(w, t.quadrant, 1), t.of.sin, t.of.cos));
    return select(has_bit(w, next, 2), w.value(0) - size, size);
  });
}

Expr tan(Computation& c, const Expr& x) {
  const Expr value = in_float64(c, x, [](Computation& w, const Turned& t) {
    const Expr odd = w.name("odd", has_bit(w, t.quadrant, 1));
    const Expr above = select(odd, w.value(0) - t.of.cos, t.of.sin);
    return binary(BinOp::kDiv, above, select(odd, t.of.sin, t.of.cos));
  });
  return or_itself(c, x, value);
}

}  // namespace tw::lower::math
