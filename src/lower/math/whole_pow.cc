// pow of whole numbers: the bits of the exponent choose among the squares x, x^2, x^4, ... that make the product.
//
//   x^y = product over the bits k of y of x^(2^k)        wraps, as every product of integers

#include "src/lower/math/functions.h"

namespace tw::lower::math {

using namespace ir;

namespace {

// What 1 / x^-y leaves, y < 0: of 1 and -1 a number, of all others a fraction or nothing.
Expr reciprocal(const Expr& x, const Expr& y) {
  const Expr zero = int_imm(x.type(), 0), one = int_imm(x.type(), 1), minus_one = int_imm(x.type(), -1);
  const Expr of_minus_one = select(eq(bit_and(y, one), zero), one, minus_one);
  return select(eq(x, one), one, select(eq(x, minus_one), of_minus_one, zero));
}

}  // namespace

Expr whole_pow(Computation& c, const Expr& x, const Expr& exponent) {
  const Type type = x.type();
  const int bits = type.bits - (type.is_int() ? 1 : 0);
  const std::optional<int64_t> known = as_int(exponent);
  const Expr y = known ? exponent : c.name("y", exponent);
  const bool multiplies = !known || *known >= 0 || type.is_uint();
  Expr result = int_imm(type, 1), square = x;
  for (int k = 0; k < bits && multiplies; ++k) {
    const auto bit = static_cast<int64_t>(uint64_t{1} << k);
    if (known && static_cast<uint64_t>(*known) >> k == 0) break;
    if (k > 0) square = c.name("square", square * square);
    if (known && (*known & bit) == 0) continue;
    const Expr with = k == 0 ? square : result * square;
    result = known ? with : select(ne(bit_and(y, int_imm(type, bit)), int_imm(type, 0)), with, result);
    result = c.name("product", result);
  }
  if (type.is_uint() || (known && multiplies)) return result;
  return select(y < int_imm(type, 0), reciprocal(x, y), result);
}

}  // namespace tw::lower::math
