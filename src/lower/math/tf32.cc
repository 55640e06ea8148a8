// The nearest float32 of 11 bits: half a unit of them is added to the magnitude, whose carry may go into the exponent.

#include "src/lower/math/functions.h"

namespace tw::lower::math {

using namespace ir;

Expr tf32(Computation& c, const Expr& x) {
  const Expr rounded = bit_and(c.pattern(x) + c.integer(0x1000), c.integer(-0x2000));
  return select(c.absolute(x) < c.infinity(), c.from_pattern(rounded), x);
}

}  // namespace tw::lower::math
