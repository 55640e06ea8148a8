// atan: odd; with t one of a, (a - 1) / (a + 1), -1 / a for a = |x| up to tan(pi/8), up to tan(3 pi/8), beyond,
//
//   atan a = 0, pi/4, pi/2  +  t + t^3 P(t^2),   |t| <= tan(pi/8)
//
// P interpolates at Chebyshev's points: degree 4 for float32 (2^-28), degree 12 for float64 (2^-67).

#include "src/lower/math/functions.h"

namespace tw::lower::math {

using namespace ir;

namespace {

Expr series(const Computation& c, const Expr& z) {
  if (!c.is_double())
    return c.polynomial(z, {0x1.9d60fa5068fb4p-5, -0x1.613c1c599a50fp-4, 0x1.c57a94756983fp-4, -0x1.248a0f9e7dbe8p-3,
                            0x1.99997aefc3eb5p-3, -0x1.5555554bfd993p-2});
  return c.polynomial(z, {-0x1.c7a6bc6dde7f9p-7, 0x1.f5ba271a2a8e8p-6, -0x1.5030c28013685p-5, 0x1.829a09d7f37d9p-5,
                          -0x1.aebcad6415c5dp-5, 0x1.e1d8ddf459f4dp-5, -0x1.1110ce80547d7p-4, 0x1.3b13aea53b18fp-4,
                          -0x1.745d173542f7ap-4, 0x1.c71c71c6dd2d8p-4, -0x1.24924924920a3p-3, 0x1.9999999999997p-3,
                          -0x1.5555555555555p-2});
}

// pi/4 and pi/2 as two values each.
struct Offset {
  double high, low;
};
Offset quarter(const Computation& c) {
  return c.is_double() ? Offset{0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55} : Offset{0x1.921fb6p-1, -0x1.777a5cp-26};
}

}  // namespace

Expr atan(Computation& c, const Expr& x) {
  const Expr a = c.name("a", c.absolute(x)), one = c.value(1), zero = c.value(0);
  const Expr middle = c.name("middle", a > c.value(0.41421356237309503));
  const Expr large = c.name("large", a > c.value(2.414213562373095));
  const Expr above = select(large, c.value(-1), select(middle, a - one, a));
  const Expr below = select(large, a, select(middle, a + one, one));
  const Expr t = c.name("t", binary(BinOp::kDiv, above, below));
  const Expr z = c.name("z", t * t);
  const Offset part = quarter(c);
  const auto offset = [&](double of_quarter) {
    return select(large, c.value(2 * of_quarter), select(middle, c.value(of_quarter), zero));
  };
  const Expr small = c.fma(t * z, series(c, z), offset(part.low));
  return c.with_sign_of(offset(part.high) + (t + small), x);
}

}  // namespace tw::lower::math
