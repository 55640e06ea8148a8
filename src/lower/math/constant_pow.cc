// pow(x, y) of an exponent that is written down and small: products, a root, a quotient.
//
//   y = 2, 3, ..., 8     the product of squares              y = 0.5     sqrt(x)
//   y = -1, ..., -8      1 / the same                        y = -0.5    1 / sqrt(x)
//
// float32: in float64 where more than the last operation rounds. float64: those of at most two roundings, below 1 unit.
// What is a number of the type is that number, C99's special cases are those of the operations, but for the root of
// minus infinity.

#include <cmath>

#include "src/lower/math/functions.h"

namespace tw::lower::math {

using namespace ir;

namespace {

constexpr int kLargest = 8, kLargestOfDouble = 3;

Expr product_of(Computation& c, const Expr& x, int n) {
  Expr result, square = x;
  for (int k = 0; n >> k != 0; ++k) {
    if (k > 0) square = c.name("square", square * square);
    if ((n >> k & 1) != 0) result = !result ? square : c.name("product", result * square);
  }
  return result;
}

Expr root_of(Computation& c, const Expr& x) {
  return select(eq(x, c.value(-INFINITY)), c.infinity(), call(Fn::kSqrt, {x + c.value(0)}));
}

Expr inverse(Computation& c, const Expr& x) { return binary(BinOp::kDiv, c.value(1), x); }

}  // namespace

std::optional<Expr> constant_pow(Computation& c, const Expr& x, double y) {
  const double size = std::fabs(y);
  const bool root = size == 0.5, once = y == 2 || y == -1 || y == 0.5;
  const bool whole = size >= 1 && size <= (c.is_double() ? kLargestOfDouble : kLargest) && size == std::trunc(size);
  if (!root && !whole) return std::nullopt;
  if (c.is_double() && y < -1) return std::nullopt;
  const auto of = [&](Computation& in, const Expr& base) {
    const Expr power = root ? root_of(in, base) : product_of(in, base, static_cast<int>(size));
    return y < 0 ? inverse(in, in.name("power", power)) : power;
  };
  if (c.is_double() || once) return of(c, x);
  Computation wide(Type::f(64, c.type().lanes), c.fused(), c.scales());
  const Expr power = of(wide, wide.name("wide", cast(wide.type(), x)));
  return wide.finish(cast(c.type(), power));
}

}  // namespace tw::lower::math
