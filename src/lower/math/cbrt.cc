// cbrt: a third of the pattern is a first guess (5 %), Halley's step
//
//   t' = t + t * (r - t) / (2t + r),   r = a / t^2
//
// has an error of 2/3 of the cube of that of t. Before the last step t loses the digits whose square would round.

#include "src/lower/math/functions.h"

namespace tw::lower::math {

using namespace ir;

namespace {

Expr halley(Computation& c, const Expr& a, const Expr& t) {
  const Expr r = c.name("r", binary(BinOp::kDiv, a, t * t));
  return c.name("t", c.fma(t, binary(BinOp::kDiv, r - t, (t + t) + r), t));
}

// The pattern as a number, divided by 3, and a pattern again: within 2^-20 of exact, which a guess needs not be.
Expr guess(Computation& c, const Expr& a) {
  const double bias = c.is_double() ? 715094163.0 * 4294967296.0 : 709958130.0;
  const Expr third = cast(c.type(), c.pattern(a)) * c.value(1.0 / 3) + c.value(bias);
  return c.name("t", c.from_pattern(cast(c.pattern_type(), third)));
}

}  // namespace

Expr cbrt(Computation& c, const Expr& x) {
  const double up = c.is_double() ? 0x1p54 : 0x1p24, down = c.is_double() ? 0x1p-18 : 0x1p-8;
  const Expr size = c.name("size", c.absolute(x));
  const Expr denormal = c.name("denormal", size < c.value(c.is_double() ? 0x1p-1022 : 0x1p-126));
  const Expr a = c.name("a", select(denormal, size * c.value(up), size));
  Expr t = halley(c, a, guess(c, a));
  if (c.is_double()) t = halley(c, a, t);
  const int64_t kept = c.is_double() ? -(int64_t{1} << 27) : -(int64_t{1} << 12);
  const Expr shortened = c.name("t", c.from_pattern(bit_and(c.pattern(t), c.integer(kept))));
  const Expr root = halley(c, a, shortened);
  const Expr scaled = select(denormal, root * c.value(down), root);
  return select(size > c.value(0) && size < c.infinity(), c.with_sign_of(scaled, x), x);
}

}  // namespace tw::lower::math
