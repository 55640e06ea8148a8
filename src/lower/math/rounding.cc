// Rounding to integers by arithmetic. Magnitudes from 2^mantissa on are integers already; infinities and NaN stay. The
// sign of the operand is the sign of the result, also of a zero.

#include "src/lower/math/functions.h"

namespace tw::lower::math {

using namespace ir;

namespace {

// Applies `f` to the magnitude, rounded to nearest, where that is not an integer anyway.
template <class F>
Expr rounded(Computation& c, const Expr& x, F f) {
  const Expr big = c.value(c.is_double() ? 0x1p52 : 0x1p23);
  const Expr a = c.name("a", c.absolute(x));
  const Expr nearest = c.name("nearest", (a + big) - big);
  return select(a < big, c.with_sign_of(f(a, nearest), x), x);
}

}  // namespace

Expr round(Computation& c, const Expr& x) {
  return rounded(c, x, [](const Expr&, const Expr& nearest) { return nearest; });
}

Expr trunc(Computation& c, const Expr& x) {
  return rounded(
      c, x, [&](const Expr& a, const Expr& nearest) { return select(nearest > a, nearest - c.value(1), nearest); });
}

// Of magnitudes: downwards for a positive operand, upwards for a negative one.
Expr floor(Computation& c, const Expr& x) {
  return rounded(c, x, [&](const Expr& a, const Expr& nearest) {
    return select(x < c.value(0), select(nearest < a, nearest + c.value(1), nearest),
                  select(nearest > a, nearest - c.value(1), nearest));
  });
}

Expr ceil(Computation& c, const Expr& x) {
  return rounded(c, x, [&](const Expr& a, const Expr& nearest) {
    return select(x > c.value(0), select(nearest < a, nearest + c.value(1), nearest),
                  select(nearest > a, nearest - c.value(1), nearest));
  });
}

}  // namespace tw::lower::math
