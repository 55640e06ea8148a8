// fma of float32 without an instruction for it: in float64 the product is exact; the sum is rounded to odd, which a
// second rounding to float32 cannot tell from the exact sum.

#include "src/lower/math/functions.h"
#include "src/lower/math/pair.h"

namespace tw::lower::math {

using namespace ir;

Expr fma(Computation& c, const Expr& a, const Expr& b, const Expr& x) {
  Computation wide(Type::f(64, c.type().lanes), false);
  const Expr product = wide.name("p", cast(wide.type(), a) * cast(wide.type(), b));
  const Pair s = two_sum(wide, product, wide.name("x", cast(wide.type(), x)));
  const Expr bits = wide.name("bits", wide.pattern(s.high));
  const Expr zero = wide.value(0), one = wide.integer(1);
  const Expr even = eq(bit_and(bits, one), wide.integer(0));
  const Expr inexact = s.low > zero || s.low < zero;  // false for the NaN that infinities leave
  const Expr larger = eq(s.low > zero, s.high > zero);
  const Expr odd = select(larger, bits + one, bits - one);
  return wide.finish(cast(c.type(), wide.from_pattern(select(even && inexact, odd, bits))));
}

}  // namespace tw::lower::math
