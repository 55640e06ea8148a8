// Knuth's and Dekker's error-free sums and products.

#include "src/lower/math/pair.h"

namespace tw::lower::math {

using namespace ir;

Pair two_sum(Computation& c, const Expr& a, const Expr& b) {
  const Expr high = c.name("h", a + b);
  const Expr part = c.name("part", high - a);
  return {high, c.name("l", (a - (high - part)) + (b - part))};
}

Pair fast_two_sum(Computation& c, const Expr& a, const Expr& b) {
  const Expr high = c.name("h", a + b);
  return {high, c.name("l", b - (high - a))};
}

Pair two_product(Computation& c, const Expr& a, const Expr& b) {
  const Expr high = c.name("h", a * b);
  if (c.fused()) return {high, c.name("l", c.fma(a, b, c.value(0) - high))};
  const auto split = [&](const Expr& x) {
    const Expr t = c.name("t", x * c.value(134217729));
    const Expr top = c.name("top", t - (t - x));
    return Pair{top, c.name("rest", x - top)};
  };
  const Pair x = split(a), y = split(b);
  return {high, c.name("l", ((x.high * y.high - high) + x.high * y.low + x.low * y.high) + x.low * y.low)};
}

}  // namespace tw::lower::math
